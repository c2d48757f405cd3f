// Loops of one function: written out, as lanes, and serial ones with values in registers around them.
#include <algorithm>
#include <numeric>
#include <utility>

#include "support/abilities.h"
#include "targets/common/nest_code.h"
#include "targets/common/nest_walk.h"

namespace polyweft::targets {
void NestCode::serial_or_scan(const Loop& loop) {
  if (!is_on("code.scans") || !scan_loop(loop)) serial_loop(loop);
}

void NestCode::unroll_loop(const Loop& loop) {
  const Affine lo = fold(loop.lo.of[0]);
  const auto trips = variables_.constant_trips(loop, lo);
  if (!trips) return serial_loop(loop);
  if (!running_values_.has_running() && loop.step == 1 &&
      ((is_on("code.interleaved_copies") && interleaved_copy(loop, lo, *trips)) ||
       (is_on("code.dense_dots") && dense_dots(loop, lo, *trips))))
    return;
  ++unrolled_;
  for (int64_t n = 0; n < *trips; n += loop.step) {
    variables_.substitute(loop.var, lo + Affine::of(n));
    emit(loop.body);
  }
  --unrolled_;
  variables_.end_substitution(loop.var);
}

void NestCode::vector_loop(const Loop& loop) {
  if (lanes_.width > 1 || !first_lane(loop)) return serial_loop(loop);
  over_lanes(loop, [&] { emit(loop.body); });
}

/// What of a vector loop's bounds is not known here.
NestCode::MaskedLanes NestCode::masked_lanes(const Loop& loop) const {
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

void NestCode::one_lane(const Loop& loop, const MaskedLanes& open, const std::function<void()>& inside) {
  const Affine first = lane_0(loop);
  variables_.substitute(loop.var, first);
  if (open.lengths.empty() && open.late.empty())
    inside();
  else
    branches_.branch(
        b_.CreateICmpSGT(integers_.bound(loop.hi, false), integers_.bound(loop.lo, true)), [&] { inside(); }, [] {});
  variables_.end_substitution(loop.var);
}

// Substitutes start + lane for the variable, with a mask where not all lanes are active.
void NestCode::over_lanes(const Loop& loop, const std::function<void()>& code) {
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

// Guarded where no iteration may run, then bottom-tested: one compare and branch an iteration.
void NestCode::serial_loop(const Loop& loop, const LoopBody& special) {
  auto& context = module_.getContext();
  strided_lanes_.write_all_waiting();
  llvm::Value* lo = integers_.bound(loop.lo, true);
  llvm::Value* hi = integers_.bound(loop.hi, false);
  if (ScalarCode::lanes(lo) > 1 || ScalarCode::lanes(hi) > 1)
    throw Refusal{fail("PW0504", "a loop inside a vector loop has bounds that differ from lane to lane")};
  const VarFacts facts = variables_.loop_facts(loop);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* header = llvm::BasicBlock::Create(context, "loop", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(context, "after", function_);
  std::vector<bool> written(nest_.buffers.size(), false);
  registers_.written_registers(loop.body, written);
  // Register blocks then need no values for the case that no iteration runs. Elsewhere the guard is left to the back
  // end: without it loads are shared between loops, which costs a depthwise convolution 3 % in spilled registers.
  const bool always = std::find(written.begin(), written.end(), true) != written.end() && variables_.is_entered(loop);
  std::vector<RunningValue> running = special.running;
  llvm::BasicBlock* first = running.empty() ? header : llvm::BasicBlock::Create(context, "entered", function_, header);
  llvm::MDNode* const entered =
      branches_.frequencies() ? branches_.weights(branches_.frequency_of(loop).entered) : nullptr;
  const auto length = variables_.constant_length(loop);
  const double trips = length && *length > 0     ? static_cast<double>(*length) / static_cast<double>(loop.step)
                       : branches_.frequencies() ? branches_.frequency_of(loop).trips
                                                 : 1;
  llvm::MDNode* const repeated = branches_.frequencies() ? branches_.weights(1 - 1 / trips) : nullptr;
  always ? b_.CreateBr(first) : b_.CreateCondBr(b_.CreateICmpSLT(lo, hi), first, after, entered);
  before = b_.GetInsertBlock();
  llvm::BasicBlock* const skipped = before;
  if (!running.empty()) {
    b_.SetInsertPoint(first);
    running_values_.load_running(loop, lo, facts, running);
    before = b_.GetInsertBlock();
    b_.CreateBr(header);
  }

  const auto integers = integers_.known();
  b_.SetInsertPoint(header);
  llvm::PHINode* iv = b_.CreatePHI(
      b_.getInt64Ty(), 2,
      loop.var - nest_.params.size() < nest_.loop_names.size() ? nest_.loop_names[loop.var - nest_.params.size()] : "");
  iv->addIncoming(lo, before);
  for (RunningValue& each : running) each.entry = before, each.header = header;
  running = running_values_.exchange(std::move(running));
  Registers::Carried carried = registers_.begin_loop(std::move(written), before);
  const Facts outside = facts_;
  variables_.bind(loop.var, iv, facts);
  for (const Affine& first : loop.lo.of)  // an iteration runs
    for (const Affine& end : loop.hi.of) variables_.assume(fold(end) - fold(first) - Affine::of(1));
  loads_.clear();
  division_.begin_loop();
  std::vector<bool> stored(nest_.buffers.size(), false);
  visit_accesses(nest_, loop.body,
                 [&](const Access& access, bool is_write) { stored[access.id] = stored[access.id] || is_write; });
  Streams streams{
      loop.var, loop.step, lo, hi, before, header, bases_, integers, std::move(stored), variables_.is_entered(loop)};
  // The compiler's own passes read subscripts, not pointers that move.
  const bool has_streams = !nest_.auto_vectorized && (special.is_straight || is_straight(nest_, loop.body, true));
  Streams* const outer = pointers_.exchange(has_streams ? &streams : nullptr);
  Streams* const outer_tiles =
      std::exchange(tile_streams_, is_straight_block_of_tiles(nest_, loop.body) ? &streams : nullptr);
  variables_.enter({loop.var, special.trips > 0 ? special.trips : (facts.hi - facts.lo) / loop.step + 1, loop.step});
  const int64_t products_before = tile_products_;
  products_to_come_ = tile_streams_ ? tile_products_of(loop.body) : 0;
  special.emit ? special.emit(iv) : emit(loop.body);
  strided_lanes_.write_all_waiting();
  while (tile_streams_ && !uncut_.empty()) cut_ahead(1);
  if (tile_streams_) keep_stores_awake(loop, iv, tile_products_ - products_before);
  tile_streams_ = outer_tiles;
  variables_.leave();
  pointers_.exchange(outer);
  // A loop from -18 to 0 wraps as an unsigned number.
  llvm::Value* next = b_.CreateAdd(iv, b_.getInt64(static_cast<uint64_t>(loop.step)), "", facts.lo >= 0, true);
  llvm::BasicBlock* latch = b_.GetInsertBlock();
  if (streams.has_neighbours && latch == header) pointers_.rotate_neighbours(streams);
  running = running_values_.exchange(std::move(running));
  for (const RunningValue& each : running) {
    PW_CHECK(each.is_made);
    each.phi->addIncoming(each.last, latch);
  }
  b_.SetInsertPoint(latch);
  pointers_.move_streams(streams, latch);
  b_.CreateCondBr(b_.CreateICmpSLT(next, hi), header, after, repeated);
  iv->addIncoming(next, latch);
  Registers::File leaving = registers_.end_loop(carried, latch);
  b_.SetInsertPoint(after);
  if (always)
    registers_.restore(std::move(leaving));
  else
    registers_.merge_registers(carried.entry, skipped, leaving, latch);
  variables_.unbind(loop.var);
  variables_.restore(outside);
  // What was computed before the loop stands before what follows it, unless that is a block that only a loop that runs
  // is entered by.
  if (before == skipped || always)
    integers_.restore(std::move(streams.integers));
  else
    integers_.restore(integers);
  loads_.clear();
}

}  // namespace polyweft::targets
