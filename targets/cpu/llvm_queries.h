// Questions about LLVM's instructions that several passes ask.
#pragma once

#include <llvm/IR/IntrinsicInst.h>

namespace polyweft::targets {

/// A hint to the caches: to LLVM it touches memory, but no value depends on it.
inline bool is_prefetch(const llvm::Instruction& i) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i);
  return call && call->getIntrinsicID() == llvm::Intrinsic::prefetch;
}

}  // namespace polyweft::targets
