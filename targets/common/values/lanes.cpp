#include "targets/common/values/lanes.h"

namespace polyweft::targets {

void LaneMasks::guard_by(llvm::Value* mask, llvm::Value* may_read) {
  lanes_.guarded = true;
  lanes_.active = 0;
  lanes_.mask = mask;
  lanes_.may_read = may_read;
}

llvm::Value* LaneMasks::lane_numbers() {
  std::vector<llvm::Constant*> numbers;
  for (unsigned lane = 0; lane < lanes_.width; ++lane) numbers.push_back(b_.getInt64(lane));
  return llvm::ConstantVector::get(numbers);
}

// Compared in 32 bits: a mask is then one instruction.
llvm::Value* LaneMasks::lanes_below(llvm::Value* count) {
  llvm::Value* low = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, b_.getInt64(0));
  llvm::Value* inside =
      b_.CreateTrunc(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, low, b_.getInt64(lanes_.width)), b_.getInt32Ty());
  std::vector<llvm::Constant*> numbers;
  for (unsigned lane = 0; lane < lanes_.width; ++lane) numbers.push_back(b_.getInt32(lane));
  return b_.CreateICmpSLT(llvm::ConstantVector::get(numbers), scalar_.splat(inside, lanes_.width));
}

llvm::Value* LaneMasks::first_lanes(int64_t count) {
  std::vector<llvm::Constant*> bits;
  for (int64_t lane = 0; lane < static_cast<int64_t>(lanes_.width); ++lane) bits.push_back(b_.getInt1(lane < count));
  return llvm::ConstantVector::get(bits);
}

// LLVM 22 splits a masked load, where the target has no masks of single lanes, in halves and, where one half of the
// mask is known to be false only in part of its uses, loads that half whole. So a constant mask that turns off half of
// the lanes is not a constant any more where it meets a condition.
llvm::Value* LaneMasks::both_masks(llvm::Value* outer, llvm::Value* condition) {
  if (!outer) return condition;
  auto* constant = llvm::dyn_cast<llvm::Constant>(outer);
  if (!constant || llvm::isa<llvm::Constant>(condition) || lanes_.width > 64) return b_.CreateAnd(outer, condition);
  uint64_t bits = 0;
  for (unsigned lane = 0; lane < lanes_.width; ++lane)
    if (constant->getAggregateElement(lane)->isOneValue()) bits |= uint64_t{1} << lane;
  const auto active = static_cast<unsigned>(std::popcount(bits));
  if (2 * active > lanes_.width) return b_.CreateAnd(outer, condition);
  llvm::Type* i64 = b_.getInt64Ty();
  auto* hidden = llvm::InlineAsm::get(llvm::FunctionType::get(i64, {i64}, false), "", "=r,0", false);
  const bool are_first = bits == (uint64_t{1} << active) - 1;
  llvm::Value* value = b_.CreateCall(hidden, {b_.getInt64(are_first ? active : bits)});
  llvm::Value* mask = are_first ? lanes_below(value)
                                : b_.CreateBitCast(b_.CreateTrunc(value, b_.getIntNTy(lanes_.width)), outer->getType());
  return b_.CreateAnd(mask, condition);
}

llvm::Value* LaneMasks::full_mask() {
  if (lanes_.mask) return lanes_.mask;
  return llvm::ConstantInt::getTrue(llvm::FixedVectorType::get(b_.getInt1Ty(), lanes_.width));
}

/// Zeros where a lane is off.
llvm::Value* LaneMasks::with_zeros(llvm::Value* value) {
  return lanes_.mask ? b_.CreateSelect(lanes_.mask, value, llvm::Constant::getNullValue(value->getType())) : value;
}

/// All lanes, but where it is known that only the first ones are active.
int64_t LaneMasks::lanes_that_may_be_active() const {
  return lanes_.mask && lanes_.active > 0 ? lanes_.active : static_cast<int64_t>(lanes_.width);
}

/// Are there lanes of which the code here does not know whether they are active?
bool LaneMasks::has_open_mask() const {
  return lanes_.mask && lanes_.active == 0;
}

}  // namespace polyweft::targets
