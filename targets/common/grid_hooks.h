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

/// A factor of a product in shared memory: lines of 128 bytes by xor (Layout::by_xor), each of so many elements along
/// one dimension; the next line is the next element along the other one.
struct SharedFactor {
  llvm::Value* first = nullptr;  ///< pointer to where the first element would lie without the xor
  bool is_turned = false;        ///< lines run along the data dimension, else along the reduced one
  int64_t next_lines = 0;        ///< bytes from a line to the one whose elements follow its own; 0: there is none
};

class GridHooks {
 public:
  virtual ~GridHooks() = default;

  /// Number of this block or thread along an axis (ir/nests/axes.h): i64, from 0.
  virtual llvm::Value* index(llvm::IRBuilder<>& b, const std::string& axis) const = 0;
  /// All threads of the block get here before one goes on, and see what the others have written to any memory.
  virtual void barrier(llvm::IRBuilder<>& b) const = 0;

  /// Begins to copy 4, 8 or 16 bytes, at multiples of so many, into shared memory. The thread goes on; nobody may look
  /// at these bytes before it has waited. False: it cannot.
  virtual bool copy_async(llvm::IRBuilder<>&, llvm::Value* /*to*/, llvm::Value* /*from*/, int64_t /*bytes*/) const {
    return false;
  }
  /// The thread goes on when what it has begun to copy is there.
  virtual void wait_for_copies(llvm::IRBuilder<>&) const {}
  /// What it has begun to copy since the last time is a group; it goes on when all but the latest `groups` are there.
  virtual void commit_copies(llvm::IRBuilder<>&) const {}
  virtual void wait_for_groups(llvm::IRBuilder<>&, int32_t /*groups*/) const {}

  /// Can the lanes of a warp multiply together? Its lanes are then so many neighbours along thread_x.
  virtual bool multiplies() const { return false; }
  /// The same for the lanes of a warp.
  virtual void warp_barrier(llvm::IRBuilder<>&) const {}
  /// Matrices of 8 rows of 16 bytes in shared memory, up to four: lane l says where row l % 8 of matrix l / 8 begins,
  /// at a multiple of 16 bytes, and gets 32 bits of each: the l % 4th of row l / 4. Transposed, of elements of 16 bits:
  /// elements 2 (l % 4) and the next one of column l / 4. All lanes of the warp get here. Empty: it cannot.
  virtual std::vector<llvm::Value*> load_matrices(llvm::IRBuilder<>&, llvm::Value* /*row*/, size_t /*count*/,
                                                  bool /*is_transposed*/) const {
    return {};
  }
  /// What the thread has written to shared memory is there for products that read it, once it has met the others at a
  /// barrier.
  virtual void publish_shared(llvm::IRBuilder<>&) const {}
  /// Products of factors in shared memory, by lanes that work together (ir::Instruction::reads_shared): the sums with
  /// the product added, which nobody may look at before wait_for_products() and settle(). All lanes get here. Empty: it
  /// cannot.
  virtual std::vector<llvm::Value*> multiply_shared(llvm::IRBuilder<>&, const ir::Instruction&,
                                                    const std::vector<llvm::Value*>& /*sums*/,
                                                    const SharedFactor& /*first*/,
                                                    const SharedFactor& /*second*/) const {
    return {};
  }
  /// Before such products: the sums in registers are what they should be.
  virtual void begin_products(llvm::IRBuilder<>&) const {}
  /// What was begun since the last time is a group; the thread goes on when all but the latest `groups` are done.
  virtual void commit_products(llvm::IRBuilder<>&) const {}
  virtual void wait_for_products(llvm::IRBuilder<>&, int32_t /*groups*/) const {}
  /// The values of sums that were waited for.
  virtual std::vector<llvm::Value*> settle(llvm::IRBuilder<>&, const std::vector<llvm::Value*>& sums) const {
    return sums;
  }
  /// The sums with the product added. All lanes of the warp get here.
  virtual std::vector<llvm::Value*> multiply(llvm::IRBuilder<>&, const ir::Instruction&, const LaneFragments&) const {
    return {};
  }
};

}  // namespace polyweft::targets
