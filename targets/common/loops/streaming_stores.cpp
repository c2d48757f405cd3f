#include "targets/common/loops/streaming_stores.h"

#include <algorithm>

#include "targets/common/nest_walk.h"

namespace polyweft::targets {

/// Streaming stores want whole lines, and an argument's address is known at the call only: the code exists twice,
/// an innermost loop or, where sums are stored behind theirs, what is written out of the block.
void StreamingStores::with_streams(const Loop& loop, const std::function<void()>& code) {
  std::vector<BufferId> open;
  if (lanes_.width == 1 && is_straight(nest_, loop.body, false)) {
    std::vector<BufferId> streamed = streamed_arguments(loop.body);
    add_streamed_by(loop, streamed);
    for (BufferId id : streamed)
      if (!buffers_.is_tested(id) && std::find(open.begin(), open.end(), id) == open.end()) open.push_back(id);
  }
  if (open.empty()) return code();
  llvm::Value* together = b_.getInt64(0);
  for (BufferId id : open) together = b_.CreateOr(together, b_.CreatePtrToInt(buffers_.base_of(id), b_.getInt64Ty()));
  llvm::Value* is_aligned =
      b_.CreateICmpEQ(b_.CreateAnd(together, b_.getInt64(static_cast<uint64_t>(kLineBytes) - 1)), b_.getInt64(0));
  const auto with = [&](bool aligned) {
    for (BufferId id : open) buffers_.tell_alignment(id, aligned);
    code();
    for (BufferId id : open) buffers_.forget_alignment(id);
  };
  branches_.branch(
      is_aligned, [&] { with(true); }, [&] { with(false); });
}

void StreamingStores::fence_after(NodeId id) {
  if (!streamed_arguments(id).empty()) b_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
}

void StreamingStores::add_streamed_by(const Loop& loop, std::vector<BufferId>& out) const {
  if (!loop.mark.non_temporal) return;
  visit_accesses(nest_, loop.body, [&](const Access& access, bool written) {
    if (written && nest_.buffers[access.id].scope == Scope::argument) out.push_back(access.id);
  });
}

/// Arguments that vector loops in there write by streaming stores.
std::vector<BufferId> StreamingStores::streamed_arguments(NodeId id) const {
  std::vector<BufferId> out;
  walk_nodes(nest_, id, [&](const Node& node) {
    if (const auto* loop = std::get_if<Loop>(&node)) add_streamed_by(*loop, out);
    return true;
  });
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace polyweft::targets
