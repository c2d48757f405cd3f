// The mark `unpredictable` of a select reaches its machine instruction; extremes of integers are no selects in LLVM's
// IR and cannot carry it, so that all moves get it here. Measured on Zen 5: lcs 1.3 times, smith_waterman 1.3 to 1.5
// times as fast, nothing slower in 125 programs.
#include "targets/cpu/conditional_moves.h"

#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>

namespace polyweft::targets {
namespace {

class UnpredictableMoves final : public llvm::MachineFunctionPass {
 public:
  static char ID;
  UnpredictableMoves() : MachineFunctionPass(ID) {}

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    const llvm::TargetInstrInfo& names = *function.getSubtarget().getInstrInfo();
    for (auto& block : function)
      for (auto& instruction : block)
        if (names.getName(instruction.getOpcode()).starts_with("CMOV"))
          instruction.setFlag(llvm::MachineInstr::Unpredictable);
    return false;
  }

  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }
};
char UnpredictableMoves::ID = 0;

}  // namespace

llvm::MachineFunctionPass* unpredictable_moves() {
  return new UnpredictableMoves();
}

}  // namespace polyweft::targets
