#include "ir/instantiate/serial_loops.h"

#include <algorithm>
#include <utility>

#include "ir/instantiate/conditions.h"

namespace polyweft::ir {

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

bool is_last_of_index(const Body& body, size_t depth) {
  return std::none_of(body.from(depth + 1), body.loops.end(),
                      [&](const SizedLoop& inner) { return inner.index == body.loops[depth].index; });
}

/// Where the parts of a split range begin, counted from its origin: at the cuts, where the range begins at a constant.
/// If its vectors would begin between those of the first cut, what comes before is a part of its own: they lie where
/// they lie in other ranges.
std::vector<int64_t> begins_of_parts(const Body& body, size_t depth, const LoopVariables& variables) {
  const SizedLoop& loop = body.loops[depth];
  const Range& range = body.ranges[loop.index];
  std::vector<int64_t> out = {0};
  if (range.origin.is_constant())
    for (int64_t value : loop.cuts)
      if (value > range.origin.constant && value < range.origin.constant + range.extent)
        out.push_back(value - range.origin.constant);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());  // cuts at one place: a part without points has no loop
  const auto vector = std::find_if(body.from(depth), body.loops.end(), [&](const SizedLoop& inner) {
    return inner.index == loop.index && inner.mark == MarkKind::vector;
  });
  if (vector == body.loops.end() || range.is_cut()) return out;
  const auto past = variables.residue(range.origin - Affine::of(loop.cuts.front()), vector->lanes);
  const int64_t first_extent = out.size() > 1 ? out[1] : range.extent;
  const int64_t head = past ? vector->lanes - *past : 0;
  if (past && *past != 0 && first_extent >= 2 * loop.step && head < first_extent) out.insert(out.begin() + 1, head);
  return out;
}

Affine rounded_down(const Affine& e, int64_t step) {
  return step * floor_div(e, step);
}

Affine rounded_up(const Affine& e, int64_t step) {
  return step * floor_div(e + Affine::of(step - 1), step);
}

std::vector<Affine> ends_of(const Range& range) {
  std::vector<Affine> out;
  for (const Limit& limit : range.upper) out.push_back(limit.e);
  out.push_back(Affine::of(range.extent));
  return out;
}

/// `some`: what only some rows of a block need of a reduced index. The same values of it, where these are so few that
/// they are unrolled.
std::optional<Range> edge_steps(const Range& some, const LoopVariables& variables) {
  constexpr int64_t kMostSteps = 16;
  if (some.lower.size() != 1 || some.upper.size() != 1) return std::nullopt;
  const Affine &start = some.lower[0], &end = some.upper[0].e;
  const Affine width = end - start;
  if (!width.is_constant() || width.constant < 1 || width.constant > kMostSteps) return std::nullopt;
  if (variables.numeric_bounds(start).first < 0 || variables.numeric_bounds(end).second > some.extent)
    return std::nullopt;
  return Range{some.origin + start, width.constant, {}, {}};
}

/// For ir::pipelined().
void mark_copies_ahead(Loop& out, const SizedLoop& loop, const Body& body) {
  if (loop.slots < 2 || loop.mark != MarkKind::serial || body.leaf != Leaf::compute) return;
  out.mark.kind = MarkKind::pipeline;
  out.mark.width = static_cast<int32_t>(std::min<int64_t>(loop.slots, INT32_MAX));
}

}  // namespace

/// One loop for each part of a split range.
NodeId SerialLoops::emit_cuts(const Body& body, size_t depth) {
  const SizedLoop& loop = body.loops[depth];
  const Range& range = body.ranges[loop.index];
  const std::vector<int64_t> begins = begins_of_parts(body, depth, nest_.variables());
  std::vector<NodeId> parts;
  for (size_t k = 0; k < begins.size(); ++k) {
    Body part = body;
    part.loops[depth].cuts.clear();
    part.branched = false;  // what is constant in this part may settle conditions of register loops
    const int64_t end = k + 1 < begins.size() ? begins[k + 1] : range.extent;
    part.ranges[loop.index] = nest_.variables().advanced(range, Affine::of(begins[k]), end - begins[k]);
    parts.push_back(emit(std::move(part), depth));
  }
  return nest_.seq(std::move(parts));
}

/// A loop over blocks, and the range of a block.
Loop SerialLoops::block_loop(Body& inner, size_t depth, Bound lo, Bound hi) {
  const SizedLoop& loop = inner.loops[depth];
  Range& range = inner.ranges[loop.index];
  Loop out;
  out.var = nest_.variable(loop.name, loop.step, (range.extent - 1) / loop.step * loop.step);
  out.step = loop.step;
  mark_copies_ahead(out, loop, inner);
  out.lo = std::move(lo);
  out.hi = std::move(hi);
  range = Range{range.origin + Affine::variable(out.var), loop.step, {}, {}};
  return out;
}

