// Tiles of a band that overlap: cells of their own, filled with what was made before the block, ranges that shrink from step to step, and what outlives the block.
#include <algorithm>

#include "ir/instantiate/internal.h"

namespace polyweft::ir {

const Overlap* Emitter::overlap_of(uint32_t stage_id) const {
  for (const Band& band : t_.bands)
    if (band.frame == stage_id && band.overlap.depth > 0) return &band.overlap;
  return nullptr;
}

const Overlap::Kept* Emitter::kept_of(TensorId id) const {
  for (const Band& band : t_.bands)
    for (const Overlap::Kept& kept : band.overlap.kept)
      if (kept.tensor == id) return &kept;
  return nullptr;
}

bool Emitter::is_made_in_tiles(TensorId id) const {
  return std::any_of(t_.stages.begin(), t_.stages.end(), [&](const Stage& stage) {
    const auto& targets = equation_of(stage).targets;
    return stage.placement.kind == Placement::Kind::fused && overlap_of(stage.placement.host) && std::find(targets.begin(), targets.end(), id) != targets.end();
  });
}

/// A fold for the cells that outlive blocks: while tiles still copy what was made before a block, others write what outlives it, so many steps later as the block has.
/// A block writes its own steps only, however many outlive it (tiles refuse blocks of fewer).
int64_t Emitter::window_between_blocks(TensorId id, uint32_t dim, int64_t window) const {
  const Overlap::Kept* kept = kept_of(id);
  if (!kept || kept->dim != dim) return window;
  for (const Band& band : t_.bands) {
    if (band.overlap.depth == 0 || std::none_of(band.overlap.kept.begin(), band.overlap.kept.end(), [&](const Overlap::Kept& each) { return &each == kept; })) continue;
    const Stage& frame = t_.stages[band.frame];
    const uint32_t time = frame.loops[0].index;
    const int64_t all = frame.hi[time] - frame.lo[time], block = std::min(sized_loops(frame)[0].step, std::max<int64_t>(all, 1));
    auto meets = [&](int64_t w) {
      for (int64_t steps : {block, all % block})
        for (int64_t before = 1; steps > 0 && before <= kept->before; ++before)
          for (int64_t after = 1; after <= std::min(kept->after, steps); ++after)
            if ((steps + before - after) % w == 0) return true;
      return false;
    };
    window = std::max({window, kept->before, kept->after});
    while (meets(window)) ++window;  // ends at block + before
  }
  return window;
}

/// Conditions of a statement inside a tile: what of each step the tile and its later steps need.
void Emitter::bind_to_tile(Body& body, const Body& host) const {
  if (!host.tile) return;
  const OverlapTile& tile = *host.tile;
  size_t place = 0;  // as band.places
  for (uint32_t guest : hosted_[host.id]) {
    const Stage& near = t_.stages[guest];
    if (!near.placement.alone.empty()) continue;
    if (guest == body.id || body.stage->name.starts_with(near.name + ".far")) break;
    ++place;
  }
  std::vector<uint32_t> own(host.ranges.size());
  for (auto [index, member] : body.stage->placement.ties) own[member] = index;
  const Affine time = Affine::variable(index_var(own[tile.time]));
  for (uint32_t m = 0; m < host.ranges.size(); ++m) {
    const Overlap& of = *tile.of;
    const bool grows = host.ranges[m].origin != tile.ranges[m].origin || host.ranges[m].extent != tile.ranges[m].extent;
    if (m == tile.time || !grows) continue;
    const Affine index = Affine::variable(index_var(own[m]));
    const Range& range = tile.ranges[m];
    body.mixed.push_back({index - of.below[m] * time, of.below[m] * tile.last + Affine::of(of.first[place][m]) - range.origin});
    body.mixed.push_back({Affine::of(0) - index - of.above[m] * time, of.above[m] * tile.last + Affine::of(of.last[place][m] + range.extent - 1) + range.origin});
  }
}

/// Members grow by what the first step of the block needs.
Body Emitter::grown(const Body& body, const Overlap& overlap) {
  const uint32_t time = body.loops[0].index;
  Body out = body;
  auto tile = std::make_shared<OverlapTile>();
  tile->of = &overlap;
  tile->time = time;
  tile->ranges = body.ranges;
  const int64_t steps = body.ranges[time].extent;
  tile->last = body.ranges[time].origin + Affine::of(steps - 1);
  for (uint32_t m = 0; m < body.ranges.size(); ++m) {
    int64_t first = 0, last = 0;
    for (size_t s = 0; s < overlap.first.size(); ++s) first = std::max(first, overlap.first[s][m]), last = std::max(last, overlap.last[s][m]);
    first += overlap.below[m] * (steps - 1);
    last += overlap.above[m] * (steps - 1);
    const Range& range = body.ranges[m];
    if (m == time || first + last == 0) continue;
    out.ranges[m] = Range{range.origin - Affine::of(first), range.extent + first + last, {}, {}};
  }
  out.tile = std::move(tile);
  return out;
}

namespace {

/// The element in the first cell.
std::vector<Affine> window_origin(const Buffer& buffer) {
  std::vector<Affine> out = buffer.element;
  for (uint32_t d = 0; d < out.size(); ++d) out[d] = out[d] - Affine::variable(kCellVar + d);
  return out;
}

}  // namespace

/// Cells for all that statements inside define of a tensor, and read of it.
View Emitter::make_tile_cells(const Body& body, TensorId tensor, Scope scope) {
  const Box& box = t_.boxes[tensor];
  std::optional<Window> window = window_at(body, 0, tensor);
  std::optional<Affine> lanes;  // where the first of them begin, along rows
  for (uint32_t guest : hosted_[body.id]) {
    const auto& targets = equation_of(t_.stages[guest]).targets;
    if (!t_.stages[guest].placement.alone.empty() || std::find(targets.begin(), targets.end(), tensor) == targets.end()) continue;
    const Body own = body_tied(guest, body);
    Window made = slot_window(own);
    if (const auto& slots = equation_of(*own.stage).slots; !slots.empty() && slots.back().var != kNoVar) lanes = own.ranges[index_of(slots.back().var)].origin;
    made.least = box.lo;
    for (int64_t hi : box.hi) made.most.push_back(hi - 1);
    for (size_t d = 0; d < made.origin.size(); ++d) {
      if (made.extent[d] <= box.hi[d] - box.lo[d]) continue;
      made.origin[d] = Affine::of(box.lo[d]);
      made.extent[d] = box.hi[d] - box.lo[d];
    }
    join(window, std::move(made), tensor);
  }
  const BufferId id = make_window(*window, tensor, scope, ".o");
  Buffer& buffer = nest_.buffers[id];
  for (const TensorFold& fold : t_.folds)
    if (fold.tensor == tensor && fold.cell.empty() && fold.window < buffer.extents[fold.dim]) buffer.folds.push_back({static_cast<uint8_t>(fold.dim), fold.window});
  buffer.layout = row_major(folded_extents(buffer));
  View view{id, window_origin(buffer), std::nullopt};
  if (!has_long_rows(buffer)) return view;
  const bool is_free = std::none_of(buffer.folds.begin(), buffer.folds.end(), [&](const auto& fold) { return fold.dim + 1 == buffer.extents.size(); });
  if (const Affine first = lanes ? *lanes - view.origin.back() : Affine::variable(0); is_free && first.is_constant()) put_on_line(buffer, view, first.constant);
  align_rows(buffer);
  return view;
}

/// What the block reads of the steps before it.
NodeId Emitter::copy_before(const Body& body, const Overlap::Kept& kept, const View& view, const View& source) {
  const Buffer& buffer = nest_.buffers[view.buffer];
  Window window;
  window.origin = view.origin;
  window.extent = buffer.extents;
  window.origin[kept.dim] = body.ranges[body.tile->time].origin + Affine::of(kept.plus - kept.before);
  window.extent[kept.dim] = kept.before;
  return copy_nest(window, kept.tensor, view, source, {});
}

/// What the last steps made in the tile itself, by the statements that made it.
std::vector<NodeId> Emitter::copies_after(const Body& exact, const Overlap& overlap, const std::map<TensorId, View>& views) {
  std::vector<NodeId> out;
  const uint32_t time = exact.loops[0].index;
  for (const Overlap::Kept& kept : overlap.kept)
    for (uint32_t guest : hosted_[exact.id]) {
      const Stage& stage = t_.stages[guest];
      const auto& targets = equation_of(stage).targets;
      if (!stage.placement.alone.empty() || std::find(targets.begin(), targets.end(), kept.tensor) == targets.end()) continue;
      Body host = exact;
      Range& range = host.ranges[time];
      range.origin = range.origin + Affine::of(range.extent - kept.after);
      range.extent = kept.after;
      Body body = body_tied(guest, host);
      if (has_no_elements(body)) continue;
      body.leaf = Leaf::store;
      for (TensorId target : targets) body.accumulators.push_back(views.at(target));
      out.push_back(with_fixed_conditions(std::move(body), 0));
    }
  return out;
}

/// alloc A.o { A.o = A of the steps before; <the block, on ranges that grow backwards>; A = A.o of the last steps, in the tile itself }
NodeId Emitter::hook_overlap(Body body, size_t depth, size_t which) {
  const Overlap& overlap = *overlap_of(body.id);
  const uint32_t time = body.loops[0].index;
  if (body.ranges[time].is_cut()) return error("PW0311", "overlap " + body.stage->name + ": a block of time has no constant number of steps");
  for (const Overlap::Kept& kept : overlap.kept) {
    if (kept.after > body.ranges[time].extent)
      return error("PW0311", "overlap " + body.stage->name + ": " + std::to_string(kept.after) + " steps of " + t_.program.tensors[kept.tensor].name +
                                 " are needed later, a block has " + std::to_string(body.ranges[time].extent));
    for (const TensorFold& fold : t_.folds)
      if (fold.tensor == kept.tensor && fold.dim != kept.dim)
        return error("PW0311", "overlap " + body.stage->name + ": " + t_.program.tensors[kept.tensor].name + " outlives its block, and is folded along places");
  }
  std::set<TensorId> tensors;
  for (uint32_t guest : hosted_[body.id])
    for (TensorId target : equation_of(t_.stages[guest]).targets) tensors.insert(target);
  Body inside = grown(body, overlap);
  std::map<TensorId, View> views;
  std::vector<View> cells;
  std::vector<NodeId> children;
  for (TensorId tensor : tensors) {
    views[tensor] = make_tile_cells(inside, tensor, overlap.scope);
    cells.push_back(views[tensor]);
    if (const Overlap::Kept* kept = kept_of(tensor); kept && kept->before > 0) children.push_back(copy_before(inside, *kept, views[tensor], views_[tensor].back()));
  }
  for (TensorId tensor : tensors) views_[tensor].push_back(views[tensor]);
  children.push_back(hooks(std::move(inside), depth, which + 1));
  for (TensorId tensor : tensors) views_[tensor].pop_back();
  for (NodeId copy : copies_after(body, overlap, views)) children.push_back(copy);
  return within(cells, seq(std::move(children)));
}

}  // namespace polyweft::ir
