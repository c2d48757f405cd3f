#include "targets/common/instruction_hooks.h"

#include <numeric>
#include <vector>

namespace polyweft::targets {

void set_register_shares(InstructionCapabilities& can, int vector_registers) {
  constexpr int kFew = 16;
  can.vector_registers = vector_registers;
  can.carried_values = vector_registers * 3 / 4;
  can.promoted_cells = vector_registers * 13 / 16;
  can.carried_sums = vector_registers > kFew ? 8 : 0;
}

llvm::Value* InstructionHooks::joined(llvm::IRBuilder<>& b, llvm::Value* first, llvm::Value* second,
                                      unsigned late) const {
  std::vector<int> from(llvm::cast<llvm::FixedVectorType>(first->getType())->getNumElements());
  std::iota(from.begin(), from.end(), static_cast<int>(late));
  return b.CreateShuffleVector(first, second, from);
}

}  // namespace polyweft::targets
