#include "targets/common/instruction_hooks.h"

#include <numeric>
#include <vector>

namespace polyweft::targets {

llvm::Value* InstructionHooks::joined(llvm::IRBuilder<>& b, llvm::Value* first, llvm::Value* second,
                                      unsigned late) const {
  std::vector<int> from(llvm::cast<llvm::FixedVectorType>(first->getType())->getNumElements());
  std::iota(from.begin(), from.end(), static_cast<int>(late));
  return b.CreateShuffleVector(first, second, from);
}

}  // namespace polyweft::targets
