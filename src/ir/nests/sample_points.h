// Points of a nest's iteration space: bounds at the values of the loops around, and samples instead of all iterations.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <vector>

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

/// First value of a loop from its lower bound, or the one behind its last from its upper bound.
inline int64_t value_of(const Bound& bound, bool is_lower, const std::vector<int64_t>& values) {
  int64_t out = evaluate(bound.of.front(), values);
  for (const Affine& e : bound.of)
    out = is_lower ? std::max(out, evaluate(e, values)) : std::min(out, evaluate(e, values));
  return out;
}

/// Which iteration sample 0, 1, .. takes of a loop at this depth: multiples of another irrational number for each
/// depth, so that samples fill the product of the loops evenly, however many there are. In [0, trips - 1].
inline int64_t sample_point(int sample, size_t depth, int64_t trips) {
  constexpr double kSteps[] = {0.6180339887, 0.4142135624, 0.7320508076, 0.2360679775, 0.6457513111, 0.3166247904,
                               0.6055512755, 0.1231056256, 0.3588989435, 0.7958315233, 0.3851648071, 0.5677643628,
                               0.0827625303, 0.4031242374, 0.5574385243, 0.8556546004};
  const double u = 0.5 + sample * kSteps[depth % std::size(kSteps)];
  return std::min<int64_t>(trips - 1, static_cast<int64_t>((u - std::floor(u)) * static_cast<double>(trips)));
}

}  // namespace polyweft::ir
