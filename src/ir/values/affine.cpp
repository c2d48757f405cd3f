// Quasi-affine arithmetic. Canonical form: linear terms sorted by variable, then quasi terms in structural order, equal
// ones merged, no zero coefficients. floor_div pulls out what is divisible by the denominator, so (4*x + y) // 4 is x +
// y // 4.
#include <algorithm>
#include <compare>

#include "polyweft/program.h"
#include "support/integer_division.h"

namespace polyweft {
namespace {

int compare(const Affine& a, const Affine& b);

int compare(const Quasi& a, const Quasi& b) {
  if (a.kind != b.kind) return a.kind < b.kind ? -1 : 1;
  if (int c = compare(a.e, b.e)) return c;
  if (a.den != b.den) return a.den < b.den ? -1 : 1;
  if (int c = compare(a.lo, b.lo)) return c;
  return compare(a.hi, b.hi);
}

/// Orders by the variable or quasi expression alone: linear terms first.
int compare_base(const Term& a, const Term& b) {
  if (!a.quasi != !b.quasi) return a.quasi ? 1 : -1;
  if (!a.quasi) return a.var == b.var ? 0 : a.var < b.var ? -1 : 1;
  return a.quasi == b.quasi ? 0 : compare(*a.quasi, *b.quasi);
}

int compare(const Affine& a, const Affine& b) {
  size_t n = std::min(a.terms.size(), b.terms.size());
  for (size_t k = 0; k < n; ++k) {
    if (int c = compare_base(a.terms[k], b.terms[k])) return c;
    if (a.terms[k].coeff != b.terms[k].coeff) return a.terms[k].coeff < b.terms[k].coeff ? -1 : 1;
  }
  if (a.terms.size() != b.terms.size()) return a.terms.size() < b.terms.size() ? -1 : 1;
  return a.constant == b.constant ? 0 : a.constant < b.constant ? -1 : 1;
}

/// a + factor * b by merging the sorted term lists.
Affine add_scaled(const Affine& a, int64_t factor, const Affine& b) {
  Affine out;
  out.constant = a.constant + factor * b.constant;
  out.terms.reserve(a.terms.size() + b.terms.size());
  size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    int c = i == a.terms.size() ? 1 : j == b.terms.size() ? -1 : compare_base(a.terms[i], b.terms[j]);
    Term term = c <= 0 ? a.terms[i] : b.terms[j];
    if (c > 0) term.coeff *= factor;
    if (c == 0) term.coeff += factor * b.terms[j].coeff;
    if (c <= 0) ++i;
    if (c >= 0) ++j;
    if (term.coeff != 0) out.terms.push_back(std::move(term));
  }
  return out;
}

Affine of_quasi(Quasi quasi) {
  Affine out;
  out.terms.push_back({kNoVar, 1, std::make_shared<const Quasi>(std::move(quasi))});
  return out;
}

Affine substitute_quasi(const Quasi& q, const std::map<VarId, Affine>& map) {
  Affine e = substitute(q.e, map);
  if (q.kind == Quasi::Kind::floor_div) return floor_div(e, q.den);
  return clamp(e, substitute(q.lo, map), substitute(q.hi, map));
}

int64_t evaluate_quasi(const Quasi& q, const std::vector<int64_t>& values) {
  int64_t e = evaluate(q.e, values);
  if (q.kind == Quasi::Kind::floor_div) return floor_quotient(e, q.den);
  return std::min(std::max(e, evaluate(q.lo, values)), evaluate(q.hi, values));
}

}  // namespace

Affine Affine::of(int64_t constant) {
  Affine out;
  out.constant = constant;
  return out;
}

Affine Affine::variable(VarId var, int64_t coeff) {
  Affine out;
  if (coeff != 0) out.terms.push_back({var, coeff, nullptr});
  return out;
}

bool Affine::is_linear() const {
  return terms.empty() || !terms.back().quasi;
}

int64_t Affine::coefficient(VarId var) const {
  for (const Term& term : terms)
    if (!term.quasi && term.var == var) return term.coeff;
  return 0;
}

bool operator==(const Term& a, const Term& b) {
  return a.coeff == b.coeff && compare_base(a, b) == 0;
}

bool operator==(const Affine& a, const Affine& b) {
  return compare(a, b) == 0;
}

Affine operator+(const Affine& a, const Affine& b) {
  return add_scaled(a, 1, b);
}

Affine operator-(const Affine& a, const Affine& b) {
  return add_scaled(a, -1, b);
}

Affine operator*(int64_t factor, const Affine& a) {
  return add_scaled(Affine{}, factor, a);
}

Affine floor_div(const Affine& e, int64_t den) {
  PW_CHECK(den > 0);
  if (den == 1) return e;
  Affine whole, rest;
  for (const Term& term : e.terms) {
    bool divides = term.coeff % den == 0;
    Term part = term;
    if (divides) part.coeff /= den;
    (divides ? whole : rest).terms.push_back(std::move(part));
  }
  whole.constant = floor_quotient(e.constant, den);
  rest.constant = e.constant - den * whole.constant;
  if (rest.is_constant()) return whole;
  return whole + of_quasi({Quasi::Kind::floor_div, std::move(rest), den, {}, {}});
}

Affine modulo(const Affine& e, int64_t den) {
  return e - den * floor_div(e, den);
}

Affine clamp(const Affine& e, const Affine& lo, const Affine& hi) {
  if (lo == hi) return hi;
  if (e.is_constant() && lo.is_constant() && hi.is_constant())
    return Affine::of(std::min(std::max(e.constant, lo.constant), hi.constant));
  return of_quasi({Quasi::Kind::clamp, e, 1, lo, hi});
}

Affine substitute(const Affine& e, const std::map<VarId, Affine>& map) {
  Affine out = Affine::of(e.constant);
  for (const Term& term : e.terms) {
    if (term.quasi) {
      out = add_scaled(out, term.coeff, substitute_quasi(*term.quasi, map));
      continue;
    }
    auto found = map.find(term.var);
    out =
        found == map.end() ? out + Affine::variable(term.var, term.coeff) : add_scaled(out, term.coeff, found->second);
  }
  return out;
}

int64_t evaluate(const Affine& e, const std::vector<int64_t>& values) {
  int64_t sum = e.constant;
  for (const Term& term : e.terms) {
    PW_CHECK(term.quasi || term.var < values.size());
    sum += term.coeff * (term.quasi ? evaluate_quasi(*term.quasi, values) : values[term.var]);
  }
  return sum;
}

void collect_variables(const Affine& e, std::vector<VarId>& out) {
  for (const Term& term : e.terms) {
    if (!term.quasi) {
      out.push_back(term.var);
      continue;
    }
    collect_variables(term.quasi->e, out);
    collect_variables(term.quasi->lo, out);
    collect_variables(term.quasi->hi, out);
  }
}

}  // namespace polyweft
