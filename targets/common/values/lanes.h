// Lanes of the vector loop around, and masks of those that are active.
#pragma once

#include <bit>
#include <vector>

#include "targets/common/function_code.h"

namespace polyweft::targets {

struct Lanes {
  unsigned width = 1;                              ///< 1: not in a vector loop
  llvm::Value* mask = nullptr;                     ///< null: all lanes active
  llvm::Value *start = nullptr, *count = nullptr;  ///< where not null: the active lanes, of which there are some
  llvm::Value* may_read =
      nullptr;  ///< where not null: false where no lane reads, and addresses may lie far outside of their buffer
  bool guarded = false;  ///< inside a condition that depends on the lane: uniform loads need the mask too
  int64_t active = 0;    ///< lanes below this and no others are active; 0: not known
  bool non_temporal = false;
  const std::vector<Prefetch>* prefetch = nullptr;
};

/// Lanes of a vector loop's registers: a power of two; those past the width are never active.
inline unsigned lanes_of(const Loop& loop) {
  return std::bit_ceil(static_cast<unsigned>(loop.mark.width));
}

class LaneMasks : FunctionPart {
 public:
  explicit LaneMasks(FunctionCode& code) : FunctionPart(code) {}

  const Lanes& lanes() const { return lanes_; }
  void set(const Lanes& lanes) { lanes_ = lanes; }
  /// Inside a condition that depends on the lane.
  void guard_by(llvm::Value* mask, llvm::Value* may_read);
  void set_mask(llvm::Value* mask) { lanes_.mask = mask; }
  void set_active(llvm::Value* start, llvm::Value* count) { lanes_.start = start, lanes_.count = count; }

  llvm::Value* lane_numbers();
  llvm::Value* lanes_below(llvm::Value* count);                         ///< lane < count; count is an i64 of any size
  llvm::Value* first_lanes(int64_t count);                              ///< constant: lane < count
  llvm::Value* both_masks(llvm::Value* outer, llvm::Value* condition);  ///< outer may be null
  llvm::Value* full_mask();
  llvm::Value* with_zeros(llvm::Value* value);
  int64_t lanes_that_may_be_active() const;
  bool has_open_mask() const;

 private:
  Lanes lanes_;
};

}  // namespace polyweft::targets
