// Loops in registers: written out or as lanes, of constant extent, and the branches around them that make them so.
#include <algorithm>

#include "ir/instantiate/internal.h"
#include "ir/instruction.h"

namespace polyweft::ir {
namespace {

/// Loops around one compute: no condition lies between.
bool is_plain_chain(const LoopNest& nest, NodeId id) {
  while (const auto* loop = std::get_if<Loop>(&nest.nodes[id])) id = loop->body;
  return std::holds_alternative<Compute>(nest.nodes[id]);
}

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
