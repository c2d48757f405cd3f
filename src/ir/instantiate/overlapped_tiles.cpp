#include "ir/instantiate/overlapped_tiles.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "ir/instantiate/branches.h"

namespace polyweft::ir {

namespace {

/// Members grow by what the first step of the block needs.
Body grown(const Body& frame) {
  const Overlap& overlap = *frame.overlap;
  const uint32_t time = frame.loops[0].index;
  const int64_t steps = frame.ranges[time].extent;
  Body out = frame;
  auto tile = std::make_shared<OverlapTile>();
  tile->of = &overlap;
  tile->time = time;
  tile->ranges = frame.ranges;
  tile->last = frame.ranges[time].origin + Affine::of(steps - 1);
  for (uint32_t m = 0; m < frame.ranges.size(); ++m) {
    int64_t first = 0, last = 0;
    for (size_t s = 0; s < overlap.first.size(); ++s) {
      first = std::max(first, overlap.first[s][m]);
      last = std::max(last, overlap.last[s][m]);
    }
    first += overlap.below[m] * (steps - 1);
    last += overlap.above[m] * (steps - 1);
    const Range& range = frame.ranges[m];
    if (m == time || first + last == 0) continue;
    out.ranges[m] = Range{range.origin - Affine::of(first), range.extent + first + last, {}, {}};
  }
  out.tile = std::move(tile);
  return out;
}

/// The element in the first cell.
std::vector<Affine> window_origin(const Buffer& buffer) {
  std::vector<Affine> out = buffer.element;
  for (uint32_t d = 0; d < out.size(); ++d) out[d] = out[d] - Affine::variable(kCellVar + d);
  return out;
}

/// What a statement makes inside a tile, inside the tensor's box where it is larger.
Window made_by(const Body& statement, const Box& box) {
  Window out = slot_window(statement);
  out.least = box.lo;
  for (int64_t hi : box.hi) out.most.push_back(hi - 1);
  for (size_t d = 0; d < out.origin.size(); ++d) {
    if (out.extent[d] <= box.hi[d] - box.lo[d]) continue;
    out.origin[d] = Affine::of(box.lo[d]);
    out.extent[d] = box.hi[d] - box.lo[d];
  }
  return out;
}

}  // namespace

/// Cells for all that statements inside define of a tensor, and read of it.
View OverlappedTiles::make_tile_cells(const Body& frame, TensorId tensor) {
  std::optional<Window> window = windows_.window_at(frame, 0, tensor);
  std::optional<Affine> lanes;  // where the first of them begin, along rows
  for (uint32_t attached : schedule_.attached_to(frame.id)) {
    const Stage& stage = schedule_.stage(attached);
    if (!stage.placement.alone.empty() || !defines(schedule_.equation_of(stage), tensor)) continue;
    const Body own = windows_.body_tied(attached, frame);
    const auto& slots = own.equation->slots;
    if (!slots.empty() && slots.back().var != kNoVar) lanes = own.ranges[own.index_of(slots.back().var)].origin;
    windows_.join(window, made_by(own, schedule_.box(tensor)), tensor);
  }
  const BufferId id = storage_.make_window(*window, tensor, frame.overlap->scope, ".o");
  Buffer& buffer = nest_.buffer(id);
  for (const TensorFold& fold : schedule_.nest_template().folds)
    if (fold.tensor == tensor && fold.cell.empty() && fold.window < buffer.extents[fold.dim])
      buffer.folds.push_back({static_cast<uint8_t>(fold.dim), fold.window});
  buffer.layout = row_major(folded_extents(buffer));
  View view{id, window_origin(buffer), std::nullopt};
  if (!has_long_rows(buffer)) return view;
  const bool is_free = std::none_of(buffer.folds.begin(), buffer.folds.end(),
                                    [&](const auto& fold) { return fold.dim + 1 == buffer.extents.size(); });
  const Affine first = lanes ? *lanes - view.origin.back() : Affine::variable(0);
  if (is_free && first.is_constant()) put_on_line(buffer, view, first.constant);
  align_rows(buffer);
  return view;
}

/// What the block reads of the steps before it.
NodeId OverlappedTiles::copy_before(const Body& frame, const Overlap::Kept& kept, const View& cells) {
  Window window;
  window.origin = cells.origin;
  window.extent = nest_.buffer(cells.buffer).extents;
  window.origin[kept.dim] = frame.ranges[frame.tile->time].origin + Affine::of(kept.plus - kept.before);
  window.extent[kept.dim] = kept.before;
  return copies_.copy({kept.tensor, window, cells, storage_.innermost(kept.tensor)});
}

NodeId OverlappedTiles::store_after(Body body, const std::map<TensorId, View>& cells) {
  body.leaf = Leaf::store;
  for (TensorId target : body.equation->targets) body.accumulators.push_back(cells.at(target));
  return emit_fixed(nest_, inner_, std::move(body), 0);
}

/// What the last steps made in the tile itself, by the statements that made it.
std::vector<NodeId> OverlappedTiles::stores_after(const Body& exact, const std::map<TensorId, View>& cells) {
  std::vector<NodeId> out;
  const uint32_t time = exact.loops[0].index;
  for (const Overlap::Kept& kept : exact.overlap->kept)
    for (uint32_t attached : schedule_.attached_to(exact.id)) {
      const Stage& stage = schedule_.stage(attached);
      if (!stage.placement.alone.empty() || !defines(schedule_.equation_of(stage), kept.tensor)) continue;
      Body frame = exact;
      Range& range = frame.ranges[time];
      range.origin = range.origin + Affine::of(range.extent - kept.after);
      range.extent = kept.after;
      Body body = windows_.body_tied(attached, frame);
      if (!has_no_elements(body)) out.push_back(store_after(std::move(body), cells));
    }
  return out;
}

/// PW0311 where a block of time has no constant number of steps, or too few.
Status OverlappedTiles::fits(const Body& frame) const {
  const Range& time = frame.ranges[frame.loops[0].index];
  const std::string subject = "overlap " + frame.stage->name + ": ";
  if (time.is_cut()) return fail("PW0311", subject + "a block of time has no constant number of steps");
  for (const Overlap::Kept& kept : frame.overlap->kept) {
    const std::string& name = schedule_.tensor(kept.tensor).name;
    if (kept.after > time.extent)
      return fail("PW0311", subject + std::to_string(kept.after) + " steps of " + name +
                                " are needed later, a block has " + std::to_string(time.extent));
    for (const TensorFold& fold : schedule_.nest_template().folds)
      if (fold.tensor == kept.tensor && fold.dim != kept.dim)
        return fail("PW0311", subject + name + " outlives its block, and is folded along places");
  }
  return Ok{};
}

NodeId OverlappedTiles::emit(const NestPlace& at) {
  const Body& body = at.body;
  if (auto status = fits(body); !status) return nest_.error(status.error().code, status.error().message);
  std::set<TensorId> tensors;
  for (uint32_t attached : schedule_.attached_to(body.id))
    tensors.insert(schedule_.targets_of(attached).begin(), schedule_.targets_of(attached).end());
  Body inside = grown(body);
  std::map<TensorId, View> cells;
  std::vector<BufferId> buffers;
  std::vector<NodeId> children;
  for (TensorId tensor : tensors) {
    cells[tensor] = make_tile_cells(inside, tensor);
    buffers.push_back(cells[tensor].buffer);
    const Overlap::Kept* kept = schedule_.kept_of(tensor);
    if (kept && kept->before > 0) children.push_back(copy_before(inside, *kept, cells[tensor]));
  }
  for (TensorId tensor : tensors) storage_.push(tensor, cells[tensor]);
  children.push_back(inner_.emit_rest({std::move(inside), at.depth, at.which}));
  for (TensorId tensor : tensors) storage_.pop(tensor);
  for (NodeId store : stores_after(body, cells)) children.push_back(store);
  return nest_.within(buffers, nest_.seq(std::move(children)));
}

}  // namespace polyweft::ir
