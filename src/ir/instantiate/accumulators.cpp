// Sums between two loops of a stage: private accumulators, their lanes and how these become one, first values.
//
//   accumulate C   alloc C.a { if first: init else load  rest  store }
//   reduction      init over the ranges here, then the rest
#include <algorithm>
#include <numeric>

#include "ir/instantiate/internal.h"
#include "ir/instruction.h"

namespace polyweft::ir {
namespace {

/// Is one of the tests false whatever the variables are?
bool is_never(const Guard& g) {
  if (g.kind == Guard::Kind::any && g.of.empty()) return true;
  return std::any_of(g.of.begin(), g.of.end(), [](const Guard& part) { return part.e.is_constant() && part.e.constant < 0; });
}

/// How a slot's element moves: stride * var + first. A position without a variable stays.
struct SlotWalk {
  VarId var = kNoVar;
  int64_t stride = 1, first = 0;
};
SlotWalk slot_walk(const Slot& slot) {
  if (slot.var != kNoVar) return {slot.var, 1, 0};
  if (slot.position.terms.size() != 1 || slot.position.terms[0].quasi || slot.position.terms[0].coeff < 1) return {};
  return {slot.position.terms[0].var, slot.position.terms[0].coeff, slot.position.constant};
}

}  // namespace

/// Of the tensor that the stage defines: what the ranges reached here cover.
Window Emitter::slot_window(const Body& body) const {
  Window window;
  for (const Slot& slot : equation_of(*body.stage).slots) {
    const SlotWalk walk = slot_walk(slot);
    if (walk.var != kNoVar) {
      const Range& range = body.ranges[index_of(walk.var)];
      window.origin.push_back(walk.stride * range.origin + Affine::of(walk.first));
      window.extent.push_back(range.extent);
      continue;
    }
    // A position that falls, or moves with several indices (-i, d - j): its least value, and how far it reaches.
    Affine least = Affine::of(slot.position.constant);
    int64_t spread = 0;
    for (const Term& term : slot.position.terms) {
      const uint32_t index = index_of(term.var);
      const int64_t last = whole_lanes(body, index) - 1;
      least = least + term.coeff * body.ranges[index].origin + Affine::of(std::min<int64_t>(0, term.coeff) * last);
      spread += std::abs(term.coeff) * last;
    }
    window.origin.push_back(least);
    window.extent.push_back(spread + 1);
  }
  return window;
}

/// True while every reduced loop outside the accumulator is in its first iteration.
Guard Emitter::first_reduced(const Body& body) const {
  if (body.stage->part == SumPart::folds) return guard_ge0(Affine::of(-1));
  std::vector<Guard> tests;
  for (uint32_t k = body.stage->data_indices; k < body.ranges.size(); ++k) {
    if (!body.partials.empty() && body.stage->parted == k) continue;  // each part begins anew
    Affine before = body.ranges[k].origin - Affine::of(body.stage->lo[k]);
    if (!before.is_constant() || before.constant > 0) tests.push_back(guard_ge0(Affine::of(0) - before));
  }
  return guard_all(std::move(tests));
}

/// Values of an index, in whole vectors where it has lanes.
int64_t Emitter::whole_lanes(const Body& body, uint32_t index) {
  int64_t out = std::max<int64_t>(1, body.ranges[index].extent);
  for (const SizedLoop& loop : body.loops)
    if (loop.index == index && loop.mark == MarkKind::vector) out = (out + loop.lanes - 1) / loop.lanes * loop.lanes;
  return out;
}

/// Row-major, but for the dimension of the vector loop, or of a tile's columns: neighbouring lanes are neighbouring cells whatever the order of the slots.
Layout Emitter::lanes_innermost(const Body& body, size_t depth, const std::vector<int64_t>& extents) const {
  Layout layout = row_major(extents);
  const auto& slots = equation_of(*body.stage).slots;
  size_t columns = body.loops.size();
  for (size_t k = depth; k < body.loops.size(); ++k)
    if (body.loops[k].mark == MarkKind::tensor && !body.loops[k].reduced) columns = k;
  for (size_t k = depth; k < body.loops.size(); ++k)
    for (size_t d = 0; d < slots.size(); ++d)
      if ((body.loops[k].mark == MarkKind::vector || k == columns) && slot_walk(slots[d]).var == index_var(body.loops[k].index)) {
        auto piece = std::find_if(layout.pieces.begin(), layout.pieces.end(), [&](const Piece& p) { return p.dim == d; });
        if (piece != layout.pieces.end()) std::rotate(piece, piece + 1, layout.pieces.end());
      }
  return layout;
}

/// Extents of whole tiles; a reason where they are no tiles, or too many.
std::string Emitter::round_to_tiles(const Body& body, size_t depth, Buffer& made) const {
  const auto& slots = equation_of(*body.stage).slots;
  int64_t cells = 1;
  for (size_t k = depth; k < body.loops.size(); ++k) {
    const SizedLoop& loop = body.loops[k];
    if (loop.reduced) continue;
    if (!loop.is_register() && loop.step < body.ranges[loop.index].extent) return "loop " + loop.name + " inside is neither unrolled nor part of the instruction";
    if (loop.mark != MarkKind::tensor) continue;
    cells *= loop.lanes;
    for (size_t d = 0; d < slots.size(); ++d)
      if (slot_walk(slots[d]).var == index_var(loop.index)) made.extents[d] = (made.extents[d] + loop.lanes - 1) / loop.lanes * loop.lanes;
  }
  if (cells == 1) return "no instruction with tiles adds to it";
  const int64_t tiles = std::accumulate(made.extents.begin(), made.extents.end(), int64_t{1}, std::multiplies<>()) / cells;
  if (tiles + kOperandTiles <= kLiveTiles) return "";
  return std::to_string(tiles) + " tiles of sums and " + std::to_string(kOperandTiles) + " of operands are " + std::to_string(tiles + kOperandTiles) +
         " live tiles, the unit has " + std::to_string(kLiveTiles);
}

/// For one component of the state; `lanes`: extents of the dimensions for loops over a reduced index.
View Emitter::make_accumulator(const Body& body, size_t depth, TensorId tensor, const std::vector<int64_t>& lanes) {
  const Equation& equation = equation_of(*body.stage);
  const Window window = slot_window(body);
  BufferId buffer = make_window(window, tensor, body.stage->accumulator->scope, ".a");
  Buffer& made = nest_.buffers[buffer];
  std::vector<int64_t> stride;
  for (const Slot& slot : equation.slots) stride.push_back(slot_walk(slot).stride);
  for (size_t d = 0; d < stride.size(); ++d) made.element[d] = window.origin[d] + Affine::variable(kCellVar + static_cast<VarId>(d), stride[d]);
  for (size_t k = depth; k < body.loops.size(); ++k)
    if (const SizedLoop& loop = body.loops[k]; loop.mark == MarkKind::vector && !loop.reduced)
      for (size_t d = 0; d < equation.slots.size(); ++d)
        if (slot_walk(equation.slots[d]).var == index_var(loop.index)) made.extents[d] = (made.extents[d] + loop.lanes - 1) / loop.lanes * loop.lanes;
  if (made.scope == Scope::tile)
    if (const std::string why = round_to_tiles(body, depth, made); !why.empty()) error("PW0311", "accumulate " + body.stage->name + " in tiles: " + why);
  made.extents.insert(made.extents.end(), lanes.begin(), lanes.end());
  made.layout = lanes.empty() ? lanes_innermost(body, depth, made.extents) : row_major(made.extents);
  return View{buffer, window.origin, std::nullopt, stride};
}

namespace {

constexpr int64_t kMostClasses = 16;  ///< of tiles that a condition crosses: each is a copy of the block

}  // namespace

/// The tiles that a condition crosses, one copy for each value of its least corner: where an index is counted from the others, its conditions are constants.
std::vector<Body> Emitter::tile_classes(const Body& body, size_t condition, const Affine& least, std::vector<Guard>& tests) const {
  const Affine& e = body.conditions()[condition];
  const Affine spread = corner(body, e, std::nullopt, true) - least;
  int64_t unit = 0;
  for (const Term& term : least.terms)
    unit = std::gcd(unit, term.quasi ? 1 : term.coeff * (term.var < nest_.params.size() ? 1 : facts_[term.var - nest_.params.size()].step));
  const auto moved =
      std::find_if(e.terms.begin(), e.terms.end(), [&](const Term& term) { return std::abs(term.coeff) == 1 && !body.ranges[index_of(term.var)].is_cut(); });
  if (!spread.is_constant() || unit == 0 || moved == e.terms.end()) return {};
  const int64_t first = numeric_bounds(least).first;
  std::vector<Body> out;
  for (int64_t value = -1; value >= std::max(-spread.constant, first); --value) {
    if ((value - least.constant) % unit != 0) continue;
    out.push_back(body);
    Range& range = out.back().ranges[index_of(moved->var)];
    range.origin = range.origin + moved->coeff * (Affine::of(value) - least);
    tests.push_back(guard_eq0(least - Affine::of(value)));
  }
  return out;
}

/// Conditions on data indices alone are the same in all iterations inside: tested once around the accumulator. Tiles that one of them crosses are classes of their own.
std::optional<NodeId> Emitter::hook_tile_classes(const Body& body, size_t depth, size_t which) {
  if (body.classed || body.stage->accumulator->scope != Scope::reg) return std::nullopt;
  Body inside = body, crossed = body;
  std::vector<Guard> tests;
  size_t last = 0;
  for (size_t k = 0; k < body.done.size(); ++k) {
    const Affine& condition = body.conditions()[k];
    if (body.done[k] || mentions_reduced(body, condition)) continue;
    const Affine least = corner(body, condition, std::nullopt, false);
    inside.done[k] = 1;
    if (numeric_bounds(least).first >= 0) {
      crossed.done[k] = 1;
      continue;
    }
    tests.push_back(guard_ge0(least));
    last = k;
  }
  if (tests.empty()) return std::nullopt;
  inside.classed = crossed.classed = true;
  crossed.crossed = true;
  std::vector<Guard> at;
  std::vector<Body> classes;
  if (tests.size() == 1) classes = tile_classes(crossed, last, corner(body, body.conditions()[last], std::nullopt, false), at);
  NodeId rest = kNoNode;
  if (classes.empty() || classes.size() > kMostClasses)
    rest = hook_accumulator(std::move(crossed), depth, which);
  else
    for (size_t k = classes.size(); k-- > 0;) rest = add(If{at[k], hook_accumulator(std::move(classes[k]), depth, which), rest});
  const NodeId whole = hook_accumulator(std::move(inside), depth, which);
  return add(If{guard_all(std::move(tests)), whole, rest});
}

NodeId Emitter::hook_accumulator(Body body, size_t depth, size_t which) {
  if (auto classes = hook_tile_classes(body, depth, which)) return *classes;
  const Stage& stage = *body.stage;
  std::vector<int64_t> lanes;
  for (size_t k = depth; k < body.loops.size(); ++k) {
    const SizedLoop& loop = body.loops[k];
    if (!loop.is_register() && !loop.reduced && stage.accumulator->scope == Scope::reg && loop.step < body.ranges[loop.index].extent)
      return error("PW0311", "accumulate " + stage.name + " in registers: loop " + loop.name + " inside is neither unrolled nor vectorized");
    if (!loop.lane) continue;
    int64_t above = body.ranges[loop.index].extent;
    for (size_t j = depth; j < k; ++j)
      if (body.loops[j].index == loop.index) above = std::min(above, body.loops[j].step);
    lanes.push_back(loop.mark == MarkKind::vector ? loop.lanes : (above + loop.step - 1) / loop.step);
  }
  const bool has_lanes = !lanes.empty();
  Guard first = first_reduced(body);
  body.adds_to_result = has_lanes && stage.part == SumPart::folds;
  if (has_lanes && !first.is_true() && !body.adds_to_result)
    return error("PW0313", "vectorize " + stage.name + ": lanes of a reduction need all of its loops inside the accumulator");
  std::vector<View> views;
  for (TensorId tensor : equation_of(stage).targets) views.push_back(make_accumulator(body, depth, tensor, lanes));
  body.accumulators = views;
  NodeId start = has_lanes ? lane_nest(body, depth) : is_never(first) ? kNoNode : data_nest(body, depth, Leaf::init);
  if (is_never(first) && !has_lanes)
    start = data_nest(body, depth, Leaf::load);
  else if (!first.is_true() && !has_lanes)
    start = add(If{first, start, data_nest(body, depth, Leaf::load)});
  NodeId finish = has_lanes ? finish_lanes(body, depth) : data_nest(body, depth, Leaf::store);
  body.initialized = true;
  NodeId rest = is_null_reduction(body) ? kNoNode : hooks(std::move(body), depth, which + 1);
  return within(views, seq({start, rest, finish}));
}

NodeId Emitter::hook_init(Body body, size_t depth, size_t which) {
  const Guard first = first_reduced(body);
  NodeId init = is_never(first) ? kNoNode : data_nest(body, depth, Leaf::init);
  if (init != kNoNode && !first.is_true()) init = add(If{first, init, kNoNode});
  body.initialized = true;
  if (is_null_reduction(body)) return init;
  return seq({init, hooks(std::move(body), depth, which + 1)});
}

Body Emitter::without_sum(const Body& body, size_t depth, Leaf leaf) const {
  Body data = body;
  data.leaf = leaf;
  data.loops.clear();
  for (size_t k = depth; k < body.loops.size(); ++k)
    if (!body.loops[k].reduced) data.loops.push_back(body.loops[k]);
  for (size_t k = 0; k < data.done.size(); ++k)
    if (mentions_reduced(body, body.conditions()[k])) data.done[k] = 1;
  return data;
}

NodeId Emitter::data_nest(const Body& body, size_t depth, Leaf leaf) {
  Body data = without_sum(body, depth, leaf);
  data.inset_tried = false;
  return emit(std::move(data), 0);
}

namespace {

bool has_reduced_vector(const Body& body) {
  return std::any_of(body.loops.begin(), body.loops.end(), [](const SizedLoop& loop) { return loop.lane && loop.mark == MarkKind::vector; });
}

}  // namespace

/// Sets every lane of an accumulator to the reducer's identity.
NodeId Emitter::lane_nest(const Body& body, size_t depth) {
  Body data = without_sum(body, depth, Leaf::init);
  const Buffer& buffer = nest_.buffers[body.accumulators[0].buffer];
  size_t rank = equation_of(*body.stage).slots.size();
  data.lane_loops = buffer.extents.size() - rank;
  data.last_lane_is_vector = has_reduced_vector(body);
  return emit(std::move(data), 0);
}

/// Merges the lanes pairwise (a tree), then stores the result. Unrolled elements go level by level: each level waits for the one before, but not for the other elements.
NodeId Emitter::finish_lanes(const Body& body, size_t depth) {
  Body data = without_sum(body, depth, Leaf::store);
  data.merge_lanes = true;
  const bool is_unrolled = !data.loops.empty() && std::all_of(data.loops.begin(), data.loops.end(), [](const SizedLoop& loop) { return loop.mark == MarkKind::unroll; });
  if (!is_unrolled || body.stage->accumulator->scope != Scope::reg) return emit(std::move(data), 0);
  const size_t rank = equation_of(*body.stage).slots.size();
  for (size_t k = 0; k < body.accumulators.size(); ++k) {
    const Buffer& own = nest_.buffers[body.accumulators[k].buffer];
    const std::vector<int64_t> shape(own.extents.begin(), own.extents.begin() + static_cast<std::ptrdiff_t>(rank));
    View rows = make_rows(own.tensor, body.accumulators[k].origin, std::vector<Affine>(own.element), shape, own.extents.back());
    rows.stride = body.accumulators[k].stride;
    data.rows.push_back(std::move(rows));
  }
  std::vector<NodeId> nests;
  for (const MergeLevel& level : merge_levels(body)) {
    data.merge_level = level;
    nests.push_back(emit(data, 0));
  }
  return within(data.rows, seq(std::move(nests)));
}

}  // namespace polyweft::ir
