#include "targets/common/loops/serial_loops.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "support/abilities.h"
#include "targets/common/nest_walk.h"

namespace polyweft::targets {

// Guarded where no iteration may run, then bottom-tested: one compare and branch an iteration.
void SerialLoops::serial_loop(const Loop& loop, const LoopBody& special) {
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
  variables_.enter({loop.var, special.trips > 0 ? special.trips : (facts.hi - facts.lo) / loop.step + 1, loop.step});
  const TileProducts::Block block =
      tile_products_.begin_block(loop, is_straight_block_of_tiles(nest_, loop.body) ? &streams : nullptr);
  special.emit ? special.emit(iv) : further_.emit(loop.body);
  strided_lanes_.write_all_waiting();
  tile_products_.end_block(loop, iv, block);
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
