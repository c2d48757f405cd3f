#include "targets/cpu/counted_code.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstrTypes.h>

namespace polyweft::targets {
namespace {

bool is_one_of_cpu(const llvm::Instruction& instruction) {
  if (llvm::isa<llvm::PHINode>(instruction) || instruction.isLifetimeStartOrEnd()) return false;
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return !call || !call->isInlineAsm();
}

}  // namespace

void count_instructions(llvm::Module& module, const char* counter) {
  llvm::Type* number = llvm::Type::getInt64Ty(module.getContext());
  llvm::Constant* count = module.getOrInsertGlobal(counter, number);
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function) {
      uint64_t own = 0;
      for (const llvm::Instruction& instruction : block) own += is_one_of_cpu(instruction);
      llvm::IRBuilder<> b(&*block.getFirstInsertionPt());
      b.CreateStore(b.CreateAdd(b.CreateLoad(number, count), llvm::ConstantInt::get(number, own)), count);
    }
}

}  // namespace polyweft::targets
