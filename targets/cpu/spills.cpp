#include "targets/cpu/spills.h"

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrAnalysis.h>
#include <llvm/MC/MCInstrDesc.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <memory>
#include <string>

#include "targets/cpu/assembly_reader.h"

namespace polyweft::targets {
namespace {

struct Disassembler {
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembly;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> reader;
  std::unique_ptr<llvm::MCInstrAnalysis> analysis;
  llvm::MCTargetOptions options;
};

std::unique_ptr<Disassembler> make_disassembler() {
  const llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string problem;
  const auto* target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!target) return nullptr;
  auto d = std::make_unique<Disassembler>();
  d->registers.reset(target->createMCRegInfo(triple));
  d->assembly.reset(target->createMCAsmInfo(*d->registers, triple, d->options));
  d->subtarget.reset(target->createMCSubtargetInfo(triple, "x86-64", "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512fp16,+avx512bf16,+avx512vnni,+fma,+f16c,+bmi,+bmi2"));
  d->instructions.reset(target->createMCInstrInfo());
  d->analysis.reset(target->createMCInstrAnalysis(d->instructions.get()));
  d->context = std::make_unique<llvm::MCContext>(triple, d->assembly.get(), d->registers.get(), d->subtarget.get());
  d->reader.reset(target->createMCDisassembler(*d->subtarget, *d->context));
  return d;
}

bool is_vector_register(const std::string& name) {
  return name.size() >= 4 && name[1] == 'M' && name[2] == 'M' && (name[0] == 'X' || name[0] == 'Y' || name[0] == 'Z');
}

struct AddressRange {
  uint64_t begin = 0, end = 0;
};

/// Where the code of a section jumps back, and where it stores a vector register to the stack.
struct Outline {
  std::vector<AddressRange> loops;
  std::vector<uint64_t> stores;
};

Outline outline_of(llvm::ArrayRef<uint8_t> code, const Disassembler& d) {
  Outline out;
  uint64_t at = 0;
  bool has_frame_pointer = false;
  while (at < code.size()) {
    llvm::MCInst inst;
    uint64_t size = 1;
    if (d.reader->getInstruction(inst, size, code.slice(at), at, llvm::nulls()) == llvm::MCDisassembler::Success) {
      uint64_t target = 0;
      if (d.instructions->get(inst.getOpcode()).isBranch() && d.analysis->evaluateBranch(inst, at, size, target) && target <= at)
        out.loops.push_back({target, at + size});
      if (d.instructions->get(inst.getOpcode()).isReturn()) has_frame_pointer = false;
      has_frame_pointer |= makes_frame_pointer(inst, *d.registers);
      if (is_vector_store_to_stack(inst, *d.instructions, *d.registers, has_frame_pointer)) out.stores.push_back(at);
    }
    at += std::max<uint64_t>(size, 1);
  }
  return out;
}

bool contains(const AddressRange& outer, const AddressRange& inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end && (outer.begin != inner.begin || outer.end != inner.end);
}

// Only innermost loops: a register kept on the stack across a whole loop costs nothing that can be measured. Of these the worst: copies that test each lane are hundreds of
// short loops with the same few spills, and no register block lives in them.
int count_in(llvm::ArrayRef<uint8_t> code, const Disassembler& d) {
  const Outline outline = outline_of(code, d);
  std::ptrdiff_t most = 0;
  for (const AddressRange& loop : outline.loops) {
    const bool innermost = std::none_of(outline.loops.begin(), outline.loops.end(), [&](const AddressRange& other) { return contains(loop, other); });
    if (innermost) most = std::max(most, std::count_if(outline.stores.begin(), outline.stores.end(), [&](uint64_t at) { return at >= loop.begin && at < loop.end; }));
  }
  return static_cast<int>(most);
}

}  // namespace

// x86 memory operand: base, scale, index, displacement, segment; a store has it first. Stack arrays are addressed with an index.
// RBP is a register like any other in functions that have no frame pointer.
bool is_vector_store_to_stack(const llvm::MCInst& inst, const llvm::MCInstrInfo& instructions, const llvm::MCRegisterInfo& registers, bool has_frame_pointer) {
  if (!instructions.get(inst.getOpcode()).mayStore() || inst.getNumOperands() < 6) return false;
  const auto& base = inst.getOperand(0);
  const auto& index = inst.getOperand(2);
  if (!base.isReg() || !base.getReg().isValid() || (index.isReg() && index.getReg().isValid())) return false;
  const std::string base_name = registers.getName(base.getReg());
  if (base_name != "RSP" && !(base_name == "RBP" && has_frame_pointer)) return false;
  const auto& value = inst.getOperand(inst.getNumOperands() - 1);
  return value.isReg() && value.getReg().isValid() && is_vector_register(registers.getName(value.getReg()));
}

bool makes_frame_pointer(const llvm::MCInst& inst, const llvm::MCRegisterInfo& registers) {
  if (inst.getNumOperands() != 2 || !inst.getOperand(0).isReg() || !inst.getOperand(1).isReg()) return false;
  return std::string(registers.getName(inst.getOperand(0).getReg())) == "RBP" && std::string(registers.getName(inst.getOperand(1).getReg())) == "RSP";
}

int count_spills(const std::vector<unsigned char>& object) {
  static thread_local const std::unique_ptr<Disassembler> d = make_disassembler();
  if (!d || !d->reader) return 0;
  const llvm::StringRef bytes(reinterpret_cast<const char*>(object.data()), object.size());
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "kernel.o"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return 0;
  }
  int spills = 0;
  for (const auto& section : (*file)->sections()) {
    if (!section.isText()) continue;
    auto contents = section.getContents();
    if (!contents) {
      llvm::consumeError(contents.takeError());
      continue;
    }
    spills = std::max(spills, count_in(llvm::ArrayRef<uint8_t>(reinterpret_cast<const uint8_t*>(contents->data()), contents->size()), *d));
  }
  return spills;
}

int count_spills(const AssemblyCode& assembly) {
  std::vector<char> is_spill;
  bool has_frame_pointer = false;
  for (const PlacedInst& placed : assembly.code) {
    has_frame_pointer &= !assembly.cpu.instructions->get(placed.inst.getOpcode()).isReturn();
    has_frame_pointer |= makes_frame_pointer(placed.inst, *assembly.cpu.registers);
    is_spill.push_back(is_vector_store_to_stack(placed.inst, *assembly.cpu.instructions, *assembly.cpu.registers, has_frame_pointer));
  }
  const std::vector<Span> loops = loops_of(assembly);
  std::ptrdiff_t most = 0;
  for (const Span& loop : loops)
    if (std::none_of(loops.begin(), loops.end(), [&](const Span& other) { return is_inside(other, loop); }))
      most = std::max(most, std::count(is_spill.begin() + static_cast<std::ptrdiff_t>(loop.begin), is_spill.begin() + static_cast<std::ptrdiff_t>(loop.end), 1));
  return static_cast<int>(most);
}

}  // namespace polyweft::targets
