// Loops: serial and parallel ones with exact bounds, in as many parts as have bounds of their own.
#include <algorithm>

#include "ir/instantiate/internal.h"

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
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());  // cuts at one place: a part without points has no loop
  const auto vector = std::find_if(body.loops.begin() + static_cast<std::ptrdiff_t>(depth), body.loops.end(),
                                   [&](const SizedLoop& inner) { return inner.index == loop.index && inner.mark == MarkKind::vector; });
  if (vector == body.loops.end() || range.is_cut()) return out;
  const auto past = residue(range.origin - Affine::of(loop.cuts.front()), vector->lanes);
  const int64_t first_extent = out.size() > 1 ? out[1] : range.extent;
  const int64_t head = past ? vector->lanes - *past : 0;
  if (past && *past != 0 && first_extent >= 2 * loop.step && head < first_extent) out.insert(out.begin() + 1, head);
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

}  // namespace polyweft::ir
