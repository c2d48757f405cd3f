#include "targets/cpu/hexagon/hexagon_instructions.h"

#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrDesc.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>

#include <algorithm>
#include <cctype>
#include <mutex>
#include <string>

#include "targets/cpu/hexagon/code_for_back_end.h"
#include "targets/cpu/hexagon/hexagon_hooks.h"

namespace polyweft::targets {
namespace {

/// LLVM's window scheduler takes minutes for a block of registers, and has no other switch than this option. No other
/// back end of ours has it.
void do_without_window_scheduler() {
  auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find("window-sched");
  if (found != options.end()) found->second->addOccurrence(0, "window-sched", "off");
}

class HexagonInstructions final : public InstructionSet {
 public:
  std::string architecture() const override { return "hexagon"; }
  llvm::Triple triple() const override { return llvm::Triple("hexagon-unknown-linux-musl"); }
  std::string basic_cpu() const override { return "hexagonv67"; }

  void initialize() const override {
    static std::once_flag once;
    std::call_once(once, [] {
      LLVMInitializeHexagonTargetInfo();
      LLVMInitializeHexagonTarget();
      LLVMInitializeHexagonTargetMC();
      LLVMInitializeHexagonAsmPrinter();
      LLVMInitializeHexagonAsmParser();
      LLVMInitializeHexagonDisassembler();
      do_without_window_scheduler();
    });
  }

  std::unique_ptr<InstructionHooks> hooks(const Target& target) const override { return hexagon_hooks(target); }
  void prepare(llvm::Module& module) const override {
    choose_floats_as_words(module);
    mask_short_vectors_by_addresses(module);
  }

  std::string all_features() const override { return "+hvxv67,+hvx-length128b"; }
  std::string modelled_cpu(const Target&, const llvm::Target&) const override { return basic_cpu(); }

  // V0 .. V31, and pairs W0 .. W15
  int vector_register_bits(const std::string& name) const override {
    const bool is_numbered =
        name.size() >= 2 && std::all_of(name.begin() + 1, name.end(), [](unsigned char c) { return std::isdigit(c); });
    if (!is_numbered || (name[0] != 'V' && name[0] != 'W')) return 0;
    return name[0] == 'V' ? 1024 : 2048;
  }
  bool is_multiply_add(const std::string& instruction) const override {
    return instruction.starts_with("V6_vrmpy") || instruction.starts_with("V6_vmpy") ||
           instruction.starts_with("V6_vdmpy");
  }
  bool only_moves_vectors(const std::string& instruction) const override {
    return instruction.starts_with("V6_vL32") || instruction.starts_with("V6_vS32") || instruction == "V6_vassign";
  }
  PortInstructions port_instructions(int) const override {
    return {{"V6_vrmpybv_acc"}, {"V6_vL32b_ai"}, {"V6_vS32b_ai"}};
  }

  // vmem(r29+#c) = v0: base, distance, value
  bool is_vector_store_to_stack(const llvm::MCInst& inst, const llvm::MCInstrInfo& instructions,
                                const llvm::MCRegisterInfo& registers, bool has_frame_pointer) const override {
    for (const llvm::MCOperand& operand : inst)  // of a packet
      if (operand.isInst() && is_vector_store_to_stack(*operand.getInst(), instructions, registers, has_frame_pointer))
        return true;
    if (!instructions.getName(inst.getOpcode()).starts_with("V6_vS32") || inst.getNumOperands() < 3) return false;
    const auto& base = inst.getOperand(0);
    if (!base.isReg() || !base.getReg().isValid()) return false;
    const std::string name = registers.getName(base.getReg());
    return name == "R29" || (name == "R30" && has_frame_pointer);
  }
  bool makes_frame_pointer(const llvm::MCInst& inst, const llvm::MCRegisterInfo&) const override {
    (void)inst;
    return false;
  }
  std::optional<CodeAddress> address_of(const llvm::MCInst&, const llvm::MCInstrInfo&) const override {
    return std::nullopt;
  }
  std::optional<CodeStep> step_of(const llvm::MCInst&, const llvm::MCInstrInfo&) const override { return std::nullopt; }
};

}  // namespace

const InstructionSet& hexagon_instructions() {
  static const HexagonInstructions set;
  return set;
}

}  // namespace polyweft::targets
