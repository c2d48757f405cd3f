// What lowering asks of a device where one function runs as many threads at once: which thread it is, and how threads
// of a block wait for each other. A machine without such threads has none of these; loops over axes are then serial.
#pragma once

#include <string>

#include "targets/common/llvm.h"

namespace polyweft::targets {

class GridHooks {
 public:
  virtual ~GridHooks() = default;

  /// Number of this block or thread along an axis (ir/nests/axes.h): i64, from 0.
  virtual llvm::Value* index(llvm::IRBuilder<>& b, const std::string& axis) const = 0;
  /// All threads of the block get here before one goes on, and see what the others have written to any memory.
  virtual void barrier(llvm::IRBuilder<>& b) const = 0;
};

}  // namespace polyweft::targets