NodeId SerialLoops::whole_blocks(Body body, size_t depth, Bound lo, Bound hi) {
  Loop out = block_loop(body, depth, std::move(lo), std::move(hi));
  out.body = inner_.emit(std::move(body), depth + 1);
  return nest_.add(std::move(out));
}

NodeId SerialLoops::cut_blocks(Body body, size_t depth, Bound lo, Bound hi) {
  const uint32_t index = body.loops[depth].index;
  const Range range = body.ranges[index];
  Loop out = block_loop(body, depth, std::move(lo), std::move(hi));
  const Affine x = Affine::variable(out.var);
  Range& block = body.ranges[index];
  for (const Affine& e : ends_of(range)) block.upper.push_back({e - x, false});
  for (const Affine& e : range.lower) block.lower.push_back(e - x);
  nest_.variables().prune(block);
  out.body = branches_.serialized(std::move(body), depth + 1, index);
  return nest_.add(std::move(out));
}

/// Whole blocks of S without a test, and the cut blocks at both ends: a row of a skewed tile begins and ends anywhere.
///   x = floor(lo): cut block, where lo is no multiple of S
///   x in ceil(lo) .. hi - S + 1 step S: whole
///   x = floor(hi): cut block
/// hi is the least of several limits u, lo the greatest of several: the cut block of the k-th is left to the j-th, j <
/// k, where they share it.
NodeId SerialLoops::emit_sides(Body body, size_t depth) {
  const int64_t s = body.loops[depth].step;
  Range& range = body.ranges[body.loops[depth].index];
  nest_.variables().drop_implied(range);
  const std::vector<Affine> ends = ends_of(range);
  const auto fills_blocks = [&](const Affine& e) { return nest_.variables().residue(e, s) == 0; };  // no block is cut
  Bound first{{Affine::of(0)}}, begin{{Affine::of(0)}};
  std::vector<NodeId> parts;
  for (const Affine& e : range.lower) begin.of.push_back(rounded_down(e, s));
  for (const Affine& e : range.lower) {
    Bound hi{ends};
    hi.of.push_back(rounded_up(e, s));
    if (!fills_blocks(e)) parts.push_back(cut_blocks(body, depth, begin, std::move(hi)));
    first.of.push_back(rounded_up(e, s));
    begin.of.push_back(rounded_up(e, s));
  }
  Bound whole;
  for (const Affine& e : ends) whole.of.push_back(e - Affine::of(s - 1));
  parts.push_back(whole_blocks(body, depth, first, std::move(whole)));
  for (size_t k = 0; k < ends.size(); ++k) {
    if (fills_blocks(ends[k])) continue;
    Bound lo = first, hi{ends};
    lo.of.push_back(rounded_down(ends[k], s));
    for (size_t j = 0; j < k; ++j) hi.of.push_back(rounded_down(ends[j], s));
    parts.push_back(cut_blocks(body, depth, std::move(lo), std::move(hi)));
  }
  return nest_.seq(std::move(parts));
}

NodeId SerialLoops::emit(Body body, size_t depth) {
  const LoopVariables& variables = nest_.variables();
  const SizedLoop loop = body.loops[depth];
  if (!loop.cuts.empty()) return emit_cuts(body, depth);
  Range& reached = body.ranges[loop.index];
  if (is_last_of_index(body, depth) && loop.step == 1) reached = cut(body, loop.index, Cut::exact, variables);
  const bool feeds = feeds_registers(body, depth);
  if (body.is_in_band && loop.step > 1 && loop.mark == MarkKind::serial && feeds) {
    reached = cut(body, loop.index, Cut::exact, variables);
    constexpr size_t kMostLower = 3;  // a copy of the block each
    if (reached.is_cut() && reached.lower.size() <= kMostLower && loop.step < reached.extent)
      return emit_sides(std::move(body), depth);
  }
  const Range range = reached;
  if (!range.is_cut() && loop.step >= range.extent) return inner_.emit(std::move(body), depth + 1);
  const Range bounds = cut(body, loop.index, Cut::outset, variables);
  const int64_t step = std::min(loop.step, range.extent), whole = range.extent / step * step;
  const int64_t tail = range.extent - whole;
  const bool is_block = depth == 0 && body.overlap != nullptr;  // of time: a constant number of steps in each
  const bool splits = tail > 0 && whole > 0 && !bounds.is_cut() && loop.mark == MarkKind::serial;
  if (auto divided = emit_divided(body, depth, bounds)) return *divided;
  if (!splits || !(is_block || feeds)) return bounded(std::move(body), depth, bounds, range.extent);
  const NodeId node = bounded(body, depth, bounds, whole);
  reached = Range{range.origin + Affine::of(whole), tail, {}, {}};
  return nest_.seq({node, inner_.emit(std::move(body), depth + 1)});
}

