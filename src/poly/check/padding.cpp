#include "poly/check/padding.h"

namespace polyweft::poly::checker {
namespace {

/// Where the expression is +0 by fills alone, within `when`.
Set zero_part(const Expr& e, const Statement& s, Flow& flow, const Set& when) {
  if (e->op == Op::read) return flow.filled_with_zero(s.number, e->access, when);
  return Set(isl_set_empty(s.space.copy()));
}

}  // namespace

Set neutral_folds(const Program& program, const Statement& s, Flow& flow, const Set& points) {
  const Compute& c = *s.compute;
  Set none(isl_set_empty(s.space.copy()));
  bool is_sum_of_products =
      c.how == Write::accumulate && c.reducer == Reducer::sum && c.rhs.size() == 1 && c.rhs[0]->op == Op::mul;
  if (!is_sum_of_products) return none;
  const Equation& equation = program.equations[c.equation];
  Set padding =
      subtract(intersect(s.domain, holds(domain_guard(equation, indices_of(program, s), false), s.space)), points);
  if (is_empty(padding)) return none;
  Set left = zero_part(c.rhs[0]->args[0], s, flow, padding);
  return is_empty(left) ? left : zero_part(c.rhs[0]->args[1], s, flow, left);
}

}  // namespace polyweft::poly::checker
