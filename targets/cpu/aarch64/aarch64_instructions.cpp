#include "targets/cpu/aarch64/aarch64_instructions.h"

#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrDesc.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/Support/TargetSelect.h>

#include <memory>
#include <mutex>

namespace polyweft::targets {
namespace {

class AArch64Instructions final : public InstructionSet {
 public:
  std::string architecture() const override { return "aarch64"; }
  llvm::Triple triple() const override { return llvm::Triple("aarch64-unknown-linux-gnu"); }
  std::string basic_cpu() const override { return "generic"; }

  void initialize() const override {
    static std::once_flag once;
    std::call_once(once, [] {
      LLVMInitializeAArch64TargetInfo();
      LLVMInitializeAArch64Target();
      LLVMInitializeAArch64TargetMC();
      LLVMInitializeAArch64AsmPrinter();
      LLVMInitializeAArch64AsmParser();
      LLVMInitializeAArch64Disassembler();
    });
  }

  // NEON has fused multiply-adds, rounding to integers (frintm, frintp, frintn) and conversions of halves (fcvtl, fcvtn) since its first version.
  std::unique_ptr<InstructionHooks> hooks(const Target& target) const override {
    InstructionCapabilities can;
    can.vector_bits = target.vector_bits;
    can.fused_products = can.rounding = can.half_conversions = true;
    can.half_arithmetic = target.can.half_arithmetic;
    return std::make_unique<InstructionHooks>(can);
  }

  std::string all_features() const override { return "+neon,+fullfp16,+dotprod,+i8mm,+bf16"; }
  std::string modelled_cpu(const Target& target, const llvm::Target&) const override { return target.has("bf16") ? "neoverse-v2" : "cortex-a57"; }

  // Q, D, S, H and B registers are parts of one file.
  int vector_register_bits(const std::string& name) const override {
    const bool is_numbered = name.size() >= 2 && name[1] >= '0' && name[1] <= '9';
    const size_t size = is_numbered ? std::string("BHSDQ").find(name[0]) : std::string::npos;
    return size == std::string::npos ? 0 : 8 << size;
  }
  bool is_multiply_add(const std::string& instruction) const override {
    for (const char* part : {"FMADD", "FMSUB", "FNMADD", "FNMSUB", "FMLA", "FMLS", "SDOT", "UDOT", "MMLA", "BFDOT"})
      if (instruction.find(part) != std::string::npos) return true;
    return false;
  }
  bool only_moves_vectors(const std::string& instruction) const override {
    return instruction.starts_with("LD") || instruction.starts_with("ST") || instruction.starts_with("FMOV");
  }
  PortInstructions port_instructions(int) const override { return {{"FMLAv4f32"}, {"LDRQui"}, {"STRQui"}}; }

  // str q0, [sp, #c] or stur q0, [x29, #-c]: value, base, distance; of pairs (stp) two values.
  bool is_vector_store_to_stack(const llvm::MCInst& inst, const llvm::MCInstrInfo& instructions, const llvm::MCRegisterInfo& registers, bool has_frame_pointer) const override {
    const unsigned operands = inst.getNumOperands();
    if (!instructions.get(inst.getOpcode()).mayStore() || operands < 3 || !inst.getOperand(operands - 1).isImm()) return false;
    const auto& value = inst.getOperand(0);
    const auto& base = inst.getOperand(operands - 2);
    if (!value.isReg() || !value.getReg().isValid() || !base.isReg() || !base.getReg().isValid()) return false;
    const std::string base_name = registers.getName(base.getReg());
    return (base_name == "SP" || (base_name == "FP" && has_frame_pointer)) && vector_register_bits(registers.getName(value.getReg())) > 0;
  }

  // mov x29, sp, which is add x29, sp, #c
  bool makes_frame_pointer(const llvm::MCInst& inst, const llvm::MCRegisterInfo& registers) const override {
    if (inst.getNumOperands() < 2 || !inst.getOperand(0).isReg() || !inst.getOperand(1).isReg()) return false;
    const auto is_named = [&](unsigned operand, const char* name) {
      return inst.getOperand(operand).getReg().isValid() && std::string(registers.getName(inst.getOperand(operand).getReg())) == name;
    };
    return is_named(0, "FP") && is_named(1, "SP");
  }
};

}  // namespace

const InstructionSet& aarch64_instructions() {
  static const AArch64Instructions set;
  return set;
}

}  // namespace polyweft::targets
