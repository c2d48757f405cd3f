#include "ir/normalize/hoisted_guards.h"

#include <algorithm>

#include "ir/values/reduction_ranges.h"
#include "ir/values/scalar.h"

namespace polyweft::ir {
namespace {

bool mentions_any(const Guard& g, const std::vector<IndexRange>& ranges) {
  std::vector<VarId> used;
  collect_variables(g, used);
  return std::any_of(used.begin(), used.end(), [&](VarId var) {
    return std::any_of(ranges.begin(), ranges.end(), [&](const IndexRange& r) { return r.var == var; });
  });
}

Expr with_where(const Expr& reduce, std::vector<Guard> where) {
  auto copy = std::make_shared<ExprNode>(*reduce);
  copy->reduction.where = guard_all(std::move(where));
  return copy;
}

}  // namespace

bool GuardHoister::is_nonnegative(const Affine& e, const ExprScope& scope) const {
  const Affine at_least = least_over(scope, e);
  if (!at_least.is_linear()) return false;
  int64_t value = at_least.constant;
  for (const Term& term : at_least.terms) {
    const auto known = least_.find(term.var);
    if (known == least_.end() || term.coeff < 0) return false;
    value += term.coeff * known->second;
  }
  return value >= 0;
}

/// Enough to see what the ranges and conditions around say already: itself, or less than one of them.
bool GuardHoister::is_implied(const Guard& g, const ExprScope& scope) const {
  if (std::find(scope.conditions.begin(), scope.conditions.end(), g) != scope.conditions.end()) return true;
  if (g.kind == Guard::Kind::any)
    return std::any_of(g.of.begin(), g.of.end(), [&](const Guard& part) { return is_implied(part, scope); });
  if (g.kind == Guard::Kind::all)
    return std::all_of(g.of.begin(), g.of.end(), [&](const Guard& part) { return is_implied(part, scope); });
  if (g.kind != Guard::Kind::ge0) return false;
  std::vector<Affine> facts = {Affine::of(0)};
  for (const Guard& known : scope.conditions)
    if (known.kind == Guard::Kind::ge0) facts.push_back(known.e);
  for (const IndexRange& range : scope.indices) {
    facts.push_back(Affine::variable(range.var) - range.lo);
    facts.push_back(range.hi - Affine::of(1) - Affine::variable(range.var));
  }
  return std::any_of(facts.begin(), facts.end(), [&](const Affine& fact) { return is_nonnegative(g.e - fact, scope); });
}

GuardHoister::Parts GuardHoister::parts_of(const Reduction& reduction, const ExprScope& scope) const {
  Parts out;
  for (const Guard& g : conjuncts(reduction.where)) {
    if (mentions_any(g, reduction.ranges))
      out.own.push_back(g);
    else if (!is_implied(g, scope))
      (is_argument(reduction.reducer) ? out.own : out.outer).push_back(g);
  }
  return out;
}

Expr GuardHoister::identity_of(const ExprNode& reduce) const {
  if (reduce.reduction.reducer != Reducer::combiner)
    return make_literal(identity(reduce.reduction.reducer, reduce.type), reduce.where);
  std::vector<Expr> components;
  for (const Literal& value : program_.combiners[reduce.reduction.combiner].identity)
    components.push_back(make_literal(value, reduce.where));
  return components.size() == 1 ? components[0] : make_op(Op::tuple, components[0]->type, components, reduce.where);
}

Expr GuardHoister::guarded(const Expr& reduce, const ExprScope& scope) const {
  Parts parts = parts_of(reduce->reduction, scope);
  const Guard outer = guard_all(std::move(parts.outer));
  const Expr rest = children(with_where(reduce, std::move(parts.own)), under(scope, outer));
  if (outer.is_true()) return rest;
  auto out = std::make_shared<ExprNode>();
  out->op = Op::guarded;
  out->type = reduce->type;
  out->guard = outer;
  out->args = {rest, identity_of(*reduce)};
  out->where = reduce->where;
  return out;
}

Expr GuardHoister::children(const Expr& e, const ExprScope& scope) const {
  auto copy = std::make_shared<ExprNode>(*e);
  if (e->op == Op::reduce) {
    const ExprScope body = inside(scope, e->reduction);
    for (Expr& arg : copy->args) arg = hoisted(arg, body);
    return copy;
  }
  for (size_t k = 0; k < copy->args.size(); ++k)
    copy->args[k] = e->op == Op::guarded ? hoisted(e->args[k], under(scope, k == 0 ? e->guard : guard_not(e->guard)))
                                         : hoisted(e->args[k], scope);
  for (Subscript& s : copy->access.index)
    if (s.data) s.data = hoisted(s.data, scope);
  return copy;
}

Expr GuardHoister::hoisted(const Expr& e, const ExprScope& scope) const {
  return e->op == Op::reduce ? guarded(e, scope) : children(e, scope);
}

Expr GuardHoister::rewritten(const Expr& rhs, const ExprScope& scope) const {
  bool has_condition = false;
  visit(rhs, [&](const ExprNode& e) { has_condition |= e.op == Op::reduce && !e.reduction.where.is_true(); });
  return has_condition ? hoisted(rhs, scope) : rhs;
}

std::optional<Equation> GuardHoister::split(Equation& equation) const {
  const ExprScope scope = scope_of(equation);
  const Expr reduce = equation.rhs;
  Parts parts = parts_of(reduce->reduction, scope);
  const Guard outer = guard_all(std::move(parts.outer));
  equation.rhs = children(with_where(reduce, std::move(parts.own)), under(scope, outer));
  if (outer.is_true()) return std::nullopt;
  Equation empty = equation;
  empty.where = guard_all({equation.where, guard_not(outer)});
  empty.rhs = identity_of(*reduce);
  equation.where = guard_all({equation.where, outer});
  renumber(program_, empty);
  return empty;
}

}  // namespace polyweft::ir
