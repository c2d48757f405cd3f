// Values that an index takes at one place of a nest.
//
// The range starts as the index's hull. A tile loop of step S with variable x turns (o, e) into (o + x, S), and cuts it
// by e - x where S does not divide e; a point loop leaves extent 1. Example: i in 0..10, tiled by 4 with loop x: origin
// x, extent 4, upper {10 - x}.
#pragma once

#include <cstdint>
#include <vector>

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

/// value - origin < e. positive: the loops around make sure that e > 0.
struct Limit {
  Affine e;
  bool positive = true;
};
/// origin + [0, extent), cut by limits.
struct Range {
  Affine origin;
  int64_t extent = 1;
  std::vector<Limit> upper;
  std::vector<Affine> lower;  ///< value - origin >= each (windows and conditions only)
  bool is_cut() const { return !upper.empty() || !lower.empty(); }
  bool is_point() const { return extent == 1 && !is_cut(); }
};

}  // namespace polyweft::ir