/// for x in max(0, bounds)..min(end, bounds). At less than the whole range only what fills its steps is left.
NodeId SerialLoops::bounded(Body body, size_t depth, const Range& bounds, int64_t end) {
  const SizedLoop loop = body.loops[depth];
  const Range range = body.ranges[loop.index];
  const int64_t step = std::min(loop.step, range.extent);
  Loop out;
  out.var = nest_.variable(loop.name, step, (end - 1) / step * step);
  out.step = step;
  out.mark.kind = loop.mark;
  if (loop.mark == MarkKind::axis) out.mark.detail = loop.detail;
  out.mark.non_temporal = loop.non_temporal && body.leaf == Leaf::compute;
  mark_copies_ahead(out, loop, body);
  // A constant limit has moved the origin that the others are counted from.
  const Affine moved = bounds.origin - range.origin, x = Affine::variable(out.var);
  out.lo.of = {Affine::of(moved.constant / step * step)};
  out.hi.of = {Affine::of(std::min(end, moved.constant + bounds.extent))};
  for (const Affine& e : bounds.lower) out.lo.of.push_back(step == 1 ? e + moved : rounded_down(e + moved, step));
  for (const Limit& limit : bounds.upper) out.hi.of.push_back(limit.e + moved);
  Range& inner = body.ranges[loop.index];
  if (step == 1) {
    inner = Range{range.origin + x, 1, {}, {}};
  } else {
    inner = nest_.variables().advanced(range, x, step);
    if (end < range.extent) inner.upper.clear();
    for (Limit& limit : inner.upper) limit.positive = true;
  }
  out.body = inner_.emit(std::move(body), depth + 1);
  return nest_.add(std::move(out));
}

/// A reduced loop around a block of registers, of whose rows some begin later or end sooner: one loop over what only
/// some rows need, one over what all need, instead of a test in each iteration.
std::optional<NodeId> SerialLoops::emit_divided(const Body& body, size_t depth, const Range& bounds) {
  const SizedLoop& loop = body.loops[depth];
  const bool is_point_sum =
      loop.reduced && loop.step == 1 && loop.mark == MarkKind::serial && body.leaf == Leaf::compute;
  if (!is_point_sum || body.inset_tried || !all_register_from(body, depth + 1)) return std::nullopt;
  const VarId var = body.index_var(loop.index);
  const Range& range = body.ranges[loop.index];
  Body whole = body, some = body;
  Range of_whole = bounds, of_some = bounds;
  int begins = 0, ends = 0;
  for (size_t k = 0; k < body.done.size(); ++k) {
    const Affine& condition = body.conditions()[k];
    const int64_t coeff = condition.coefficient(var);
    if (!is_applicable(body, k) || (coeff != 1 && coeff != -1) || others_fixed(body, condition, var)) continue;
    const Affine least = least_value(body, condition, var) + coeff * bounds.origin;  // coeff * x + least >= 0 for all
    whole.done[k] = 1;
    if (coeff > 0) {
      ++begins;
      of_whole.lower.push_back(Affine::of(0) - least);
      of_some.upper.push_back({Affine::of(0) - least, false});
    } else {
      ++ends;
      of_whole.upper.push_back({least + Affine::of(1), false});
      of_some.lower.push_back(least + Affine::of(1));
    }
  }
  if (begins + ends != 1) return std::nullopt;
  some.inset_tried = true;
  NodeId part = kNoNode;
  if (const auto steps = range.is_cut() ? std::nullopt : edge_steps(of_some, nest_.variables())) {
    some.ranges[loop.index] = *steps;
    some.loops[depth].mark = MarkKind::unroll;
    part = inner_.emit_loop(std::move(some), depth);
  } else {
    part = bounded(std::move(some), depth, of_some, range.extent);
  }
  const NodeId rest = bounded(std::move(whole), depth, of_whole, range.extent);
  return begins ? nest_.seq({part, rest}) : nest_.seq({rest, part});
}

NodeId SerialLoops::emit_part(Body body, size_t depth) {
  const SizedLoop loop = body.loops[depth];
  const Range range = body.ranges[loop.index];
  const int64_t step = std::min(loop.step, std::max<int64_t>(1, range.extent));
  const int64_t parts = (range.extent + step - 1) / step;
  const VarId var = nest_.variable(loop.name, 1, parts - 1);
  body.part = Affine::variable(var);
  body.ranges[loop.index] = nest_.variables().advanced(range, step * body.part, step);
  if (!range.is_cut())
    for (Limit& limit : body.ranges[loop.index].upper) limit.positive = true;
  Loop out = counted_loop(var, parts, inner_.emit(std::move(body), depth + 1));
  out.mark.kind = loop.mark;
  if (loop.mark == MarkKind::axis) out.mark.detail = loop.detail;
  return nest_.add(std::move(out));
}

}  // namespace polyweft::ir
