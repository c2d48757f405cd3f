#include "targets/cpu/x86/x86_instructions.h"

#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrDesc.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <mutex>

#include "targets/cpu/x86/gather_lanes.h"
#include "targets/cpu/x86/x86_hooks.h"

namespace polyweft::targets {
namespace {

bool has_part(const std::string& name, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return name.find(part) != std::string::npos; });
}

class X86Instructions final : public InstructionSet {
 public:
  std::string architecture() const override { return "x86-64"; }
  llvm::Triple triple() const override { return llvm::Triple("x86_64-unknown-linux-gnu"); }
  std::string basic_cpu() const override { return "x86-64"; }

  void initialize() const override {
    static std::once_flag once;
    std::call_once(once, [] {
      LLVMInitializeX86TargetInfo();
      LLVMInitializeX86Target();
      LLVMInitializeX86TargetMC();
      LLVMInitializeX86AsmPrinter();
      LLVMInitializeX86AsmParser();
      LLVMInitializeX86Disassembler();
    });
  }

  std::unique_ptr<InstructionHooks> hooks(const Target& target) const override { return x86_hooks(target); }
  std::string features_against_gathers() const override { return "+prefer-no-gather,+prefer-no-scatter"; }
  std::string all_features() const override {
    return "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512fp16,+avx512bf16,+avx512vnni,+fma,+f16c,+bmi,+bmi2";
  }

  // LLVM 22 gives 512-bit multiply-adds one port in every Intel model after Skylake's (as the first client had it;
  // servers have two): Skylake's serves for all of them.
  std::string modelled_cpu(const Target& target, const llvm::Target& llvm_target) const override {
    const std::string host = target.is_host && target.name == "host" ? llvm::sys::getHostCPUName().str() : "generic";
    const bool is_amd = host.rfind("znver", 0) == 0;
    if (target.has("avx512f") && !is_amd) return "skylake-avx512";
    const std::unique_ptr<llvm::MCSubtargetInfo> info(llvm_target.createMCSubtargetInfo(triple(), host, ""));
    if (host != "generic" && info && info->getSchedModel().hasInstrSchedModel()) return host;
    return target.has("avx2") ? "haswell" : "sandybridge";
  }

  int vector_register_bits(const std::string& name) const override {
    if (name.size() < 4 || name.compare(1, 2, "MM") != 0) return 0;
    return name[0] == 'X' ? 128 : name[0] == 'Y' ? 256 : name[0] == 'Z' ? 512 : 0;
  }
  bool is_multiply_add(const std::string& instruction) const override {
    return has_part(instruction,
                    {"FMADD", "FMSUB", "FNMADD", "FNMSUB", "VPDPB", "VPDPW", "DPBF16PS", "TDPB", "TDPFP16"});
  }
  bool only_moves_vectors(const std::string& instruction) const override {
    return has_part(instruction, {"MOVU", "MOVA", "MOVDQ"});
  }
  PortInstructions port_instructions(int vector_bits) const override {
    PortInstructions out = {
        {"VFMADD231PSYr", "VMULPSYrr", "MULPSrr"}, {"VMOVUPSYrm", "MOVUPSrm"}, {"VMOVUPSYmr", "MOVUPSmr"}};
    if (vector_bits > 256) out.multiply_adds = {"VFMADD231PSZr"};
    return out;
  }

  // vmov.. %xmm0, c(%rsp), or c(%rbp) where that is the frame's: a memory operand is base, scale, index, displacement,
  // segment; a store has it first. Stack arrays are addressed with an index. RBP is a register like any other in
  // functions that have no frame pointer.
  bool is_vector_store_to_stack(const llvm::MCInst& inst, const llvm::MCInstrInfo& instructions,
                                const llvm::MCRegisterInfo& registers, bool has_frame_pointer) const override {
    if (!instructions.get(inst.getOpcode()).mayStore() || inst.getNumOperands() < 6) return false;
    const auto& base = inst.getOperand(0);
    const auto& index = inst.getOperand(2);
    if (!base.isReg() || !base.getReg().isValid() || (index.isReg() && index.getReg().isValid())) return false;
    const std::string base_name = registers.getName(base.getReg());
    if (base_name != "RSP" && !(base_name == "RBP" && has_frame_pointer)) return false;
    const auto& value = inst.getOperand(inst.getNumOperands() - 1);
    return value.isReg() && value.getReg().isValid() && vector_register_bits(registers.getName(value.getReg())) > 0;
  }

  // mov %rsp, %rbp
  bool makes_frame_pointer(const llvm::MCInst& inst, const llvm::MCRegisterInfo& registers) const override {
    if (inst.getNumOperands() != 2 || !inst.getOperand(0).isReg() || !inst.getOperand(1).isReg()) return false;
    return std::string(registers.getName(inst.getOperand(0).getReg())) == "RBP" &&
           std::string(registers.getName(inst.getOperand(1).getReg())) == "RSP";
  }

  // Five operands: base, scale, index, displacement, segment.
  std::optional<CodeAddress> address_of(const llvm::MCInst& inst,
                                        const llvm::MCInstrInfo& instructions) const override {
    const llvm::MCInstrDesc& desc = instructions.get(inst.getOpcode());
    for (unsigned i = 0; i + 4 < desc.getNumOperands() && i + 4 < inst.getNumOperands(); ++i) {
      if (desc.operands()[i].OperandType != llvm::MCOI::OPERAND_MEMORY) continue;
      if (!inst.getOperand(i).isReg() || !inst.getOperand(i + 1).isImm() || !inst.getOperand(i + 2).isReg() ||
          !inst.getOperand(i + 3).isImm())
        return std::nullopt;
      return CodeAddress{inst.getOperand(i).getReg(),
                         inst.getOperand(i + 2).getReg(),
                         inst.getOperand(i + 1).getImm(),
                         inst.getOperand(i + 3).getImm(),
                         i,
                         5};
    }
    return std::nullopt;
  }

  std::optional<CodeStep> step_of(const llvm::MCInst& inst, const llvm::MCInstrInfo& instructions) const override {
    const llvm::StringRef name = instructions.getName(inst.getOpcode());
    const auto step = [&](int64_t by) { return CodeStep{inst.getOperand(0).getReg(), by}; };
    if (name.starts_with("INC64r")) return step(1);
    if (name.starts_with("DEC64r")) return step(-1);
    const bool adds = name.starts_with("ADD64ri"), subtracts = name.starts_with("SUB64ri");
    if ((adds || subtracts) && inst.getNumOperands() > 2 && inst.getOperand(2).isImm())
      return step(adds ? inst.getOperand(2).getImm() : -inst.getOperand(2).getImm());
    return std::nullopt;
  }

  int gathered_lanes(const std::string& name) const override { return targets::gathered_lanes(name); }
};

}  // namespace

const InstructionSet& x86_instructions() {
  static const X86Instructions set;
  return set;
}

}  // namespace polyweft::targets
