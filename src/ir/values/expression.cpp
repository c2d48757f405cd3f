// Substitution in expressions, and their free variables.
#include <algorithm>

#include "polyweft/program.h"

namespace polyweft {
namespace {

using Substitution = std::map<VarId, Affine>;

bool is_plain_variable(const Affine& e) {
  return e.constant == 0 && e.terms.size() == 1 && !e.terms[0].quasi && e.terms[0].coeff == 1;
}

Expr as_data(const Affine& e, Span where) {
  if (is_plain_variable(e)) return make_variable(e.terms[0].var, where);
  if (e.is_constant()) return make_literal({ElementType::i64, 0, e.constant}, where);
  auto node = std::make_shared<ExprNode>();
  node->op = Op::affine;
  node->type = ElementType::i64;
  node->affine = e;
  node->where = where;
  return node;
}

void substitute_in(Access& access, const Substitution& map) {
  for (Subscript& s : access.index) {
    s.affine = substitute(s.affine, map);
    s.lo = substitute(s.lo, map);
    s.hi = substitute(s.hi, map);
  }
}

void substitute_in(Reduction& reduction, const Substitution& map) {
  for (IndexRange& range : reduction.ranges) {
    auto found = map.find(range.var);
    if (found != map.end() && is_plain_variable(found->second)) range.var = found->second.terms[0].var;
    range.lo = substitute(range.lo, map);
    range.hi = substitute(range.hi, map);
  }
  reduction.where = substitute(reduction.where, map);
}

/// One node whose children are done already; null: nothing to change.
Expr substituted_node(const Expr& e, const Substitution& map) {
  if (e->op == Op::variable) {
    auto found = map.find(e->var);
    return found == map.end() ? nullptr : as_data(found->second, e->where);
  }
  if (e->op == Op::affine) return as_data(substitute(e->affine, map), e->where);
  if (e->op != Op::read && e->op != Op::guarded && e->op != Op::reduce) return nullptr;
  auto copy = std::make_shared<ExprNode>(*e);
  substitute_in(copy->access, map);
  copy->guard = substitute(copy->guard, map);
  substitute_in(copy->reduction, map);
  return copy;
}

void collect_of_node(const ExprNode& e, std::vector<VarId>& out) {
  if (e.op == Op::variable) out.push_back(e.var);
  if (e.op == Op::affine) collect_variables(e.affine, out);
  if (e.op == Op::guarded) collect_variables(e.guard, out);
  for (const Subscript& s : e.access.index) collect_variables(s.affine, out);
}

void collect_of_reduction(const Reduction& reduction, std::vector<VarId>& used, std::vector<VarId>& bound) {
  for (const IndexRange& range : reduction.ranges) {
    collect_variables(range.lo, used);
    collect_variables(range.hi, used);
    bound.push_back(range.var);
  }
  collect_variables(reduction.where, used);
}

}  // namespace

Expr substitute(const Expr& e, const std::map<VarId, Affine>& map) {
  return rewrite(e, [&](const Expr& node) { return substituted_node(node, map); });
}

/// Indices are bound once in an equation (the language forbids shadowing), so bound ones can be removed at the end.
std::vector<VarId> free_variables(const Expr& e) {
  std::vector<VarId> used, bound;
  visit(e, [&](const ExprNode& node) {
    collect_of_node(node, used);
    if (node.op == Op::reduce) collect_of_reduction(node.reduction, used, bound);
  });
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  std::erase_if(used, [&](VarId var) { return std::find(bound.begin(), bound.end(), var) != bound.end(); });
  return used;
}

}  // namespace polyweft
