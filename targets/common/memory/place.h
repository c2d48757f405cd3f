// Where the elements of an access lie in memory.
#pragma once

#include <string>

#include "ir/passes/statements.h"
#include "polyweft/loop_nest.h"
#include "targets/common/llvm.h"

namespace polyweft::targets {

using ir::has_data;

/// start + lane * stride, or one offset a lane.
struct Place {
  llvm::Value* pointer = nullptr;
  int64_t stride = 0;
  llvm::Value* offsets = nullptr;  ///< vector of i64 element offsets from `pointer`; then stride is meaningless
  int64_t alignment = 1;
  std::string key;  ///< equal keys are equal places; empty: data-dependent
  Affine offset;    ///< elements, where the key is not empty
};

}  // namespace polyweft::targets
