#include "ir/values/reduction_ranges.h"

#include <algorithm>

#include "ir/values/variables.h"
#include "support/integer_division.h"

namespace polyweft::ir {
namespace {

bool is_linear_in(const Affine& e, VarId var) {
  return std::none_of(e.terms.begin(), e.terms.end(), [&](const Term& term) {
    return term.quasi && mentions(Affine{{term}, 0}, var);
  });
}

/// value <= index, or index < value.
struct OneBound {
  bool is_lower = true;
  Affine value;
};

/// Of coefficient * index + rest >= 0. None where a division does not come out even.
std::optional<OneBound> bound_of(const Affine& e, VarId var) {
  const int64_t coeff = e.coefficient(var);
  if (coeff == 0 || !is_linear_in(e, var)) return std::nullopt;
  const Affine rest = e - Affine::variable(var, coeff);
  if (coeff == 1) return OneBound{true, Affine::of(0) - rest};
  if (coeff == -1) return OneBound{false, rest + Affine::of(1)};
  if (!rest.is_constant()) return std::nullopt;
  if (coeff > 0) return OneBound{true, Affine::of(ceil_quotient(-rest.constant, coeff))};
  return OneBound{false, Affine::of(floor_quotient(rest.constant, -coeff) + 1)};
}

/// All that bound the index by 1 times it; none where something else uses it.
std::optional<std::vector<OneBound>> bounds_of(const Guard& g, VarId var) {
  std::vector<OneBound> out;
  if (!mentions(g, var)) return out;
  if (g.kind != Guard::Kind::ge0 && g.kind != Guard::Kind::eq0) return std::nullopt;
  if (std::abs(g.e.coefficient(var)) != 1 || !is_linear_in(g.e, var)) return std::nullopt;
  out.push_back(*bound_of(g.e, var));
  if (g.kind == Guard::Kind::eq0) out.push_back(*bound_of(Affine::of(0) - g.e, var));
  return out;
}

/// The bound that is at least (lower) or at most (upper) all others.
std::optional<Affine> tightest(const std::vector<Affine>& bounds, bool is_lower, const AffineFacts& facts) {
  for (const Affine& one : bounds)
    if (std::all_of(bounds.begin(), bounds.end(), [&](const Affine& other) {
          return one == other || facts.is_nonnegative(is_lower ? one - other : other - one);
        }))
      return one;
  return std::nullopt;
}

AffineFacts with_ranges(AffineFacts facts, const std::vector<IndexRange>& ranges, size_t count) {
  for (size_t k = 0; k < count; ++k) facts = facts.with(ranges[k]);
  return facts;
}

/// k != its first or last value.
bool takes_end(IndexRange& range, const Guard& g) {
  if (g.kind != Guard::Kind::negation || g.of.front().kind != Guard::Kind::eq0) return false;
  const Affine& e = g.of.front().e;
  if (std::abs(e.coefficient(range.var)) != 1 || !is_linear_in(e, range.var)) return false;
  const Affine value = bound_of(e.coefficient(range.var) == 1 ? e : Affine::of(0) - e, range.var)->value;
  if (value == range.lo)
    range.lo = value + Affine::of(1);
  else if (value == range.hi - Affine::of(1))
    range.hi = value;
  else
    return false;
  return true;
}

/// Does the condition bound the range's index, uses no index bound later, and more tightly than the range everywhere?
/// The range then has it.
bool takes(IndexRange& range, const Guard& g, const std::vector<IndexRange>& ranges, size_t position,
           const AffineFacts& before) {
  if (takes_end(range, g)) return true;
  if (g.kind != Guard::Kind::ge0) return false;
  for (size_t later = position + 1; later < ranges.size(); ++later)
    if (mentions(g, ranges[later].var)) return false;
  const auto bound = bound_of(g.e, range.var);
  if (!bound) return false;
  Affine& end = bound->is_lower ? range.lo : range.hi;
  if (!before.is_nonnegative(bound->is_lower ? bound->value - end : end - bound->value)) return false;
  end = bound->value;
  return true;
}

}  // namespace

bool mentions(const Expr& e, VarId var) {
  if (contains(free_variables(e), var)) return true;
  bool in_limits = false;
  visit(e, [&](const ExprNode& node) {
    for (const Subscript& s : node.access.index)
      in_limits = in_limits || (s.data && (mentions(s.lo, var) || mentions(s.hi, var)));
  });
  return in_limits;
}

bool has_reduction(const Expr& e) {
  bool found = false;
  visit(e, [&](const ExprNode& node) { found = found || node.op == Op::reduce; });
  return found;
}

std::vector<Guard> conjuncts(const Guard& g) {
  return g.kind == Guard::Kind::all ? g.of : std::vector<Guard>{g};
}

Guard without_division(const Guard& g) {
  if (g.kind != Guard::Kind::ge0) {
    if (g.kind == Guard::Kind::eq0) return g;
    std::vector<Guard> of;
    for (const Guard& part : g.of) of.push_back(without_division(part));
    if (g.kind == Guard::Kind::negation) return guard_not(std::move(of.front()));
    return g.kind == Guard::Kind::all ? guard_all(std::move(of)) : guard_any(std::move(of));
  }
  const auto quasi = std::find_if(g.e.terms.begin(), g.e.terms.end(), [](const Term& term) {
    return term.quasi && term.quasi->kind == Quasi::Kind::floor_div;
  });
  if (quasi == g.e.terms.end()) return g;
  const Affine rest = g.e - Affine{{*quasi}, 0};
  if (!rest.is_linear() || std::abs(quasi->coeff) != 1) return g;
  const int64_t den = quasi->quasi->den;
  // q >= -rest: e >= den * -rest;   q <= rest: e <= den * rest + den - 1
  return without_division(
      guard_ge0(quasi->coeff == 1 ? quasi->quasi->e + den * rest : den * rest + Affine::of(den - 1) - quasi->quasi->e));
}

Reduction narrowed(const Reduction& reduction, const AffineFacts& around) {
  Reduction out = reduction;
  for (bool changed = true; changed;) {
    out.where = with_ranges(around, out.ranges, out.ranges.size()).simplified(out.where);
    std::vector<Guard> open = conjuncts(out.where);
    const size_t before = open.size();
    for (size_t k = 0; k < out.ranges.size(); ++k) {
      const AffineFacts facts = with_ranges(around, out.ranges, k);
      std::erase_if(open, [&](const Guard& g) { return takes(out.ranges[k], g, out.ranges, k, facts); });
    }
    changed = open.size() < before;
    out.where = guard_all(std::move(open));
  }
  return out;
}

std::optional<Projection> without_index(const Reduction& reduction, size_t position, Projected what,
                                        const AffineFacts& around) {
  const IndexRange gone = reduction.ranges[position];
  std::vector<Affine> lower = {gone.lo}, upper = {gone.hi};
  AffineFacts all = around;
  Projection out{reduction, {}};
  out.rest.ranges.erase(out.rest.ranges.begin() + static_cast<std::ptrdiff_t>(position));
  std::vector<Guard> kept;
  const auto take = [&](const Guard& g, bool is_condition) {
    const auto bounds = bounds_of(g, gone.var);
    if (!bounds) return false;
    for (const OneBound& bound : *bounds) (bound.is_lower ? lower : upper).push_back(bound.value);
    if (is_condition && bounds->empty()) kept.push_back(g);
    return true;
  };
  for (size_t k = 0; k < reduction.ranges.size(); ++k) {
    const IndexRange& range = reduction.ranges[k];
    all = all.with(range);
    if (k <= position || (!mentions(range.lo, gone.var) && !mentions(range.hi, gone.var))) continue;
    const Affine index = Affine::variable(range.var);
    if (!take(guard_ge0(index - range.lo), false) || !take(guard_ge0(range.hi - Affine::of(1) - index), false))
      return std::nullopt;
    IndexRange& wide = out.rest.ranges[k - 1];
    const Affine last = gone.hi - Affine::of(1);
    wide.lo = substitute(wide.lo, {{gone.var, range.lo.coefficient(gone.var) > 0 ? gone.lo : last}});
    wide.hi = substitute(wide.hi, {{gone.var, range.hi.coefficient(gone.var) > 0 ? last : gone.lo}});
  }
  for (const Guard& g : conjuncts(reduction.where)) {
    all = all.with(g);
    if (!take(g, true)) return std::nullopt;
  }
  for (const Affine& low : lower)
    for (const Affine& high : upper) kept.push_back(guard_ge0(high - low - Affine::of(1)));
  out.rest.where = guard_all(std::move(kept));
  if (what == Projected::counted) {
    const auto low = tightest(lower, true, all), high = tightest(upper, false, all);
    if (!low || !high) return std::nullopt;
    out.count = *high - *low;
  }
  return out;
}

}  // namespace polyweft::ir
