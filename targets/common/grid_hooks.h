// What lowering asks of a device where one function runs as many threads at once: which thread it is, and how threads
// of a block wait for each other. A machine without such threads has none of these; loops over axes are then serial.
#pragma once

#include <string>
#include <vector>

#include "ir/nests/instruction.h"
#include "targets/common/llvm.h"

namespace polyweft::targets {

/// What one lane of a warp holds of a product's operands (ir::Fragment): the cells of its sums, one value each, and of
/// the factors words of 32 bits, the first cell in the lowest bits of the first word.
struct LaneFragments {
  std::vector<llvm::Value*> sums, first, second;
};

class GridHooks {
 public:
  virtual ~GridHooks() = default;

  /// Number of this block or thread along an axis (ir/nests/axes.h): i64, from 0.
  virtual llvm::Value* index(llvm::IRBuilder<>& b, const std::string& axis) const = 0;
  /// All threads of the block get here before one goes on, and see what the others have written to any memory.
  virtual void barrier(llvm::IRBuilder<>& b) const = 0;

  /// Can the lanes of a warp multiply together? Its lanes are then so many neighbours along thread_x.
  virtual bool multiplies() const { return false; }
  /// The same for the lanes of a warp.
  virtual void warp_barrier(llvm::IRBuilder<>&) const {}
  /// The sums with the product added. All lanes of the warp get here.
  virtual std::vector<llvm::Value*> multiply(llvm::IRBuilder<>&, const ir::Instruction&, const LaneFragments&) const {
    return {};
  }
};

}  // namespace polyweft::targets
