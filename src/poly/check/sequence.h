// Private to the checker: sums whose points are folded one after the other in the order of the text, as most are, tiles
// or not. Each fold goes on from that of the point right before its own, or from the first value where its point is the
// first; whoever wants the element reads the fold of the last point, or the first value where there is none. By
// induction over time a state holds the points up to its own, each once: nothing need be said of all folds together.
#pragma once

#include "poly/check/bodies.h"

namespace polyweft::poly::checker {

/// The reduced points of an element in the order of the text.
class PointSequence {
 public:
  explicit PointSequence(const Equation& equation) : ranges_(equation.rhs->reduction.ranges) {}
  /// Whether points are those of the ranges alone: conditions may leave out some.
  static bool is_known(const Equation& equation) { return equation.rhs->reduction.where.is_true(); }

  /// Over the indices of a fold: its point is the first one of its element, or the last.
  Guard is_first(const Indices& fold) const;
  Guard is_last(const Indices& fold) const;
  /// Over the indices of a first value: there is no point, or nothing is known of that.
  Guard is_without_points(const Indices& init) const;
  /// Over the indices of two folds of one element: the point of the second comes right after that of the first.
  Guard is_next(const Indices& first, const Indices& second) const;

 private:
  Guard at_ends(const Indices& indices, size_t from, bool at_lo) const;
  const std::vector<IndexRange>& ranges_;
};

}  // namespace polyweft::poly::checker
