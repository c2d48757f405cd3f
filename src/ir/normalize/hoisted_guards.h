// Conditions of a reduction that do not move with it, taken out of it.
//
//   out T[i: N] = 1.0 + (min[k: N where i < 3 and k != i] A[k])
// becomes
//   out T[i: N] = 1.0 + ((min[k: N where k != i] A[k]) where i < 3 else inf)
// and where the reduction is the whole right-hand side,
//   out T[i: N] where i < 3 = min[k: N where k != i] A[k]
//   out T[i: N] where not (i < 3) = inf
//
// A condition over the indices around a reduction decides whether the whole reduction is empty, not which of its terms
// count. Later stages know one kind of condition that holds no reduced index: the domain of the equation. Left inside
// the reduction such a condition would cut that domain, and the elements where it is false would never get their
// identity.
#pragma once

#include "ir/values/scope.h"

namespace polyweft::ir {

class GuardHoister {
 public:
  explicit GuardHoister(const Program& program) : program_(program), least_(least_parameters(program)) {}

  /// The right-hand side where no reduction has a condition over outer indices alone; but for a reduction that is the
  /// whole of it.
  Expr rewritten(const Expr& rhs, const ExprScope& scope) const;
  /// Where the right-hand side is a reduction that is empty on a part of the domain: `equation` keeps the rest, and the
  /// equation of that part, whose value is the identity, comes back.
  std::optional<Equation> split(Equation& equation) const;

 private:
  struct Parts {
    std::vector<Guard> outer, own;
  };
  Parts parts_of(const Reduction& reduction, const ExprScope& scope) const;
  bool is_implied(const Guard& g, const ExprScope& scope) const;
  bool is_nonnegative(const Affine& e, const ExprScope& scope) const;
  Expr identity_of(const ExprNode& reduce) const;
  Expr guarded(const Expr& reduce, const ExprScope& scope) const;
  Expr hoisted(const Expr& e, const ExprScope& scope) const;
  Expr children(const Expr& e, const ExprScope& scope) const;

  const Program& program_;
  std::map<VarId, int64_t> least_;
};

}  // namespace polyweft::ir
