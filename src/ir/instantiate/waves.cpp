// Wavefronts: tiles whose numbers have one sum, and the bounds that leave out waves without an instance.
#include <algorithm>

#include "ir/instantiate/internal.h"

namespace polyweft::ir {

/// Bounds of a wavefront's loops by the conditions of the band: waves and tiles that certainly hold no instance go. `tile`: where the tile begins, by member.
void Emitter::bound_waves(const Body& body, std::vector<Loop>& loops, const std::vector<Affine>& tile) const {
  std::vector<int64_t> size;
  for (const Range& range : body.ranges) size.push_back(range.extent);
  for (size_t k = 0; k < body.done.size(); ++k) {
    const Affine& condition = body.conditions()[k];
    if (body.done[k] || !condition.is_linear()) continue;
    Affine most = Affine::of(condition.constant);
    for (const Term& term : condition.terms) {
      const uint32_t index = index_of(term.var);
      most = most + term.coeff * (tile[index] + Affine::of(term.coeff > 0 ? size[index] - 1 : 0));
    }
    if (numeric_bounds(most).first >= 0) continue;
    for (size_t inner = loops.size(); inner-- > 0;) {  // c * loop + rest >= 0, the loops inside it at their best
      const int64_t c = most.coefficient(loops[inner].var);
      const Affine rest = most - Affine::variable(loops[inner].var, c);
      Affine& first = loops[inner].lo.of.front();
      Affine& end = loops[inner].hi.of.front();
      const Affine limit = c > 0 ? Affine::of(0) - floor_div(rest, c) : c < 0 ? floor_div(rest, -c) + Affine::of(1) : Affine{};
      if (c > 0 && limit.is_constant()) first.constant = std::max(first.constant, limit.constant);
      if (c < 0 && limit.is_constant()) end.constant = std::min(end.constant, limit.constant);
      if (c > 0 && !limit.is_constant()) loops[inner].lo.of.push_back(limit);
      if (c < 0 && !limit.is_constant()) loops[inner].hi.of.push_back(limit);
      most = rest + Affine::of(std::max<int64_t>(0, c * facts_[loops[inner].var - nest_.params.size()].hi));
    }
  }
}

/// for w: for p_1, p_2, ..: p_0 = w - p_1 - p_2 - .., where p_m are the numbers of tiles; bounds keep every p in its range.
NodeId Emitter::emit_wave(Body body, size_t depth) {
  const uint32_t count = body.loops[depth].wave;
  std::vector<int64_t> steps, tiles;
  int64_t latest = 0;
  for (uint32_t m = 0; m < count; ++m) {
    const SizedLoop& loop = body.loops[depth + m];
    const Range& range = body.ranges[loop.index];
    if (range.is_cut() || (m > 0 && loop.wave > 0)) return error("PW0311", "wavefront: loop " + loop.name + " does not run over a whole range");
    steps.push_back(std::max<int64_t>(1, std::min(loop.step, range.extent)));
    tiles.push_back((range.extent + steps.back() - 1) / steps.back());
    latest += tiles.back() - 1;
  }
  std::vector<Loop> loops;
  auto open = [&](const std::string& name, int64_t hi, Bound lower, Bound upper, MarkKind mark) {
    Loop loop;
    loop.var = variable(name, 1, hi);
    loop.lo = std::move(lower);
    loop.hi = std::move(upper);
    loop.mark.kind = mark;
    loops.push_back(loop);
    return Affine::variable(loop.var);
  };
  std::vector<Affine> begins;  // of the tiles, by member
  for (const Range& range : body.ranges) begins.push_back(range.origin);
  Affine left = open("wave", latest, {{Affine::of(0)}}, {{Affine::of(latest + 1)}}, MarkKind::serial);  // for the loops still to come
  int64_t others = latest;
  for (uint32_t m = 1; m < count; ++m) {
    const SizedLoop& loop = body.loops[depth + m];
    others -= tiles[m] - 1;
    const Affine p = open(loop.name, tiles[m] - 1, {{Affine::of(0), left - Affine::of(others)}}, {{Affine::of(tiles[m]), left + Affine::of(1)}}, loop.mark);
    begins[loop.index] = begins[loop.index] + steps[m] * p;
    body.ranges[loop.index] = advanced(body.ranges[loop.index], steps[m] * p, steps[m]);
    left = left - p;
  }
  const uint32_t first = body.loops[depth].index;
  begins[first] = begins[first] + steps[0] * left;
  body.ranges[first] = advanced(body.ranges[first], steps[0] * left, steps[0]);
  bound_waves(body, loops, begins);
  NodeId node = emit(std::move(body), depth + count);
  for (size_t k = loops.size(); k-- > 0;) {
    loops[k].body = node;
    node = add(std::move(loops[k]));
  }
  return node;
}

}  // namespace polyweft::ir
