// Interval arithmetic over affine forms of a bound program: quick upper bounds of what enumeration would count.
#pragma once

#include <map>

#include "polyweft/program.h"

namespace polyweft::ir {

struct Interval {
  double lo = 0, hi = 0;
};
using Intervals = std::map<VarId, Interval>;

/// Encloses the values of e; every variable of e must be in `known`.
Interval interval_of(const Affine& e, const Intervals& known);
/// Adds the values that the range's variable takes, lo <= v < hi; at least one point.
void add_interval(Intervals& known, const IndexRange& range);
/// The slots' variables.
Intervals slot_intervals(const Equation& equation);
/// At least as many as the points of the ranges, given the variables around.
double most_points(const std::vector<IndexRange>& ranges, Intervals known);

}  // namespace polyweft::ir
