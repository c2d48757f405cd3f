// Loops: serial and parallel ones with exact bounds, register loops of constant extent, and the branches that make them so.
#include <algorithm>

#include "ir/instantiate_internal.h"
#include "ir/instruction.h"

namespace polyweft::ir {

/// Everything from loop `depth` inwards.
NodeId Emitter::emit(Body body, size_t depth) {
  if (failed_) return kNoNode;
  settle_gone(body, depth);
  if (has_open_value(body)) return with_fixed_conditions(std::move(body), depth);
  if (depth == 0 && body.leaf == Leaf::compute && hosted_[body.id].empty() && is_null_reduction(body)) return data_nest(body, 0, Leaf::init);
  if (!body.branched)
    if (auto index = index_to_branch(body, depth)) return emit_branch(std::move(body), depth, *index);
  return hooks(std::move(body), depth, 0);
}

NodeId Emitter::after_hooks(Body body, size_t depth) {
  if (depth == body.loops.size()) return body.stage->is_frame ? kNoNode : leaf(body);
  if (!body.inset_tried && !body.crossed && all_register_from(body, depth)) {
    body.inset_tried = true;
    return emit_inset(std::move(body), depth);
  }
  return emit_loop(std::move(body), depth);
}

bool Emitter::all_register_from(const Body& body, size_t depth) const {
  return std::all_of(body.loops.begin() + static_cast<std::ptrdiff_t>(depth), body.loops.end(), [](const SizedLoop& loop) { return loop.gone || loop.is_register(); });
}

NodeId Emitter::emit_loop(Body body, size_t depth) {
  if (body.loops[depth].gone) return emit(std::move(body), depth + 1);
  if (body.loops[depth].part) return emit_part(std::move(body), depth);
  if (body.loops[depth].wave > 0) return emit_wave(std::move(body), depth);
  switch (body.loops[depth].mark) {
    case MarkKind::tensor:
    case MarkKind::unroll:
      return emit_unroll(std::move(body), depth);
    case MarkKind::vector:
      return emit_vector(std::move(body), depth);
    default:
      return emit_serial(std::move(body), depth);
  }
}

namespace {

/// Is this the last loop over its index that is not a register loop, with register loops to follow?
bool feeds_registers(const Body& body, size_t depth) {
  bool follows = false;
  for (size_t k = depth + 1; k < body.loops.size(); ++k) {
    if (body.loops[k].index != body.loops[depth].index) continue;
    if (!body.loops[k].is_register()) return false;
    follows = true;
  }
  return follows;
}

}  // namespace

/// Where the parts of a split range begin, counted from its origin: at the cuts, where the range begins at a constant. If its vectors would begin between those of the
/// first cut, what comes before is a part of its own: they lie where they lie in other ranges.
std::vector<int64_t> Emitter::begins_of_parts(const Body& body, size_t depth) const {
  const SizedLoop& loop = body.loops[depth];
  const Range& range = body.ranges[loop.index];
  std::vector<int64_t> out = {0};
  if (range.origin.is_constant())
    for (int64_t value : loop.cuts)
      if (value > range.origin.constant && value < range.origin.constant + range.extent) out.push_back(value - range.origin.constant);
  const auto vector = std::find_if(body.loops.begin() + static_cast<std::ptrdiff_t>(depth), body.loops.end(),
                                   [&](const SizedLoop& inner) { return inner.index == loop.index && inner.mark == MarkKind::vector; });
  if (vector == body.loops.end() || range.is_cut()) return out;
  const auto past = residue(range.origin - Affine::of(loop.cuts.front()), vector->lanes);
  const int64_t first_extent = out.size() > 1 ? out[1] : range.extent;
  if (past && *past != 0 && first_extent >= 2 * loop.step) out.insert(out.begin() + 1, vector->lanes - *past);
  return out;
}

/// One loop for each part of a split range.
NodeId Emitter::emit_parts(const Body& body, size_t depth) {
  const SizedLoop& loop = body.loops[depth];
  const Range& range = body.ranges[loop.index];
  const std::vector<int64_t> begins = begins_of_parts(body, depth);
  std::vector<NodeId> parts;
  for (size_t k = 0; k < begins.size(); ++k) {
    Body part = body;
    part.loops[depth].cuts.clear();
    part.branched = false;  // what is constant in this part may settle conditions of register loops
    const int64_t end = k + 1 < begins.size() ? begins[k + 1] : range.extent;
    part.ranges[loop.index] = advanced(range, Affine::of(begins[k]), end - begins[k]);
    parts.push_back(emit_serial(std::move(part), depth));
  }
  return seq(std::move(parts));
}

bool Emitter::is_in_band(const Body& body) const {
  const Placement& placement = body.stage->placement;
  return placement.kind == Placement::Kind::fused && t_.stages[placement.host].is_frame;
}

/// Whole blocks of S without a test, and the cut blocks at both ends: a row of a skewed tile begins and ends anywhere.
///   x = floor(lo): cut block, where lo is no multiple of S   x in ceil(lo) .. hi - S + 1 step S: whole   x = floor(hi): cut block
/// hi is the least of several limits u, lo the greatest of several: the cut block of the k-th is left to the j-th, j < k, where they share it.
NodeId Emitter::emit_sides(Body body, size_t depth) {
  const SizedLoop loop = body.loops[depth];
  drop_implied(body.ranges[loop.index]);
  const Range range = body.ranges[loop.index];
  const int64_t s = loop.step;
  std::vector<Affine> ends;
  for (const Limit& limit : range.upper) ends.push_back(limit.e);
  ends.push_back(Affine::of(range.extent));
  auto down = [&](const Affine& e) { return s * floor_div(e, s); };
  auto up = [&](const Affine& e) { return s * floor_div(e + Affine::of(s - 1), s); };
  auto blocks = [&](Bound lo, Bound hi, bool is_whole) {
    Loop out;
    out.var = variable(loop.name, s, (range.extent - 1) / s * s);
    out.step = s;
    out.lo = std::move(lo);
    out.hi = std::move(hi);
    Body inner = body;
    Range& r = inner.ranges[loop.index];
    const Affine x = Affine::variable(out.var);
    r = Range{range.origin + x, s, {}, {}};
    if (is_whole) {
      out.body = emit(std::move(inner), depth + 1);
      return add(std::move(out));
    }
    for (const Affine& e : ends) r.upper.push_back({e - x, false});
    for (const Affine& e : range.lower) r.lower.push_back(e - x);
    prune(r);
    out.body = emit_serialized(std::move(inner), depth + 1, loop.index);
    return add(std::move(out));
  };
  Bound first{{Affine::of(0)}}, begin{{Affine::of(0)}};
  std::vector<NodeId> parts;
  for (const Affine& e : range.lower) begin.of.push_back(down(e));
  auto fills_blocks = [&](const Affine& e) { return residue(e, s) == 0; };  // no block is cut there
  for (const Affine& e : range.lower) {
    Bound hi{ends};
    hi.of.push_back(up(e));
    if (!fills_blocks(e)) parts.push_back(blocks(begin, std::move(hi), false));
    first.of.push_back(up(e));
    begin.of.push_back(up(e));
  }
  Bound whole;
  for (const Affine& e : ends) whole.of.push_back(e - Affine::of(s - 1));
  parts.push_back(blocks(first, std::move(whole), true));
  for (size_t k = 0; k < ends.size(); ++k) {
    if (fills_blocks(ends[k])) continue;
    Bound lo = first, hi{ends};
    lo.of.push_back(down(ends[k]));
    for (size_t j = 0; j < k; ++j) hi.of.push_back(down(ends[j]));
    parts.push_back(blocks(std::move(lo), std::move(hi), false));
  }
  return seq(std::move(parts));
}

/// for x in max(0, lower)..min(extent, upper) step S. A loop that certainly runs once is left out. Where the last tile of a register
/// index is smaller, at a place known now, it becomes a nest of its own after the loop.
NodeId Emitter::emit_serial(Body body, size_t depth) {
  const SizedLoop loop = body.loops[depth];
  if (!loop.cuts.empty()) return emit_parts(body, depth);
  bool last_of_index = true;
  for (size_t k = depth + 1; k < body.loops.size(); ++k) last_of_index &= body.loops[k].index != loop.index;
  if (last_of_index && loop.step == 1) body.ranges[loop.index] = cut(body, loop.index, Cut::exact);
  if (is_in_band(body) && loop.step > 1 && loop.mark == MarkKind::serial && feeds_registers(body, depth)) {
    body.ranges[loop.index] = cut(body, loop.index, Cut::exact);
    const Range& exact = body.ranges[loop.index];
    constexpr size_t kMostLower = 3;  // a copy of the block each
    if (exact.is_cut() && exact.lower.size() <= kMostLower && loop.step < exact.extent) return emit_sides(std::move(body), depth);
  }
  const Range range = body.ranges[loop.index];
  if (!range.is_cut() && loop.step >= range.extent) return emit(std::move(body), depth + 1);
  const Range bounds = cut(body, loop.index, Cut::outset);
  const int64_t step = std::min(loop.step, range.extent), whole = range.extent / step * step, tail = range.extent - whole;
  const bool is_block = depth == 0 && overlap_of(body.id) != nullptr;  // of time: a constant number of steps in each
  const bool split = tail > 0 && whole > 0 && !bounds.is_cut() && loop.mark == MarkKind::serial && (is_block || feeds_registers(body, depth));
  if (auto divided = emit_divided(body, depth, bounds)) return *divided;
  NodeId node = serial_loop(body, depth, bounds, split ? whole : range.extent);
  if (!split) return node;
  body.ranges[loop.index] = Range{range.origin + Affine::of(whole), tail, {}, {}};
  return seq({node, emit(std::move(body), depth + 1)});
}

/// for x in max(0, bounds)..min(end, bounds). At less than the whole range only what fills its steps is left.
NodeId Emitter::serial_loop(Body body, size_t depth, const Range& bounds, int64_t end) {
  const SizedLoop loop = body.loops[depth];
  const Range range = body.ranges[loop.index];
  const int64_t step = std::min(loop.step, range.extent);
  VarId var = variable(loop.name, step, (end - 1) / step * step);
  Loop out;
  out.var = var;
  out.step = step;
  out.mark.kind = loop.mark;
  if (loop.mark == MarkKind::axis) out.mark.detail = loop.detail;
  out.mark.non_temporal = loop.non_temporal && body.leaf == Leaf::compute;
  // A constant limit has moved the origin that the others are counted from.
  const Affine moved = bounds.origin - range.origin;
  out.lo.of = {Affine::of(moved.constant / step * step)};
  out.hi.of = {Affine::of(std::min(end, moved.constant + bounds.extent))};
  for (const Affine& e : bounds.lower) out.lo.of.push_back(step == 1 ? e + moved : step * floor_div(e + moved, step));
  for (const Limit& limit : bounds.upper) out.hi.of.push_back(limit.e + moved);
  body.ranges[loop.index] = advanced(range, Affine::variable(var), step);
  if (end < range.extent) body.ranges[loop.index].upper.clear();
  if (step == 1)
    body.ranges[loop.index] = Range{range.origin + Affine::variable(var), 1, {}, {}};
  else
    for (Limit& limit : body.ranges[loop.index].upper) limit.positive = true;
  out.body = emit(std::move(body), depth + 1);
  return add(std::move(out));
}

/// What only some rows of a block need of a reduced index, where these are so few values that they are written out: at `limit` the last row begins (the first one ends).
std::optional<Range> Emitter::edge_steps(const Body& body, const SizedLoop& loop, const Range& bounds, const Affine& limit, bool begins) const {
  constexpr int64_t kMostSteps = 16;
  const std::vector<Affine>& lower = bounds.lower;
  if (begins ? lower.size() != 1 || !bounds.upper.empty() : !lower.empty() || bounds.upper.size() != 1) return std::nullopt;
  const Affine start = begins ? lower[0] : limit, end = begins ? limit : bounds.upper[0].e, width = end - start;
  if (!width.is_constant() || width.constant < 1 || width.constant > kMostSteps || body.ranges[loop.index].is_cut()) return std::nullopt;
  if (numeric_bounds(start).first < 0 || numeric_bounds(end).second > bounds.extent) return std::nullopt;
  return Range{bounds.origin + start, width.constant, {}, {}};
}

/// A reduced loop around a block of registers, of whose rows some begin later or end sooner: one loop over what only some rows need, one over what all need,
/// instead of a test in each iteration.
std::optional<NodeId> Emitter::emit_divided(const Body& body, size_t depth, const Range& bounds) {
  const SizedLoop& loop = body.loops[depth];
  if (!loop.reduced || loop.step != 1 || loop.mark != MarkKind::serial || body.leaf != Leaf::compute || body.inset_tried || !all_register_from(body, depth + 1))
    return std::nullopt;
  const Range& range = body.ranges[loop.index];
  Body whole = body, some = body;
  Range of_whole = bounds, of_some = bounds;
  int begins = 0, ends = 0;
  for (size_t k = 0; k < body.done.size(); ++k) {
    const Affine& condition = body.conditions()[k];
    const int64_t coeff = condition.coefficient(index_var(loop.index));
    if (!is_applicable(body, k) || (coeff != 1 && coeff != -1) || others_fixed(body, condition, index_var(loop.index))) continue;
    const Affine least = corner(body, condition, index_var(loop.index), false) + coeff * bounds.origin;  // coeff * x + least >= 0 for all rows
    whole.done[k] = 1;
    coeff > 0 ? ++begins : ++ends;
    if (coeff > 0) of_whole.lower.push_back(Affine::of(0) - least), of_some.upper.push_back({Affine::of(0) - least, false});
    if (coeff < 0) of_whole.upper.push_back({least + Affine::of(1), false}), of_some.lower.push_back(least + Affine::of(1));
  }
  if (begins + ends != 1) return std::nullopt;
  some.inset_tried = true;
  const auto steps = edge_steps(body, loop, bounds, begins ? of_some.upper.back().e : of_some.lower.back(), begins > 0);
  if (steps) some.ranges[loop.index] = *steps, some.loops[depth].mark = MarkKind::unroll;
  const NodeId part = steps ? emit_unroll(std::move(some), depth) : serial_loop(std::move(some), depth, of_some, range.extent);
  const NodeId rest = serial_loop(std::move(whole), depth, of_whole, range.extent);
  return begins ? seq({part, rest}) : seq({rest, part});
}

/// for p in 0..parts: the part's number is a dimension of the buffer for partial results.
NodeId Emitter::emit_part(Body body, size_t depth) {
  const SizedLoop loop = body.loops[depth];
  const Range range = body.ranges[loop.index];
  const int64_t step = std::min(loop.step, std::max<int64_t>(1, range.extent)), parts = (range.extent + step - 1) / step;
  VarId var = variable(loop.name, 1, parts - 1);
  Loop out;
  out.var = var;
  out.lo.of = {Affine::of(0)};
  out.hi.of = {Affine::of(parts)};
  out.mark.kind = loop.mark;
  body.part = Affine::variable(var);
  body.ranges[loop.index] = advanced(range, step * Affine::variable(var), step);
  if (!range.is_cut())
    for (Limit& limit : body.ranges[loop.index].upper) limit.positive = true;
  out.body = emit(std::move(body), depth + 1);
  return add(std::move(out));
}

namespace {

/// Loops around one compute: no condition lies between.
bool is_plain_chain(const LoopNest& nest, NodeId id) {
  while (const auto* loop = std::get_if<Loop>(&nest.nodes[id])) id = loop->body;
  return std::holds_alternative<Compute>(nest.nodes[id]);
}

}  // namespace

namespace {

bool is_tile_loop(const SizedLoop& loop) {
  if (loop.mark != MarkKind::tensor) return false;
  const auto instruction = instruction_named(loop.detail);
  return instruction.ok() && (*instruction)->is_tile();
}

}  // namespace

/// An unrolled loop over tiles that ends in a smaller one.
std::optional<uint32_t> Emitter::uneven_tiles(const Body& body, size_t depth) {
  const SizedLoop& loop = body.loops[depth];
  const Range& range = body.ranges[loop.index];
  if (loop.mark != MarkKind::unroll || range.is_cut() || loop.step >= range.extent || range.extent % loop.step == 0) return std::nullopt;
  const bool feeds_tile = std::any_of(body.loops.begin() + static_cast<std::ptrdiff_t>(depth), body.loops.end(),
                                      [&](const SizedLoop& inner) { return inner.index == loop.index && is_tile_loop(inner); });
  return feeds_tile ? std::optional(loop.index) : std::nullopt;
}

/// A reduced loop of a tile whose rest is no multiple of its groups: 11 values in groups of 4.
const SizedLoop* Emitter::uneven_group(const Body& body, size_t depth) {
  for (size_t k = depth; k < body.loops.size() && body.leaf == Leaf::compute; ++k) {
    const SizedLoop& loop = body.loops[k];
    const Range& range = body.ranges[loop.index];
    if (is_tile_loop(loop) && loop.reduced && !range.is_cut() && loop.step < range.extent && range.extent % loop.step != 0) return &loop;
  }
  return nullptr;
}

/// Whole steps, then what is left: two boxes.
NodeId Emitter::emit_groups(Body body, size_t depth, uint32_t index, int64_t step) {
  Range& range = body.ranges[index];
  const int64_t whole = range.extent / step * step;
  Body rest = body;
  rest.ranges[index] = advanced(range, Affine::of(whole), range.extent - whole);
  range.extent = whole;
  return seq({emit_unroll(std::move(body), depth), emit_unroll(std::move(rest), depth)});
}

/// unroll u in 0..n: the extent is a constant here. A tensor loop is one whose extent is the instruction's; a shorter rest is unrolled.
NodeId Emitter::emit_unroll(Body body, size_t depth) {
  const SizedLoop loop = body.loops[depth];
  Range range = body.ranges[loop.index];
  if (auto index = uneven_tiles(body, depth)) return emit_groups(std::move(body), depth, *index, loop.step);
  const bool is_tile = is_tile_loop(loop);
  if (is_tile && body.leaf != Leaf::compute && depth + 1 == body.loops.size()) {  // what only moves sums does so by vectors
    body.loops[depth].mark = MarkKind::vector;
    return emit_vector(std::move(body), depth);
  }
  if (is_tile && range.is_cut()) {  // a tile whose size is not known now: plain loops
    body.loops[depth].mark = MarkKind::serial;
    return emit_serial(std::move(body), depth);
  }
  const bool is_outermost = depth == 0 || body.loops[depth - 1].mark != MarkKind::tensor;
  if (is_tile && is_outermost)
    if (auto group = uneven_group(body, depth)) return emit_groups(std::move(body), depth, group->index, group->step);
  if ((!range.lower.empty() && !body.masked.count(loop.index)) || (loop.step == 1 && range.is_cut()) || range.extent > 1024)
    return error("PW0311", "unroll " + loop.name + ": the number of iterations is not a small constant", {"tile the index first, or leave the loop serial"});
  int64_t step = std::min(loop.step, range.extent);
  int64_t trips = (range.extent + step - 1) / step;
  bool lane_loop = loop.lane && !body.accumulators.empty() && body.leaf == Leaf::compute;
  const bool keeps_axis = is_tile && body.leaf == Leaf::compute;
  if (trips == 1 && !keeps_axis) {
    if (lane_loop) body.lanes.push_back(Affine::of(0));
    return with_fixed_conditions(std::move(body), depth + 1);
  }
  VarId var = variable(loop.name, 1, trips - 1, true);
  if (lane_loop) body.lanes.push_back(Affine::variable(var));
  Affine by = step * Affine::variable(var);
  body.ranges[loop.index] = advanced(range, by, step);
  Loop out;
  out.var = var;
  out.lo.of = {Affine::of(0)};
  out.hi.of = {Affine::of(trips)};
  const bool may_be_instruction = loop.mark == MarkKind::tensor && is_outermost && body.leaf == Leaf::compute;
  out.mark.kind = is_tile ? MarkKind::serial : MarkKind::unroll;  // a tile that is no instruction is too large to be written out
  Mark ahead;
  if (may_be_instruction) mark_prefetches(body, ahead);
  out.body = with_fixed_conditions(std::move(body), depth + 1);
  if (may_be_instruction && !failed_ && is_plain_chain(nest_, out.body)) {
    Loop instruction = out;
    instruction.mark = Mark{MarkKind::tensor, 0, loop.detail, false};
    if (is_tile) instruction.mark.prefetch = std::move(ahead.prefetch);
    if (match_tensor_loop(nest_, instruction)) out = std::move(instruction);
  }
  return add(std::move(out));
}

/// vector v in 0..min(lanes, limits): a lane is active iff inside.
NodeId Emitter::emit_vector(Body body, size_t depth) {
  const SizedLoop loop = body.loops[depth];
  Range range = cut(body, loop.index, Cut::exact);
  if (range.extent > loop.lanes)
    return error("PW0311", "vectorize " + loop.name + ": more iterations than lanes",
                 {"the extent is " + std::to_string(range.extent) + ", lanes " + std::to_string(loop.lanes)});
  VarId var = variable(loop.name, 1, range.extent - 1, true);
  Loop out;
  out.var = var;
  out.lo.of = {Affine::of(0)};
  out.hi.of = {Affine::of(range.extent)};
  for (const Affine& e : range.lower) out.lo.of.push_back(e);
  for (const Limit& limit : range.upper) out.hi.of.push_back(limit.e);
  out.mark.kind = MarkKind::vector;
  out.mark.width = static_cast<int32_t>(loop.lanes);
  out.mark.non_temporal = loop.non_temporal;
  if (body.leaf == Leaf::compute) mark_prefetches(body, out.mark);
  if (loop.lane && !body.accumulators.empty() && body.leaf == Leaf::compute) body.lanes.push_back(Affine::variable(var));
  body.ranges[loop.index] = Range{range.origin + Affine::variable(var), 1, {}, {}};
  out.body = with_fixed_conditions(std::move(body), depth + 1);
  return add(std::move(out));
}

/// What the stage reads some iterations of an index later, of arguments and of copies in memory. 0 iterations later: nothing is asked for.
void Emitter::mark_prefetches(const Body& body, Mark& mark) {
  for (const Ahead& ahead : body.stage->ahead) {
    const View& view = view_of(ahead.tensor, body.id);
    const BufferId buffer = view.buffer;
    const Scope scope = nest_.buffers[buffer].scope;
    if (size_of(ahead.by) == 0 || (scope != Scope::argument && scope != Scope::heap)) continue;
    visit(equation_of(*body.stage).rhs, [&](const ExprNode& e) {
      if (e.op != Op::read || e.access.id != ahead.tensor) return;
      std::vector<int64_t> by;
      for (const Subscript& s : e.access.index) by.push_back(s.affine.coefficient(index_var(ahead.index)) * size_of(ahead.by));
      Prefetch prefetch{buffer, view.cell.empty() ? by : std::vector<int64_t>(view.cell.size(), 0)};
      for (size_t k = 0; k < view.cell.size(); ++k)
        for (uint32_t d = 0; d < by.size(); ++d) prefetch.by[k] += view.cell[k].coefficient(kCellVar + d) * by[d];
      if (std::count(mark.prefetch.begin(), mark.prefetch.end(), prefetch) == 0) mark.prefetch.push_back(std::move(prefetch));
    });
  }
}

/// Tests the conditions whose indices have all become points, outside the loops that do not matter for them.
NodeId Emitter::with_fixed_conditions(Body body, size_t depth) {
  settle_gone(body, depth);
  std::vector<Guard> tests = value_of_gone(body);
  for (size_t k = 0; k < body.done.size(); ++k) {
    const Affine& condition = body.conditions()[k];
    if (!is_applicable(body, k) || !others_fixed(body, condition, kNoVar)) continue;
    Affine value = corner(body, condition, std::nullopt, true);
    body.done[k] = 1;
    if (numeric_bounds(value).first < 0) tests.push_back(guard_ge0(value));
  }
  NodeId inner = emit(std::move(body), depth);
  if (tests.empty() || failed_) return inner;
  return add(If{guard_all(std::move(tests)), inner, kNoNode});
}

/// At the first place where only register loops over an index are left: the index, if its range may be cut.
std::optional<uint32_t> Emitter::index_to_branch(Body& body, size_t depth) const {
  std::set<uint32_t> registers;
  for (size_t k = depth; k < body.loops.size(); ++k)
    if (body.loops[k].is_register()) registers.insert(body.loops[k].index);
  for (size_t k = depth; k < body.loops.size(); ++k)
    if (!body.loops[k].gone && !body.loops[k].is_register() && registers.count(body.loops[k].index)) return std::nullopt;
  for (uint32_t index : registers) {
    if (body.masked.count(index)) continue;
    body.ranges[index] = cut(body, index, Cut::exact);
    if (body.ranges[index].is_cut()) return index;
  }
  if (!registers.empty()) body.branched = true;
  return std::nullopt;
}

/// A few vectors side by side, written out, in a band: where the row begins or ends between two of its steps all of them are masked, without a branch for each.
bool Emitter::is_row_of_vectors(const Body& body, size_t depth, uint32_t index) const {
  constexpr int64_t kMostVectors = 8;
  int64_t vectors = 0, lanes = 0;
  for (size_t k = depth; k < body.loops.size(); ++k) {
    const SizedLoop& loop = body.loops[k];
    if (loop.index != index) continue;
    if (loop.mark == MarkKind::vector) lanes = loop.lanes;
    if (loop.mark == MarkKind::unroll) vectors = vectors == 0 ? loop.step : -1;
  }
  return is_in_band(body) && body.leaf == Leaf::compute && body.accumulators.empty() && vectors == lanes && lanes > 1 &&
         body.ranges[index].extent <= kMostVectors * lanes;
}

/// If full then the block else the block of the one other size there is, or single rows and masked vectors.
NodeId Emitter::emit_branch(Body body, size_t depth, uint32_t index) {
  Range& range = body.ranges[index];
  std::vector<Guard> full;
  for (const Limit& limit : range.upper) full.push_back(guard_ge0(limit.e - Affine::of(range.extent)));
  for (const Affine& e : range.lower) full.push_back(guard_ge0(Affine::of(0) - e));
  Body inside = body;
  inside.ranges[index].upper.clear();
  inside.ranges[index].lower.clear();
  NodeId then = emit(std::move(inside), depth);
  NodeId otherwise = kNoNode;
  if (auto rest = constant_rest(range)) {
    Body partial = body;
    partial.ranges[index] = std::move(*rest);
    otherwise = emit(std::move(partial), depth);
  } else if (is_row_of_vectors(body, depth, index)) {
    body.masked.insert(index);
    for (Limit& limit : range.upper) limit.positive = false;  // the row may end before its last vectors
    otherwise = emit(std::move(body), depth);
  } else {
    otherwise = emit_serialized(std::move(body), depth, index);
  }
  return add(If{guard_all(std::move(full)), then, otherwise});
}

/// A serial loop over single rows, or over vectors whose last one is masked.
NodeId Emitter::emit_serialized(Body body, size_t depth, uint32_t index) {
  int64_t step = 1;
  for (size_t k = depth; k < body.loops.size(); ++k)
    if (body.loops[k].index == index && body.loops[k].mark == MarkKind::vector) step = body.loops[k].lanes;
  Range range = body.ranges[index];
  if (step > 1 && step >= range.extent) {  // one vector: its lanes stay where they are in memory, the first and last of them masked
    body.masked.insert(index);
    return emit(std::move(body), depth);
  }
  step = std::min(step, range.extent);
  while (depth + 1 < body.loops.size() && body.loops[depth].gone) ++depth;
  const bool steps_from_zero = std::all_of(range.lower.begin(), range.lower.end(), [&](const Affine& e) { return residue(e, step) == 0; });
  VarId var = variable(body.stage->loops.empty() ? "x" : body.loops[depth].name, steps_from_zero ? step : 1, range.extent - 1);
  Loop out;
  out.var = var;
  out.step = step;
  out.lo.of = {Affine::of(0)};
  out.hi.of = {Affine::of(range.extent)};
  for (const Affine& e : range.lower) out.lo.of.push_back(e);
  for (const Limit& limit : range.upper) out.hi.of.push_back(limit.e);
  Range& inner = body.ranges[index];
  inner.origin = range.origin + Affine::variable(var);
  inner.extent = step;
  inner.lower.clear();
  inner.upper.clear();
  if (step > 1) {
    inner.upper.push_back({Affine::of(range.extent) - Affine::variable(var), true});
    for (const Limit& limit : range.upper) inner.upper.push_back({limit.e - Affine::variable(var), true});
    prune(inner);
  }
  body.masked.insert(index);
  out.body = emit(std::move(body), depth);
  return add(std::move(out));
}

/// Conditions between register indices and serial ones inside the register block's tile: tested once for the whole block.
NodeId Emitter::emit_inset(Body body, size_t depth) {
  std::vector<Guard> tests;
  bool any_partial = false;
  Body inside = body;
  for (size_t k = 0; k < body.done.size(); ++k) {
    if (!is_applicable(body, k)) continue;
    const Affine& condition = body.conditions()[k];
    Affine least = corner(body, condition, std::nullopt, false);
    inside.done[k] = 1;
    if (numeric_bounds(least).first >= 0) {
      body.done[k] = 1;
      continue;
    }
    tests.push_back(guard_ge0(least));
    any_partial |= !others_fixed(body, condition, kNoVar);
  }
  if (tests.empty()) return emit_loop(std::move(inside), depth);
  NodeId then = emit_loop(std::move(inside), depth);
  NodeId otherwise = any_partial ? emit_loop(std::move(body), depth) : kNoNode;
  return add(If{guard_all(std::move(tests)), then, otherwise});
}

}  // namespace polyweft::ir
