#include "targets/common/loops/vector_loops.h"

namespace polyweft::targets {

// Substitutes start + lane for the variable, with a mask where not all lanes are active.
void VectorLoops::over_lanes(const Loop& loop, const std::function<void()>& code) {
  const MaskedLanes open = masked_lanes(loop);
  if (open.fixed <= 0) return;
  if (loop.mark.width == 1) return one_lane(loop, open, code);
  const auto body = [&](llvm::Value* count, llvm::Value* start) {
    const Lanes outer = lanes_;
    Lanes inside = outer;
    inside.width = lanes_of(loop);
    inside.active = count || start ? 0 : open.fixed;
    inside.non_temporal = loop.mark.non_temporal;
    inside.prefetch = loop.mark.prefetch.empty() ? nullptr : &loop.mark.prefetch;
    masks_.set(inside);
    if (count) masks_.set_mask(masks_.lanes_below(count));
    if (!count && open.fixed < static_cast<int64_t>(lanes_.width)) masks_.set_mask(masks_.first_lanes(open.fixed));
    if (start) masks_.set_mask(masks_.both_masks(lanes_.mask, b_.CreateNot(masks_.lanes_below(start))));
    masks_.set_active(start ? start : b_.getInt64(0), count ? count : b_.getInt64(static_cast<uint64_t>(open.fixed)));
    VarFacts lanes{0, open.fixed - 1, 1};  // of those that run; cut lanes touch nothing
    for (const Affine& length : open.lengths) lanes.at_most.push_back(length - Affine::of(1));
    variables_.set_facts(kLane, std::move(lanes));
    variables_.substitute(loop.var, lane_0(loop) + Affine::variable(kLane));
    code();
    strided_lanes_.write_all_waiting();
    variables_.end_substitution(loop.var);
    variables_.forget_facts(kLane);
    masks_.set(outer);
    integers_.forget_lanes();
  };
  if (open.lengths.empty() && open.late.empty()) return body(nullptr, nullptr);
  llvm::Value* count = b_.getInt64(static_cast<uint64_t>(open.fixed));
  for (const auto& length : open.lengths)
    count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, integers_.integer(length));
  llvm::Value* start = b_.getInt64(0);
  for (const auto& late : open.late)
    start = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, start, integers_.integer(late));
  const auto cut = [&] { body(open.lengths.empty() ? nullptr : count, open.late.empty() ? nullptr : start); };
  const auto some = [&] { branches_.branch(b_.CreateICmpSGT(count, start), cut, [] {}); };
  // Of several vectors of a row that begins and ends anywhere at most two are cut. Each masked load of a whole vector
  // costs an operation beside the load.
  const bool is_often_whole = unrolled_ > 0 && !open.lengths.empty() && !open.late.empty() &&
                              open.fixed == static_cast<int64_t>(lanes_of(loop));
  if (!is_often_whole) return some();
  llvm::Value* is_whole = b_.CreateAnd(b_.CreateICmpSGE(count, b_.getInt64(static_cast<uint64_t>(open.fixed))),
                                       b_.CreateICmpSLE(start, b_.getInt64(0)));
  branches_.branch(
      is_whole, [&] { body(nullptr, nullptr); }, some);
}

void VectorLoops::one_lane(const Loop& loop, const MaskedLanes& open, const std::function<void()>& inside) {
  const Affine first = lane_0(loop);
  variables_.substitute(loop.var, first);
  if (open.lengths.empty() && open.late.empty())
    inside();
  else
    branches_.branch(
        b_.CreateICmpSGT(integers_.bound(loop.hi, false), integers_.bound(loop.lo, true)), [&] { inside(); }, [] {});
  variables_.end_substitution(loop.var);
}

/// What of a vector loop's bounds is not known here.
VectorLoops::MaskedLanes VectorLoops::masked_lanes(const Loop& loop) const {
  const Affine first = lane_0(loop);
  MaskedLanes out;
  out.fixed = loop.mark.width;
  for (const auto& e : loop.hi.of)
    if (const Affine length = fold(e) - first; length.is_constant()) out.fixed = std::min(out.fixed, length.constant);
  for (const auto& e : loop.hi.of)
    if (const Affine length = fold(e) - first; !length.is_constant() && facts_.range(length).lo < out.fixed)
      out.lengths.push_back(length);
  for (const auto& e : loop.lo.of)
    if (const Affine late = fold(e) - first; facts_.range(late).hi > 0) out.late.push_back(late);
  return out;
}

}  // namespace polyweft::targets
