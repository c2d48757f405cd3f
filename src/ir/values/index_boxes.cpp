#include "ir/values/index_boxes.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "support/integer_division.h"

namespace polyweft::ir {
namespace {

Values quasi_values(const Quasi& q, const IndexBox& box) {
  const Values e = values_of(q.e, box);
  if (q.kind == Quasi::Kind::floor_div) return {floor_quotient<Wide>(e.lo, q.den), floor_quotient<Wide>(e.hi, q.den)};
  const Values lo = values_of(q.lo, box), hi = values_of(q.hi, box);
  return {std::min(std::max(e.lo, lo.lo), hi.lo), std::min(std::max(e.hi, lo.hi), hi.hi)};
}

Values sum_of_terms(const Affine& e, const IndexBox& box) {
  Values out{e.constant, e.constant};
  for (const Term& term : e.terms) {
    const Values x = term.quasi ? quasi_values(*term.quasi, box) : box[term.var];
    out.lo += term.coeff * (term.coeff > 0 ? x.lo : x.hi);
    out.hi += term.coeff * (term.coeff > 0 ? x.hi : x.lo);
  }
  return out;
}

/// c * (x - d * (x // d)) + rest, from one of its divisions; `rest` has fewer terms.
struct Remainder {
  int64_t times = 0, den = 1;
  Affine rest;
};
std::optional<Remainder> remainder_in(const Affine& e) {
  for (const Term& term : e.terms) {
    if (!term.quasi || term.quasi->kind != Quasi::Kind::floor_div || term.coeff % term.quasi->den != 0) continue;
    const int64_t times = -term.coeff / term.quasi->den;
    Affine rest = e - Affine{{term}, 0} - times * term.quasi->e;
    if (rest.terms.size() < e.terms.size()) return Remainder{times, term.quasi->den, std::move(rest)};
  }
  return std::nullopt;
}

/// 2 * i + 4 * j == 7 has no solution in integers.
bool has_no_integer_root(const Affine& e, const IndexBox& box) {
  Wide rest = e.constant;
  int64_t unit = 0;
  for (const Term& term : e.terms) {
    const Values x = term.quasi ? quasi_values(*term.quasi, box) : box[term.var];
    if (x.is_point())
      rest += term.coeff * x.lo;
    else
      unit = std::gcd(unit, term.coeff);
  }
  return unit > 1 && rest % unit != 0;
}

/// The opposite of a condition without negations.
Guard opposite(const Guard& g) {
  if (g.kind == Guard::Kind::ge0) return guard_ge0(Affine::of(-1) - g.e);
  if (g.kind == Guard::Kind::eq0) return guard_any({guard_ge0(g.e - Affine::of(1)), guard_ge0(Affine::of(-1) - g.e)});
  if (g.kind == Guard::Kind::negation) return g.of.front();
  std::vector<Guard> of;
  for (const Guard& part : g.of) of.push_back(guard_not(part));
  return g.kind == Guard::Kind::all ? guard_any(std::move(of)) : guard_all(std::move(of));
}

bool narrow_once(const Guard& g, IndexBox& box) {
  switch (g.kind) {
    case Guard::Kind::ge0:
      return narrow(g.e, box);
    case Guard::Kind::eq0: {
      const bool above = narrow(g.e, box);
      return narrow(-1 * g.e, box) || above;
    }
    case Guard::Kind::negation:
      return narrow_once(opposite(g.of.front()), box);
    case Guard::Kind::all: {
      bool changed = false;
      for (const Guard& part : g.of) changed |= narrow_once(part, box);
      return changed;
    }
    case Guard::Kind::any:
      break;
  }
  std::optional<IndexBox> either;
  for (const Guard& part : g.of) {
    IndexBox one = box;
    narrow({part}, one);
    if (!is_empty(one)) either = either ? hull(*either, one) : one;
  }
  if (!either) either = IndexBox(box.size(), Values{0, -1});
  const bool changed = *either != box;
  box = *std::move(either);
  return changed;
}

}  // namespace

bool is_empty(const IndexBox& box) {
  return std::any_of(box.begin(), box.end(), [](const Values& v) { return v.is_empty(); });
}

IndexBox hull(const IndexBox& a, const IndexBox& b) {
  IndexBox out = a;
  for (size_t d = 0; d < out.size(); ++d) out[d] = {std::min(a[d].lo, b[d].lo), std::max(a[d].hi, b[d].hi)};
  return out;
}

Values values_of(const Affine& e, const IndexBox& box) {
  Values out = sum_of_terms(e, box);
  if (const auto remainder = remainder_in(e)) {
    const Values rest = values_of(remainder->rest, box);
    const Wide most = Wide{remainder->times} * (remainder->den - 1);
    out = {std::max(out.lo, rest.lo + std::min<Wide>(0, most)), std::min(out.hi, rest.hi + std::max<Wide>(0, most))};
  }
  return out;
}

Truth truth_of(const Guard& g, const IndexBox& box) {
  if (g.kind == Guard::Kind::ge0 || g.kind == Guard::Kind::eq0) {
    const Values e = values_of(g.e, box);
    if (g.kind == Guard::Kind::ge0) return e.lo >= 0 ? Truth::yes : e.hi < 0 ? Truth::no : Truth::open;
    if (e.lo > 0 || e.hi < 0 || has_no_integer_root(g.e, box)) return Truth::no;
    return e.is_point() ? Truth::yes : Truth::open;
  }
  if (g.kind == Guard::Kind::negation) {
    const Truth inner = truth_of(g.of.front(), box);
    return inner == Truth::yes ? Truth::no : inner == Truth::no ? Truth::yes : Truth::open;
  }
  const Truth decides = g.kind == Guard::Kind::all ? Truth::no : Truth::yes;
  Truth out = decides == Truth::no ? Truth::yes : Truth::no;
  for (const Guard& part : g.of) {
    const Truth one = truth_of(part, box);
    if (one == decides) return decides;
    if (one == Truth::open) out = Truth::open;
  }
  return out;
}

bool narrow(const Affine& e, IndexBox& box) {
  const Values whole = sum_of_terms(e, box);
  for (const Term& term : e.terms) {
    if (term.quasi) continue;
    Values& v = box[term.var];
    const Wide rest = whole.hi - term.coeff * (term.coeff > 0 ? v.hi : v.lo);  // coeff * v + rest >= 0
    const Values before = v;
    if (term.coeff > 0)
      v.lo = std::max(v.lo, -floor_quotient<Wide>(rest, term.coeff));
    else
      v.hi = std::min(v.hi, floor_quotient<Wide>(rest, -Wide{term.coeff}));
    if (!(before == v)) return true;  // `whole` is of the box before
  }
  return false;
}

void narrow(const std::vector<Guard>& conditions, IndexBox& box) {
  constexpr int kRounds = 16;
  bool changed = true;
  for (int round = 0; round < kRounds && changed; ++round) {
    changed = false;
    for (const Guard& g : conditions) {
      changed |= narrow_once(g, box);
      if (is_empty(box)) return;
    }
  }
}

}  // namespace polyweft::ir
