#include "targets/common/loops/async_copies.h"

#include <utility>

#include "ir/nests/axes.h"
#include "ir/nests/walk_nest.h"
#include "support/abilities.h"

namespace polyweft::targets {

bool AsyncCopies::takes(const Loop& loop) {
  const auto* copy = std::get_if<Copy>(&nest_.nodes[loop.body]);
  return copy && begin(*copy, &loop);
}

bool AsyncCopies::takes(const Copy& copy) {
  return copy.is_async && begin(copy, nullptr);
}

bool AsyncCopies::begin(const Copy& copy, const Loop* lanes) {
  if (!hooks_.grid || !copy.has_src || lanes_.width > 1 || !is_on("code.async_copies")) return false;
  const Buffer &to = nest_.buffers[copy.dst.id], &from = nest_.buffers[copy.src.id];
  const bool lies_outside = from.scope == Scope::argument || from.scope == Scope::heap;
  if (to.scope != Scope::shared || !lies_outside || to.type != from.type || facts_.decide(fold(copy.valid)) != true)
    return false;
  for (const Subscript& s : copy.src.index)
    if (s.data) return false;
  const int64_t width = lanes ? lanes->mark.width : 1;
  const auto offset = [&](const Access& access, int64_t lane) {
    if (lanes) variables_.substitute(lanes->var, fold(lanes->lo.of[0]) + Affine::of(lane));
    const Affine out = places_.offset_of(access, nullptr);
    if (lanes) variables_.end_substitution(lanes->var);
    return out;
  };
  const Affine at = offset(copy.dst, 0), source = offset(copy.src, 0);
  const int64_t bytes = width * size_bytes(to.type);
  if (places_.alignment_of(copy.dst.id, at) % bytes != 0 || places_.alignment_of(copy.src.id, source) % bytes != 0)
    return false;
  for (int64_t lane = 1; lane < width; ++lane)
    if (offset(copy.dst, lane) - at != Affine::of(lane) || offset(copy.src, lane) - source != Affine::of(lane))
      return false;
  if (!hooks_.grid->copy_async(b_, places_.pointer_to(copy.dst.id, at), places_.pointer_to(copy.src.id, source), bytes))
    return false;
  are_pending_ |= !copy.is_async;
  return true;
}

void AsyncCopies::meet(const Sync& sync) {
  if (!hooks_.grid) return;
  if (sync.kind == Sync::Kind::async_commit) hooks_.grid->commit_copies(b_);
  if (sync.kind == Sync::Kind::async_wait) hooks_.grid->wait_for_groups(b_, sync.arg);
}

bool AsyncCopies::only_copies(NodeId id) {
  if (has_others_.empty())
    has_others_ = ir::nodes_with(nest_, [](const Node& node) {
      return std::holds_alternative<Compute>(node) || std::holds_alternative<Sync>(node) ||
             std::holds_alternative<Alloc>(node);
    });
  return !has_others_[id];
}

void AsyncCopies::finish() {
  if (std::exchange(are_pending_, false)) hooks_.grid->wait_for_copies(b_);
}

}  // namespace polyweft::targets
