#include "ir/instantiate/reductions.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include "ir/instantiate/conditions.h"
#include "ir/instantiate/merges.h"
#include "ir/instantiate/tile_classes.h"
#include "ir/instantiate/windows.h"
#include "ir/nests/instruction.h"

namespace polyweft::ir {

namespace {

/// Is one of the tests false whatever the variables are?
bool is_never(const Guard& g) {
  if (g.kind == Guard::Kind::any && g.of.empty()) return true;
  return std::any_of(g.of.begin(), g.of.end(),
                     [](const Guard& part) { return part.e.is_constant() && part.e.constant < 0; });
}

/// True while every reduced loop outside the accumulator is in its first iteration.
Guard first_reduced(const Body& body) {
  if (body.stage->part == SumPart::folds) return guard_ge0(Affine::of(-1));
  std::vector<Guard> tests;
  for (uint32_t k = body.stage->data_indices; k < body.ranges.size(); ++k) {
    if (!body.partials.empty() && body.stage->parted == k) continue;  // each part begins anew
    Affine before = body.ranges[k].origin - Affine::of(body.stage->lo[k]);
    if (!before.is_constant() || before.constant > 0) tests.push_back(guard_ge0(Affine::of(0) - before));
  }
  return guard_all(std::move(tests));
}

bool is_along(const Slot& slot, const Body& body, const SizedLoop& loop) {
  return slot_walk(slot).var == body.index_var(loop.index);
}

/// Extents along the slots that move with a loop's index, rounded up to its lanes.
void round_to_lanes(const Body& body, const SizedLoop& loop, std::vector<int64_t>& extents) {
  const auto& slots = body.equation->slots;
  for (size_t d = 0; d < slots.size(); ++d)
    if (is_along(slots[d], body, loop)) extents[d] = (extents[d] + loop.lanes - 1) / loop.lanes * loop.lanes;
}

/// Row-major, but for the dimension of the vector loop, or of a tile's columns: neighbouring lanes are neighbouring
/// cells whatever the order of the slots.
Layout lanes_innermost(const Body& body, size_t depth, const std::vector<int64_t>& extents) {
  Layout layout = row_major(extents);
  const auto& slots = body.equation->slots;
  size_t columns = body.loops.size();
  for (size_t k = depth; k < body.loops.size(); ++k)
    if (body.loops[k].mark == MarkKind::tensor && !body.loops[k].reduced) columns = k;
  for (size_t k = depth; k < body.loops.size(); ++k) {
    if (body.loops[k].mark != MarkKind::vector && k != columns) continue;
    for (size_t d = 0; d < slots.size(); ++d) {
      if (!is_along(slots[d], body, body.loops[k])) continue;
      auto piece = std::find_if(layout.pieces.begin(), layout.pieces.end(), [&](const Piece& p) { return p.dim == d; });
      if (piece != layout.pieces.end()) std::rotate(piece, piece + 1, layout.pieces.end());
    }
  }
  return layout;
}

/// Sums in a unit's memory: rows as long as a product has columns, one block of columns after the other.
void columns_in_blocks(const Body& body, size_t depth, Buffer& made) {
  if (made.scope != Scope::accumulator && made.scope != Scope::scratchpad) return;
  const auto& slots = body.equation->slots;
  const SizedLoop* columns = nullptr;
  for (size_t k = depth; k < body.loops.size(); ++k)
    if (body.loops[k].mark == MarkKind::tensor && !body.loops[k].reduced) columns = &body.loops[k];
  for (uint32_t d = 0; columns && d < slots.size(); ++d) {
    if (!is_along(slots[d], body, *columns)) continue;
    std::erase_if(made.layout.pieces, [&](const Piece& piece) { return piece.dim == d; });
    const int64_t blocks = (made.extents[d] + columns->lanes - 1) / columns->lanes;
    made.layout.pieces.insert(made.layout.pieces.begin(), Piece{d, blocks});
    made.layout.pieces.push_back(Piece{d, columns->lanes});
    return;
  }
}

/// Extents of whole tiles; a reason where they are no tiles, or too many.
std::string round_to_tiles(const Body& body, size_t depth, std::vector<int64_t>& extents) {
  int64_t cells = 1;
  for (size_t k = depth; k < body.loops.size(); ++k) {
    const SizedLoop& loop = body.loops[k];
    if (loop.reduced) continue;
    if (!loop.is_register() && loop.step < body.ranges[loop.index].extent)
      return "loop " + loop.name + " inside is neither unrolled nor part of the instruction";
    if (loop.mark != MarkKind::tensor) continue;
    cells *= loop.lanes;
    round_to_lanes(body, loop, extents);
  }
  if (cells == 1) return "no instruction with tiles adds to it";
  const int64_t all = std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
  for (const TemplateLoop& loop : body.stage->loops) {
    const auto instruction = instruction_named(loop.mark.detail);
    if (loop.mark.kind != MarkKind::tensor || !instruction || !(*instruction)->is_of_warp()) continue;
    const int64_t lanes = (*instruction)->lanes();
    if (all <= lanes * kLaneSums) return "";
    return std::to_string(all / lanes) + " cells of sums in each lane of a warp, which holds at most " +
           std::to_string(kLaneSums);
  }
  const int64_t tiles = all / cells;
  if (tiles + kOperandTiles <= kLiveTiles) return "";
  return std::to_string(tiles) + " tiles of sums and " + std::to_string(kOperandTiles) + " of operands are " +
         std::to_string(tiles + kOperandTiles) + " live tiles, the unit has " + std::to_string(kLiveTiles);
}

bool has_reduced_vector(const Body& body) {
  return std::any_of(body.loops.begin(), body.loops.end(),
                     [](const SizedLoop& loop) { return loop.lane && loop.mark == MarkKind::vector; });
}

std::vector<BufferId> buffers_of(const std::vector<View>& views) {
  std::vector<BufferId> out;
  for (const View& view : views) out.push_back(view.buffer);
  return out;
}

}  // namespace

NodeId Reductions::data_nest(const Body& body, size_t depth, Leaf leaf) {
  Body data = without_sum(body, depth, leaf);
  data.inset_tried = false;
  return inner_.emit(std::move(data), 0);
}

NodeId Reductions::parts(NestPlace at) {
  Body& body = at.body;
  const SizedLoop& loop = body.loops[at.depth];
  const Window window = slot_window(body);
  const int64_t extent = body.ranges[loop.index].extent, step = std::min(loop.step, std::max<int64_t>(1, extent));
  const int64_t parts = (extent + step - 1) / step;
  std::vector<View> views;
  for (TensorId tensor : body.equation->targets) {
    const BufferId buffer = storage_.make_window(window, tensor, Scope::heap, ".f");
    Buffer& made = nest_.buffer(buffer);
    made.layout = {};
    made.layout.pieces.push_back({static_cast<uint8_t>(made.extents.size()), parts});
    for (size_t d = 0; d < made.extents.size(); ++d)
      made.layout.pieces.push_back({static_cast<uint8_t>(d), made.extents[d]});
    made.extents.push_back(parts);
    views.push_back({buffer, window.origin, std::nullopt});
  }
  body.partials = views;
  Body merge = body;
  merge.merge_parts = true;
  const size_t depth = at.depth;
  const NodeId rest = inner_.emit_rest(std::move(at));
  const NodeId finish = data_nest(merge, depth, Leaf::store);
  return nest_.within(buffers_of(views), nest_.seq({rest, finish}));
}

/// For one component of the state; `lanes`: extents of the dimensions for loops over a reduced index.
View Reductions::make_accumulator(const Body& body, size_t depth, TensorId tensor, const std::vector<int64_t>& lanes) {
  const auto& slots = body.equation->slots;
  const Window window = slot_window(body);
  const BufferId buffer = storage_.make_window(window, tensor, body.stage->accumulator->scope, ".a");
  Buffer& made = nest_.buffer(buffer);
  std::vector<int64_t> stride;
  for (const Slot& slot : slots) stride.push_back(slot_walk(slot).stride);
  for (size_t d = 0; d < stride.size(); ++d)
    made.element[d] = window.origin[d] + Affine::variable(kCellVar + static_cast<VarId>(d), stride[d]);
  for (size_t k = depth; k < body.loops.size(); ++k)
    if (const SizedLoop& loop = body.loops[k]; loop.mark == MarkKind::vector && !loop.reduced)
      round_to_lanes(body, loop, made.extents);
  if (made.scope == Scope::tile)
    if (const std::string why = round_to_tiles(body, depth, made.extents); !why.empty())
      nest_.error("PW0311", "accumulate " + body.stage->name + " in tiles: " + why);
  made.extents.insert(made.extents.end(), lanes.begin(), lanes.end());
  made.layout = lanes.empty() ? lanes_innermost(body, depth, made.extents) : row_major(made.extents);
  columns_in_blocks(body, depth, made);
  return View{buffer, window.origin, std::nullopt, stride};
}

/// Extents of the accumulator's dimensions for register loops over a reduced index; nothing after an error.
std::optional<std::vector<int64_t>> Reductions::lanes_of(const Body& body, size_t depth) {
  const Stage& stage = *body.stage;
  const bool in_registers = stage.accumulator->scope == Scope::reg;
  std::vector<int64_t> out;
  for (size_t k = depth; k < body.loops.size(); ++k) {
    const SizedLoop& loop = body.loops[k];
    if (!loop.is_register() && !loop.reduced && in_registers && loop.step < body.ranges[loop.index].extent) {
      nest_.error("PW0311", "accumulate " + stage.name + " in registers: loop " + loop.name +
                                " inside is neither unrolled nor vectorized");
      return std::nullopt;
    }
    if (!loop.lane) continue;
    int64_t above = body.ranges[loop.index].extent;
    for (size_t j = depth; j < k; ++j)
      if (body.loops[j].index == loop.index) above = std::min(above, body.loops[j].step);
    out.push_back(loop.mark == MarkKind::vector ? loop.lanes : (above + loop.step - 1) / loop.step);
  }
  return out;
}

std::optional<NodeId> Reductions::tile_classes(const NestPlace& at) {
  if (at.body.classed || at.body.stage->accumulator->scope != Scope::reg) return std::nullopt;
  TileClasses found = tile_classes_of(at.body, nest_.variables());
  if (found.tests.empty()) return std::nullopt;
  const auto accumulated_in = [&](Body& tile) { return accumulated({std::move(tile), at.depth, at.which}); };
  NodeId rest = kNoNode;
  if (found.classes.empty()) rest = accumulated_in(found.crossed);
  for (size_t k = found.classes.size(); k-- > 0;) {
    const NodeId tile = accumulated_in(found.classes[k]);
    rest = nest_.add(If{found.at[k], tile, rest});
  }
  const NodeId whole = accumulated_in(found.inside);
  return nest_.add(If{guard_all(std::move(found.tests)), whole, rest});
}

NodeId Reductions::accumulated(NestPlace at) {
  if (auto classes = tile_classes(at)) return *classes;
  return accumulated_whole(std::move(at));
}

/// What an accumulator without lanes begins with.
NodeId Reductions::first_values(const Body& body, size_t depth, const Guard& first) {
  if (is_never(first)) return data_nest(body, depth, Leaf::load);
  const NodeId init = data_nest(body, depth, Leaf::init);
  if (first.is_true()) return init;
  const NodeId load = data_nest(body, depth, Leaf::load);
  return nest_.add(If{first, init, load});
}

NodeId Reductions::accumulated_whole(NestPlace at) {
  Body& body = at.body;
  const Stage& stage = *body.stage;
  const auto lanes = lanes_of(body, at.depth);
  if (!lanes) return kNoNode;
  const bool has_lanes = !lanes->empty();
  const Guard first = first_reduced(body);
  body.adds_to_result = has_lanes && stage.part == SumPart::folds;
  if (has_lanes && !first.is_true() && !body.adds_to_result)
    return nest_.error(
        "PW0313", "vectorize " + stage.name + ": lanes of a reduction need all of its loops inside the accumulator");
  std::vector<View> views;
  for (TensorId tensor : body.equation->targets) views.push_back(make_accumulator(body, at.depth, tensor, *lanes));
  body.accumulators = views;
  const NodeId start = has_lanes ? lane_nest(body, at.depth) : first_values(body, at.depth, first);
  const NodeId finish = has_lanes ? finish_lanes(body, at.depth) : data_nest(body, at.depth, Leaf::store);
  body.initialized = true;
  const NodeId rest = is_null_reduction(body) ? kNoNode : inner_.emit_rest(std::move(at));
  return nest_.within(buffers_of(views), nest_.seq({start, rest, finish}));
}

NodeId Reductions::initialized(NestPlace at) {
  const Guard first = first_reduced(at.body);
  NodeId init = is_never(first) ? kNoNode : data_nest(at.body, at.depth, Leaf::init);
  if (init != kNoNode && !first.is_true()) init = nest_.add(If{first, init, kNoNode});
  at.body.initialized = true;
  if (is_null_reduction(at.body)) return init;
  const NodeId rest = inner_.emit_rest(std::move(at));
  return nest_.seq({init, rest});
}

/// Sets every lane of an accumulator to the reducer's identity.
NodeId Reductions::lane_nest(const Body& body, size_t depth) {
  Body data = without_sum(body, depth, Leaf::init);
  const Buffer& buffer = nest_.buffer(body.accumulators[0].buffer);
  data.lane_loops = buffer.extents.size() - body.equation->slots.size();
  data.last_lane_is_vector = has_reduced_vector(body);
  return inner_.emit(std::move(data), 0);
}

/// Merges the lanes pairwise (a tree), then stores the result. Unrolled elements go level by level: each level waits
/// for the one before, but not for the other elements.
NodeId Reductions::finish_lanes(const Body& body, size_t depth) {
  Body data = without_sum(body, depth, Leaf::store);
  data.merge_lanes = true;
  const bool is_unrolled =
      !data.loops.empty() && std::all_of(data.loops.begin(), data.loops.end(),
                                         [](const SizedLoop& loop) { return loop.mark == MarkKind::unroll; });
  if (!is_unrolled || body.stage->accumulator->scope != Scope::reg) return inner_.emit(std::move(data), 0);
  const auto rank = static_cast<std::ptrdiff_t>(body.equation->slots.size());
  for (const View& accumulator : body.accumulators) {
    const Buffer& own = nest_.buffer(accumulator.buffer);
    const std::vector<int64_t> shape(own.extents.begin(), own.extents.begin() + rank);
    const std::vector<Affine> element = own.element;
    const BufferId rows = storage_.make_rows(own.tensor, element, shape, own.extents.back());
    data.rows.push_back(View{rows, accumulator.origin, std::nullopt, accumulator.stride});
  }
  std::vector<NodeId> nests;
  for (const MergeLevel& level : merge_levels(body, nest_)) {
    data.merge_level = level;
    nests.push_back(inner_.emit(data, 0));
  }
  return nest_.within(buffers_of(data.rows), nest_.seq(std::move(nests)));
}

}  // namespace polyweft::ir
