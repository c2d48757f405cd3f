#include "ir/normalize/periodic.h"

#include <algorithm>
#include <set>

#include "ir/values/reduction_ranges.h"

namespace polyweft::ir {
namespace {

void collect_divisors(const Affine& e, VarId index, std::set<int64_t>& out) {
  for (const Term& term : e.terms) {
    if (!term.quasi || !mentions(Affine{{term}, 0}, index)) continue;
    if (term.quasi->kind == Quasi::Kind::floor_div) out.insert(term.quasi->den);
    for (const Affine* part : {&term.quasi->e, &term.quasi->lo, &term.quasi->hi}) collect_divisors(*part, index, out);
  }
}

void collect_divisors(const Guard& g, VarId index, std::set<int64_t>& out) {
  collect_divisors(g.e, index, out);
  for (const Guard& part : g.of) collect_divisors(part, index, out);
}

}  // namespace

std::optional<int64_t> period_of(const Expr& e, VarId index) {
  if (!mentions(e, index)) return std::nullopt;
  std::set<int64_t> divisors;
  visit(e, [&](const ExprNode& node) {
    collect_divisors(node.affine, index, divisors);
    collect_divisors(node.guard, index, divisors);
    collect_divisors(node.reduction.where, index, divisors);
    for (const Subscript& s : node.access.index) collect_divisors(s.affine, index, divisors);
  });
  for (int64_t d : divisors)
    if (equal(substitute(e, {{index, Affine::variable(index) + Affine::of(d)}}), e)) return d;
  return std::nullopt;
}

}  // namespace polyweft::ir
