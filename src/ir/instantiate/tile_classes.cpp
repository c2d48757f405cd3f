#include "ir/instantiate/tile_classes.h"

#include <algorithm>
#include <cstdlib>

#include "ir/instantiate/conditions.h"

namespace polyweft::ir {

namespace {

constexpr size_t kMostClasses = 16;  ///< of tiles that a condition crosses: each is a copy of the block

/// The tiles that a condition crosses, one copy for each value of its least corner: where an index is counted from the
/// others, its conditions are constants.
void split_by_corner(const Affine& e, const LoopVariables& variables, TileClasses& out) {
  const Body& body = out.crossed;
  const Affine least = least_value(body, e), spread = greatest_value(body, e) - least;
  const int64_t unit = variables.unit(least);
  const auto moved = std::find_if(e.terms.begin(), e.terms.end(), [&](const Term& term) {
    return std::abs(term.coeff) == 1 && !body.ranges[body.index_of(term.var)].is_cut();
  });
  if (!spread.is_constant() || unit == 0 || moved == e.terms.end()) return;
  const int64_t first = variables.numeric_bounds(least).first;
  for (int64_t value = -1; value >= std::max(-spread.constant, first); --value) {
    if ((value - least.constant) % unit != 0) continue;
    out.classes.push_back(body);
    Range& range = out.classes.back().ranges[body.index_of(moved->var)];
    range.origin = range.origin + moved->coeff * (Affine::of(value) - least);
    out.at.push_back(guard_eq0(least - Affine::of(value)));
  }
}

}  // namespace

TileClasses tile_classes_of(const Body& body, const LoopVariables& variables) {
  TileClasses out;
  out.inside = out.crossed = body;
  size_t last = 0;
  for (size_t k = 0; k < body.done.size(); ++k) {
    const Affine& condition = body.conditions()[k];
    if (body.done[k] || mentions_reduced(body, condition)) continue;
    const Affine least = least_value(body, condition);
    out.inside.done[k] = 1;
    if (variables.numeric_bounds(least).first >= 0) {
      out.crossed.done[k] = 1;
      continue;
    }
    out.tests.push_back(guard_ge0(least));
    last = k;
  }
  if (out.tests.empty()) return out;
  out.inside.classed = out.crossed.classed = true;
  out.crossed.crossed = true;
  if (out.tests.size() == 1) split_by_corner(body.conditions()[last], variables, out);
  if (out.classes.size() > kMostClasses) out.classes.clear();
  return out;
}

}  // namespace polyweft::ir
