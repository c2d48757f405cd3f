// What follows from affine conditions, by arithmetic alone: ranges, conditions and assumptions on parameters in,
// "always" or "never" out. No isl: every command and every layer above can ask.
//
// A system of inequalities over integers is refuted by Fourier-Motzkin elimination: floor divisions are integers of
// their own between their two bounds, inequalities are divided by the common divisor of their coefficients and rounded.
// What it says holds for all parameters that the assumptions admit; where it says nothing, nothing is known.
#pragma once

#include <vector>

#include "ir/values/scope.h"

namespace polyweft::ir {

class AffineFacts {
 public:
  /// Nothing but the assumptions.
  explicit AffineFacts(const Program& program);
  /// And the ranges and conditions of a scope.
  AffineFacts in(const ExprScope& scope) const;
  AffineFacts with(const Guard& g) const;
  AffineFacts with(const IndexRange& range) const;

  bool always(const Guard& g) const;
  bool never(const Guard& g) const;
  bool is_nonnegative(const Affine& e) const { return always(guard_ge0(e)); }
  /// The condition without what the facts say already; true or false where they decide it.
  Guard simplified(const Guard& g) const;

 private:
  Guard simplified_all(const Guard& g) const;
  Guard simplified_any(const Guard& g) const;

  std::vector<Guard> known_;
};

}  // namespace polyweft::ir
