#include "targets/cpu/hexagon/code_for_back_end.h"

#include <llvm/IR/Instructions.h>

#include <vector>

namespace polyweft::targets {

void choose_floats_as_words(llvm::Module& module) {
  std::vector<llvm::SelectInst*> choices;
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& instruction : block)
        if (auto* choice = llvm::dyn_cast<llvm::SelectInst>(&instruction);
            choice && choice->getType()->isFloatingPointTy())
          choices.push_back(choice);
  for (llvm::SelectInst* choice : choices) {
    llvm::IRBuilder<> b(choice);
    llvm::Type* bits = b.getIntNTy(choice->getType()->getScalarSizeInBits());
    llvm::Value* chosen =
        b.CreateSelect(choice->getCondition(), b.CreateBitCast(choice->getTrueValue(), bits),
                       b.CreateBitCast(choice->getFalseValue(), bits));
    choice->replaceAllUsesWith(b.CreateBitCast(chosen, choice->getType()));
    choice->eraseFromParent();
  }
}

}  // namespace polyweft::targets
