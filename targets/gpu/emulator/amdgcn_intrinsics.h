// Intrinsics of LLVM's AMDGPU back end in emulated kernels.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "targets/common/llvm.h"

namespace polyweft::targets {

/// What a kernel that is rewritten has for its intrinsics.
struct KernelTools {
  llvm::IRBuilder<>& b;
  std::function<llvm::Value*(unsigned word, llvm::Type* type)> field;  ///< of the thread
  std::function<void(const char* name, std::vector<llvm::Value*> arguments)> runtime;
  std::function<llvm::Value*(unsigned count)> words;  ///< on the stack
};
/// In place of a call of llvm.amdgcn.NAME. None: nothing is known of it. Null: it has no value.
std::optional<llvm::Value*> amdgcn_value(const KernelTools& tools, llvm::CallInst& call, llvm::StringRef name);

}  // namespace polyweft::targets
