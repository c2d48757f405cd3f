#include "ir/instantiate/wavefronts.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace polyweft::ir {

namespace {

/// The tiles of the members, as they become loops.
struct Tiles {
  std::vector<int64_t> steps, counts;
  int64_t latest = 0;  ///< sum of the numbers of the last ones
};

/// coeff * variable of the loop + rest >= 0.
void bound(Loop& loop, int64_t coeff, const Affine& rest) {
  if (coeff == 0) return;
  const Affine limit = coeff > 0 ? Affine::of(0) - floor_div(rest, coeff) : floor_div(rest, -coeff) + Affine::of(1);
  Affine& constant = (coeff > 0 ? loop.lo : loop.hi).of.front();
  if (!limit.is_constant())
    (coeff > 0 ? loop.lo : loop.hi).of.push_back(limit);
  else if (coeff > 0)
    constant.constant = std::max(constant.constant, limit.constant);
  else
    constant.constant = std::min(constant.constant, limit.constant);
}

/// Bounds of a wavefront's loops by the conditions of the band: waves and tiles that certainly hold no instance go.
/// `begins`: where the tile begins, by member.
void bound_waves(const Body& body, const std::vector<Affine>& begins, const LoopVariables& variables,
                 std::vector<Loop>& loops) {
  for (size_t k = 0; k < body.done.size(); ++k) {
    const Affine& condition = body.conditions()[k];
    if (body.done[k] || !condition.is_linear()) continue;
    Affine most = Affine::of(condition.constant);
    for (const Term& term : condition.terms) {
      const uint32_t index = body.index_of(term.var);
      const int64_t last = body.ranges[index].extent - 1;
      most = most + term.coeff * (begins[index] + Affine::of(term.coeff > 0 ? last : 0));
    }
    if (variables.numeric_bounds(most).first >= 0) continue;
    for (size_t inner = loops.size(); inner-- > 0;) {  // c * loop + rest >= 0, the loops inside it at their best
      const VarId var = loops[inner].var;
      const int64_t c = most.coefficient(var);
      const Affine rest = most - Affine::variable(var, c);
      bound(loops[inner], c, rest);
      most = rest + Affine::of(std::max<int64_t>(0, c * variables.most(var)));
    }
  }
}

}  // namespace

NodeId emit_wave(NestWriter& nest, BodyEmitter& inner, Body body, size_t depth) {
  const LoopVariables& variables = nest.variables();
  const uint32_t count = body.loops[depth].wave;
  if (depth + count > body.loops.size())
    return nest.error("PW0311", "wavefront: a loop of it is missing inside " + body.loops[depth].name);
  Tiles tiles;
  for (uint32_t m = 0; m < count; ++m) {
    const SizedLoop& loop = body.loops[depth + m];
    const Range& range = body.ranges[loop.index];
    if (range.is_cut() || (m > 0 && loop.wave > 0))
      return nest.error("PW0311", "wavefront: loop " + loop.name + " does not run over a whole range");
    tiles.steps.push_back(std::max<int64_t>(1, std::min(loop.step, range.extent)));
    tiles.counts.push_back((range.extent + tiles.steps.back() - 1) / tiles.steps.back());
    tiles.latest += tiles.counts.back() - 1;
  }
  std::vector<Loop> loops;
  auto open = [&](const std::string& name, int64_t most, Bound lower, Bound upper, MarkKind mark) {
    Loop loop;
    loop.var = nest.variable(name, 1, most);
    loop.lo = std::move(lower);
    loop.hi = std::move(upper);
    loop.mark.kind = mark;
    loops.push_back(loop);
    return Affine::variable(loop.var);
  };
  std::vector<Affine> begins;  // of the tiles, by member
  for (const Range& range : body.ranges) begins.push_back(range.origin);
  auto move_to = [&](uint32_t index, int64_t step, const Affine& tile) {
    begins[index] = begins[index] + step * tile;
    body.ranges[index] = variables.advanced(body.ranges[index], step * tile, step);
  };
  int64_t others = tiles.latest;
  Affine left = open("wave", others, {{Affine::of(0)}}, {{Affine::of(others + 1)}}, MarkKind::serial);  // still to come
  for (uint32_t m = 1; m < count; ++m) {
    const SizedLoop& loop = body.loops[depth + m];
    const int64_t number = tiles.counts[m];
    others -= number - 1;
    const Bound lower{{Affine::of(0), left - Affine::of(others)}}, upper{{Affine::of(number), left + Affine::of(1)}};
    const Affine p = open(loop.name, number - 1, lower, upper, loop.mark);
    move_to(loop.index, tiles.steps[m], p);
    left = left - p;
  }
  move_to(body.loops[depth].index, tiles.steps[0], left);
  bound_waves(body, begins, variables, loops);
  NodeId node = inner.emit(std::move(body), depth + count);
  for (size_t k = loops.size(); k-- > 0;) {
    loops[k].body = node;
    node = nest.add(std::move(loops[k]));
  }
  return node;
}

}  // namespace polyweft::ir
