#include "ir/instantiate/register_loops.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "ir/instantiate/branches.h"
#include "ir/instantiate/conditions.h"
#include "ir/nests/instruction.h"

namespace polyweft::ir {

namespace {

/// Loops around one compute: no condition lies between.
bool is_plain_chain(const LoopNest& nest, NodeId id) {
  while (const auto* loop = std::get_if<Loop>(&nest.nodes[id])) id = loop->body;
  return std::holds_alternative<Compute>(nest.nodes[id]);
}

/// Of an instruction on tiles or small matrices: several axes beside the lanes.
const Instruction* matrix_instruction(const SizedLoop& loop) {
  if (loop.mark != MarkKind::tensor) return nullptr;
  const auto instruction = instruction_named(loop.detail);
  return instruction.ok() && (*instruction)->axes.size() > 2 ? *instruction : nullptr;
}

/// A loop over a range that its steps do not fill.
bool is_uneven(const SizedLoop& loop, const Range& range) {
  return !range.is_cut() && loop.step < range.extent && range.extent % loop.step != 0;
}

/// Is this an unrolled loop over tiles that ends in a smaller one?
bool has_smaller_last_tile(const Body& body, size_t depth) {
  const SizedLoop& loop = body.loops[depth];
  if (loop.mark != MarkKind::unroll || !is_uneven(loop, body.ranges[loop.index])) return false;
  return std::any_of(body.from(depth), body.loops.end(),
                     [&](const SizedLoop& inner) { return inner.index == loop.index && matrix_instruction(inner); });
}

/// A reduced loop of a tile whose rest is no multiple of its groups: 11 values in groups of 4.
const SizedLoop* uneven_group(const Body& body, size_t depth) {
  for (size_t k = depth; k < body.loops.size() && body.leaf == Leaf::compute; ++k) {
    const SizedLoop& loop = body.loops[k];
    if (matrix_instruction(loop) && loop.reduced && is_uneven(loop, body.ranges[loop.index])) return &loop;
  }
  return nullptr;
}

/// Do iterations of the loop have accumulators of their own here?
bool splits_accumulators(const Body& body, const SizedLoop& loop) {
  return loop.lane && !body.accumulators.empty() && body.leaf == Leaf::compute;
}

bool is_outermost_of_tensor(const Body& body, size_t depth) {
  return depth == 0 || body.loops[depth - 1].mark != MarkKind::tensor;
}

}  // namespace

/// Whole steps, then what is left: two boxes.
NodeId RegisterLoops::whole_groups_then_rest(Body body, size_t depth, uint32_t index, int64_t step) {
  Range& range = body.ranges[index];
  const int64_t whole = range.extent / step * step;
  Body rest = body;
  rest.ranges[index] = nest_.variables().advanced(range, Affine::of(whole), range.extent - whole);
  range.extent = whole;
  const NodeId groups = unroll(std::move(body), depth);
  return nest_.seq({groups, unroll(std::move(rest), depth)});
}

NodeId RegisterLoops::unroll(Body body, size_t depth) {
  SizedLoop& loop = body.loops[depth];
  const uint32_t index = loop.index;
  const Range& range = body.ranges[index];
  if (has_smaller_last_tile(body, depth)) return whole_groups_then_rest(body, depth, index, loop.step);
  const bool is_matrix = matrix_instruction(loop) != nullptr;
  if (is_matrix && body.leaf != Leaf::compute && depth + 1 == body.loops.size()) {  // sums move by vectors
    loop.mark = MarkKind::vector;
    return vector(std::move(body), depth);
  }
  if (is_matrix && range.is_cut()) {  // a block whose size is not known now: plain loops
    loop.mark = MarkKind::serial;
    return inner_.emit_loop(std::move(body), depth);
  }
  if (is_matrix && is_outermost_of_tensor(body, depth))
    if (auto group = uneven_group(body, depth)) return whole_groups_then_rest(body, depth, group->index, group->step);
  const bool is_masked = body.masked.count(index) > 0;
  if ((!range.lower.empty() && !is_masked) || (loop.step == 1 && range.is_cut()) || range.extent > 1024)
    return nest_.error("PW0311", "unroll " + loop.name + ": the number of iterations is not a small constant",
                       {"tile the index first, or leave the loop serial"});
  return unrolled(std::move(body), depth);
}

NodeId RegisterLoops::unrolled(Body body, size_t depth) {
  const SizedLoop loop = body.loops[depth];
  const Range range = body.ranges[loop.index];
  const Instruction* matrix = matrix_instruction(loop);
  const bool is_tile = matrix && (matrix->is_tile() || matrix->is_of_unit()),
             has_lanes = splits_accumulators(body, loop);
  const int64_t step = std::min(loop.step, range.extent), trips = (range.extent + step - 1) / step;
  const bool keeps_axis = matrix && body.leaf == Leaf::compute;
  if (trips == 1 && !keeps_axis) {
    if (has_lanes) body.lanes.push_back(Affine::of(0));
    return emit_fixed(nest_, inner_, std::move(body), depth + 1);
  }
  const VarId var = nest_.register_variable(loop.name, trips - 1);
  if (has_lanes) body.lanes.push_back(Affine::variable(var));
  body.ranges[loop.index] = nest_.variables().advanced(range, step * Affine::variable(var), step);
  const bool may_be_instruction =
      loop.mark == MarkKind::tensor && is_outermost_of_tensor(body, depth) && body.leaf == Leaf::compute;
  std::vector<Prefetch> prefetches;
  if (may_be_instruction) prefetches = prefetches_of(body);
  Loop out = counted_loop(var, trips, emit_fixed(nest_, inner_, std::move(body), depth + 1));
  out.mark.kind =
      is_tile ? MarkKind::serial : MarkKind::unroll;  // a tile that is no instruction is too large to unroll
  if (may_be_instruction && !nest_.failed() && is_plain_chain(nest_.nest(), out.body)) {
    Loop instruction = out;
    instruction.mark = Mark{MarkKind::tensor, 0, loop.detail, false};
    if (is_tile) instruction.mark.prefetch = std::move(prefetches);
    if (match_tensor_loop(nest_.nest(), instruction)) out = std::move(instruction);
  }
  return nest_.add(std::move(out));
}

NodeId RegisterLoops::vector(Body body, size_t depth) {
  const SizedLoop loop = body.loops[depth];
  const Range range = cut(body, loop.index, Cut::exact, nest_.variables());
  if (range.extent > loop.lanes) {
    const std::string extent = std::to_string(range.extent), lanes = std::to_string(loop.lanes);
    return nest_.error("PW0311", "vectorize " + loop.name + ": more iterations than lanes",
                       {"the extent is " + extent + ", lanes " + lanes});
  }
  Loop out = vector_loop(nest_.register_variable(loop.name, range.extent - 1), range.extent, kNoNode);
  const Affine lane = Affine::variable(out.var);
  for (const Affine& e : range.lower) out.lo.of.push_back(e);
  for (const Limit& limit : range.upper) out.hi.of.push_back(limit.e);
  out.mark.width = static_cast<int32_t>(loop.lanes);
  out.mark.non_temporal = loop.non_temporal;
  if (body.leaf == Leaf::compute) out.mark.prefetch = prefetches_of(body);
  if (splits_accumulators(body, loop)) body.lanes.push_back(lane);
  body.ranges[loop.index] = Range{range.origin + lane, 1, {}, {}};
  out.body = emit_fixed(nest_, inner_, std::move(body), depth + 1);
  return nest_.add(std::move(out));
}

/// What the stage reads some iterations of an index later, of arguments and of copies in memory. A distance of 0
/// iterations: no prefetch.
std::vector<Prefetch> RegisterLoops::prefetches_of(const Body& body) {
  std::vector<Prefetch> out;
  for (const Ahead& ahead : body.stage->ahead) {
    const View& view = storage_.view_of(ahead.tensor, body.id);
    const Scope scope = nest_.buffer(view.buffer).scope;
    const int64_t distance = schedule_.distance_of(ahead.by);
    if (distance == 0 || (scope != Scope::argument && scope != Scope::heap)) continue;
    visit(body.equation->rhs, [&](const ExprNode& e) {
      if (e.op != Op::read || e.access.id != ahead.tensor) return;
      std::vector<int64_t> by;
      for (const Subscript& s : e.access.index)
        by.push_back(s.affine.coefficient(body.index_var(ahead.index)) * distance);
      Prefetch prefetch{view.buffer, view.cell.empty() ? by : std::vector<int64_t>(view.cell.size(), 0)};
      for (size_t k = 0; k < view.cell.size(); ++k)
        for (uint32_t d = 0; d < by.size(); ++d) prefetch.by[k] += view.cell[k].coefficient(kCellVar + d) * by[d];
      if (std::count(out.begin(), out.end(), prefetch) == 0) out.push_back(std::move(prefetch));
    });
  }
  return out;
}

}  // namespace polyweft::ir
