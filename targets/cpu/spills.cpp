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
#include <map>
#include <memory>
#include <string>

#include "targets/cpu/assembly_reader.h"
#include "targets/cpu/instruction_set.h"

namespace polyweft::targets {
namespace {

struct Disassembler {
  const InstructionSet* set = nullptr;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembly;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> reader;
  std::unique_ptr<llvm::MCInstrAnalysis> analysis;
  llvm::MCTargetOptions options;
};

std::unique_ptr<Disassembler> make_disassembler(const InstructionSet& set) {
  set.initialize();
  const llvm::Triple triple = set.triple();
  std::string problem;
  const auto* target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!target) return nullptr;
  auto d = std::make_unique<Disassembler>();
  d->set = &set;
  d->registers.reset(target->createMCRegInfo(triple));
  d->assembly.reset(target->createMCAsmInfo(*d->registers, triple, d->options));
  d->subtarget.reset(target->createMCSubtargetInfo(triple, set.basic_cpu(), set.all_features()));
  d->instructions.reset(target->createMCInstrInfo());
  d->analysis.reset(target->createMCInstrAnalysis(d->instructions.get()));
  d->context = std::make_unique<llvm::MCContext>(triple, d->assembly.get(), d->registers.get(), d->subtarget.get());
  d->reader.reset(target->createMCDisassembler(*d->subtarget, *d->context));
  return d;
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
      if (d.instructions->get(inst.getOpcode()).isBranch() && d.analysis->evaluateBranch(inst, at, size, target) &&
          target <= at)
        out.loops.push_back({target, at + size});
      if (d.instructions->get(inst.getOpcode()).isReturn()) has_frame_pointer = false;
      has_frame_pointer |= d.set->makes_frame_pointer(inst, *d.registers);
      if (d.set->is_vector_store_to_stack(inst, *d.instructions, *d.registers, has_frame_pointer))
        out.stores.push_back(at);
    }
    at += std::max<uint64_t>(size, 1);
  }
  return out;
}

bool contains(const AddressRange& outer, const AddressRange& inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end && (outer.begin != inner.begin || outer.end != inner.end);
}

// Only innermost loops: a register kept on the stack across a whole loop costs nothing that can be measured. Of these
// the worst: copies that test each lane are hundreds of short loops with the same few spills, and no register block
// lives in them.
int count_in(llvm::ArrayRef<uint8_t> code, const Disassembler& d) {
  const Outline outline = outline_of(code, d);
  std::ptrdiff_t most = 0;
  for (const AddressRange& loop : outline.loops) {
    const bool innermost = std::none_of(outline.loops.begin(), outline.loops.end(),
                                        [&](const AddressRange& other) { return contains(loop, other); });
    if (innermost)
      most = std::max(most, std::count_if(outline.stores.begin(), outline.stores.end(),
                                          [&](uint64_t at) { return at >= loop.begin && at < loop.end; }));
  }
  return static_cast<int>(most);
}

}  // namespace

int count_spills(const std::vector<unsigned char>& object) {
  const llvm::StringRef bytes(reinterpret_cast<const char*>(object.data()), object.size());
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "kernel.o"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return 0;
  }
  const InstructionSet* set = instruction_set_of((*file)->getArch());
  if (!set || !set->has_readable_code()) return 0;
  static thread_local std::map<const InstructionSet*, std::unique_ptr<Disassembler>> made;
  std::unique_ptr<Disassembler>& d = made[set];
  if (!d) d = make_disassembler(*set);
  if (!d || !d->reader) return 0;
  int spills = 0;
  for (const auto& section : (*file)->sections()) {
    if (!section.isText()) continue;
    auto contents = section.getContents();
    if (!contents) {
      llvm::consumeError(contents.takeError());
      continue;
    }
    spills = std::max(
        spills,
        count_in(llvm::ArrayRef<uint8_t>(reinterpret_cast<const uint8_t*>(contents->data()), contents->size()), *d));
  }
  return spills;
}

int count_spills(const AssemblyCode& assembly) {
  std::vector<char> is_spill;
  bool has_frame_pointer = false;
  for (const PlacedInst& placed : assembly.code) {
    has_frame_pointer &= !assembly.cpu.instructions->get(placed.inst.getOpcode()).isReturn();
    has_frame_pointer |= assembly.cpu.set->makes_frame_pointer(placed.inst, *assembly.cpu.registers);
    is_spill.push_back(assembly.cpu.set->is_vector_store_to_stack(placed.inst, *assembly.cpu.instructions,
                                                                  *assembly.cpu.registers, has_frame_pointer));
  }
  const std::vector<Span> loops = loops_of(assembly);
  std::ptrdiff_t most = 0;
  for (const Span& loop : loops)
    if (std::none_of(loops.begin(), loops.end(), [&](const Span& other) { return is_inside(other, loop); }))
      most = std::max(most, std::count(is_spill.begin() + static_cast<std::ptrdiff_t>(loop.begin),
                                       is_spill.begin() + static_cast<std::ptrdiff_t>(loop.end), 1));
  return static_cast<int>(most);
}

}  // namespace polyweft::targets
