// Interval arithmetic over the domains of a bound program: numeric hulls of indices and boxes of tensors. Sound
// over-approximations; exact for rectangles and for ranges that are monotone in earlier indices.
#pragma once

#include <vector>

#include "polyweft/nest_template.h"

namespace polyweft::schedules {

/// lo <= value <= hi; empty where hi < lo.
struct Interval {
  int64_t lo = 0, hi = 0;
};
Interval interval_of(const Affine& e, const std::vector<Interval>& values);

/// The domain of an equation, its reduction's included: an interval a variable (by VarId), linear conditions that the
/// intervals do not imply, and guards that are not linear conjunctions.
struct Domain {
  std::vector<Interval> values;
  std::vector<Affine> inside;
  std::vector<Guard> guards;
};
Domain domain_of(const Program& bound, const Equation& equation);
/// How many values each index of the equation's elements has, in the order of the slots that are indices.
std::vector<int64_t> slot_extents(const Program& bound, const Equation& equation);
/// Narrows the interval of each variable of e to where e >= 0 can hold, the others at their best.
void narrow_by(const Affine& e, std::vector<Interval>& values);

/// Boxes of all tensors: inputs and constants by shape, outputs from 0, locals the hull of their definitions.
std::vector<Box> tensor_boxes(const Program& normalized);

}  // namespace polyweft::schedules
