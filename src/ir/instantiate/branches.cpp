#include "ir/instantiate/branches.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "ir/instantiate/conditions.h"

namespace polyweft::ir {

namespace {

/// A few vectors unrolled, in a band: where the row begins or ends between two of its steps all of them are masked,
/// without a branch for each.
bool is_row_of_vectors(const Body& body, size_t depth, uint32_t index) {
  constexpr int64_t kMostVectors = 8;
  int64_t vectors = 0, lanes = 0;
  for (size_t k = depth; k < body.loops.size(); ++k) {
    const SizedLoop& loop = body.loops[k];
    if (loop.index != index) continue;
    if (loop.mark == MarkKind::vector) lanes = loop.lanes;
    if (loop.mark == MarkKind::unroll) vectors = vectors == 0 ? loop.step : -1;
  }
  return body.is_in_band && body.leaf == Leaf::compute && body.accumulators.empty() && vectors == lanes && lanes > 1 &&
         body.ranges[index].extent <= kMostVectors * lanes;
}

}  // namespace

NodeId emit_fixed(NestWriter& nest, BodyEmitter& inner, Body body, size_t depth) {
  settle_determined(body, depth);
  std::vector<Guard> tests = value_of_determined(body, nest.variables());
  for (size_t k = 0; k < body.done.size(); ++k) {
    const Affine& condition = body.conditions()[k];
    if (!is_applicable(body, k) || !others_fixed(body, condition)) continue;
    Affine value = greatest_value(body, condition);
    body.done[k] = 1;
    if (nest.variables().numeric_bounds(value).first < 0) tests.push_back(guard_ge0(value));
  }
  const NodeId node = inner.emit(std::move(body), depth);
  return nest.failed() ? node : nest.guarded(std::move(tests), node);
}

std::optional<uint32_t> Branches::index_to_branch(Body& body, size_t depth) const {
  std::set<uint32_t> registers;
  for (size_t k = depth; k < body.loops.size(); ++k)
    if (body.loops[k].is_register()) registers.insert(body.loops[k].index);
  for (size_t k = depth; k < body.loops.size(); ++k) {
    const SizedLoop& loop = body.loops[k];
    if (!loop.is_determined && !loop.is_register() && registers.count(loop.index)) return std::nullopt;
  }
  for (uint32_t index : registers) {
    if (body.masked.count(index)) continue;
    body.ranges[index] = cut(body, index, Cut::exact, nest_.variables());
    if (body.ranges[index].is_cut()) return index;
  }
  if (!registers.empty()) body.branched = true;
  return std::nullopt;
}

NodeId Branches::branch(Body body, size_t depth, uint32_t index) {
  Range& range = body.ranges[index];
  std::vector<Guard> full;
  for (const Limit& limit : range.upper) full.push_back(guard_ge0(limit.e - Affine::of(range.extent)));
  for (const Affine& e : range.lower) full.push_back(guard_ge0(Affine::of(0) - e));
  Body inside = body;
  inside.ranges[index].upper.clear();
  inside.ranges[index].lower.clear();
  const NodeId then = inner_.emit(std::move(inside), depth);
  NodeId otherwise = kNoNode;
  if (auto rest = nest_.variables().constant_rest(range)) {
    Body partial = body;
    partial.ranges[index] = std::move(*rest);
    otherwise = inner_.emit(std::move(partial), depth);
  } else if (is_row_of_vectors(body, depth, index)) {
    body.masked.insert(index);
    for (Limit& limit : range.upper) limit.positive = false;  // the row may end before its last vectors
    otherwise = inner_.emit(std::move(body), depth);
  } else {
    otherwise = serialized(std::move(body), depth, index);
  }
  return nest_.add(If{guard_all(std::move(full)), then, otherwise});
}

NodeId Branches::serialized(Body body, size_t depth, uint32_t index) {
  const LoopVariables& variables = nest_.variables();
  int64_t step = 1;
  for (size_t k = depth; k < body.loops.size(); ++k)
    if (body.loops[k].index == index && body.loops[k].mark == MarkKind::vector) step = body.loops[k].lanes;
  const Range range = body.ranges[index];
  if (step > 1 && step >= range.extent) {  // one vector: its lanes stay where they are, the first and last masked
    body.masked.insert(index);
    return inner_.emit(std::move(body), depth);
  }
  step = std::min(step, range.extent);
  while (depth + 1 < body.loops.size() && body.loops[depth].is_determined) ++depth;
  const bool steps_from_zero = std::all_of(range.lower.begin(), range.lower.end(),
                                           [&](const Affine& e) { return variables.residue(e, step) == 0; });
  const std::string name = body.stage->loops.empty() ? "x" : body.loops[depth].name;
  Loop out;
  out.var = nest_.variable(name, steps_from_zero ? step : 1, range.extent - 1);
  out.step = step;
  out.lo.of = {Affine::of(0)};
  out.hi.of = {Affine::of(range.extent)};
  for (const Affine& e : range.lower) out.lo.of.push_back(e);
  for (const Limit& limit : range.upper) out.hi.of.push_back(limit.e);
  const Affine x = Affine::variable(out.var);
  Range& inner = body.ranges[index];
  inner = Range{range.origin + x, step, {}, {}};
  if (step > 1) {
    inner.upper.push_back({Affine::of(range.extent) - x, true});
    for (const Limit& limit : range.upper) inner.upper.push_back({limit.e - x, true});
    variables.prune(inner);
  }
  body.masked.insert(index);
  out.body = inner_.emit(std::move(body), depth);
  return nest_.add(std::move(out));
}

NodeId Branches::inset(Body body, size_t depth) {
  std::vector<Guard> tests;
  bool any_partial = false;
  Body inside = body;
  for (size_t k = 0; k < body.done.size(); ++k) {
    if (!is_applicable(body, k)) continue;
    const Affine& condition = body.conditions()[k];
    const Affine least = least_value(body, condition);
    inside.done[k] = 1;
    if (nest_.variables().numeric_bounds(least).first >= 0) {
      body.done[k] = 1;
      continue;
    }
    tests.push_back(guard_ge0(least));
    any_partial |= !others_fixed(body, condition);
  }
  const NodeId then = inner_.emit_loop(std::move(inside), depth);
  if (tests.empty()) return then;
  const NodeId otherwise = any_partial ? inner_.emit_loop(std::move(body), depth) : kNoNode;
  return nest_.add(If{guard_all(std::move(tests)), then, otherwise});
}

}  // namespace polyweft::ir
