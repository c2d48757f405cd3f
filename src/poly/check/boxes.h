// Private to the checker: intervals of affine expressions over loops whose bounds are known. Plain arithmetic that
// decides the common cases without isl; what it cannot decide it leaves open, so it never proves more than isl would.
#pragma once

#include "poly/check/statements.h"

namespace polyweft::poly::checker {

struct Interval {
  int64_t least = 0, greatest = 0;
  bool has_zero() const { return least <= 0 && greatest >= 0; }
};
/// Nothing where a sum leaves +-2^60.
using Bounds = std::optional<Interval>;
Bounds sum(const Bounds& a, const Bounds& b);
Bounds scaled(const Bounds& a, int64_t factor);

/// A range for each dimension that holds the statement's domain, by its loops and the conditions around; nothing where
/// it is not known or the loops never run.
using Box = std::vector<Interval>;
std::optional<Box> box_of(const Statement& s, const LoopNest& nest);
/// Values that e can take on the box.
Bounds bounds_of(const Affine& e, const Box& box);

/// Expressions that are all 0 exactly where e is, on the box: 192 q + r with |r| < 192 is 0 only where both are. isl,
/// which sees one equality, searches for the integers.
std::vector<Affine> digits(const Affine& e, const Box& box);

/// Whether a quasi-affine term stands in e that depends on a dimension >= first.
bool bends_beyond(const Affine& e, VarId first);

}  // namespace polyweft::poly::checker
