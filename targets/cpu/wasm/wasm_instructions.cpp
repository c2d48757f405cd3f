#include "targets/cpu/wasm/wasm_instructions.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCInst.h>
#include <llvm/Support/TargetSelect.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "targets/cpu/wasm/constant_offsets.h"
#include "targets/cpu/wasm/wasm_module.h"

namespace polyweft::targets {
namespace {

/// Vectors have a maximum that keeps NaN and rounding to integers, no masks and no fused multiply-add: that is computed
/// exactly by other operations.
InstructionCapabilities simd_capabilities(const Target& target) {
  InstructionCapabilities can;
  can.vector_bits = target.machine.units.vector_bits;
  can.fused_products = can.half_conversions = false;
  can.rounding = can.maximum = true;
  // Measured: of a product unrolled by four along k Cranelift keeps scalars on its stack (29 GFLOP/s, else 32).
  can.short_loops_unrolled = false;
  set_register_shares(can, target.machine.units.vector_registers);
  return can;
}

/// There is one thread, and no instruction for them without the feature of atomics.
void take_fences_out(llvm::Module& module) {
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(block))
        if (llvm::isa<llvm::FenceInst>(instruction)) instruction.eraseFromParent();
}

/// Code for a machine of a stack: engines choose registers and instructions, so nothing is read from it.
class WasmInstructions final : public InstructionSet {
 public:
  std::string architecture() const override { return "wasm32"; }
  llvm::Triple triple() const override { return llvm::Triple("wasm32-unknown-unknown"); }
  std::string basic_cpu() const override { return "mvp"; }
  bool is_position_independent() const override { return false; }
  bool has_readable_code() const override { return false; }

  void initialize() const override {
    static std::once_flag once;
    std::call_once(once, [] {
      LLVMInitializeWebAssemblyTargetInfo();
      LLVMInitializeWebAssemblyTarget();
      LLVMInitializeWebAssemblyTargetMC();
      LLVMInitializeWebAssemblyAsmPrinter();
    });
  }

  std::unique_ptr<InstructionHooks> hooks(const Target& target) const override {
    return std::make_unique<InstructionHooks>(simd_capabilities(target));
  }

  void prepare(llvm::Module& module) const override {
    take_fences_out(module);
    use_constant_offsets(module, kWasmStackBytes);
  }

  std::string all_features() const override { return "+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint"; }
  std::string modelled_cpu(const Target&, const llvm::Target&) const override { return basic_cpu(); }
  int vector_register_bits(const std::string&) const override { return 0; }
  bool is_multiply_add(const std::string&) const override { return false; }
  bool only_moves_vectors(const std::string&) const override { return false; }
  PortInstructions port_instructions(int) const override { return {}; }
  bool is_vector_store_to_stack(const llvm::MCInst&, const llvm::MCInstrInfo&, const llvm::MCRegisterInfo&,
                                bool) const override {
    return false;
  }
  bool makes_frame_pointer(const llvm::MCInst&, const llvm::MCRegisterInfo&) const override { return false; }
  std::optional<CodeAddress> address_of(const llvm::MCInst&, const llvm::MCInstrInfo&) const override {
    return std::nullopt;
  }
  std::optional<CodeStep> step_of(const llvm::MCInst&, const llvm::MCInstrInfo&) const override { return std::nullopt; }
};

}  // namespace

const InstructionSet& wasm_instructions() {
  static const WasmInstructions set;
  return set;
}

}  // namespace polyweft::targets
