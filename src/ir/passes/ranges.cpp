#include "ir/passes/ranges.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "support/integer_division.h"

namespace polyweft::ir {
namespace {

constexpr int64_t kFarthestValue = INT64_MAX / 4;
int64_t bounded(int64_t v) {
  return std::clamp(v, -kFarthestValue, kFarthestValue);
}
int64_t scaled(int64_t v, int64_t by) {
  return static_cast<int64_t>(std::clamp<__int128>(static_cast<__int128>(v) * by, -kFarthestValue, kFarthestValue));
}

}  // namespace

std::string key_of(const Affine& e) {
  std::string out;
  for (const auto& term : e.terms) {
    out += std::to_string(term.coeff) + "*";
    if (!term.quasi) {
      out += std::to_string(term.var) + ";";
      continue;
    }
    const Quasi& q = *term.quasi;
    out += q.kind == Quasi::Kind::floor_div ? "(" + key_of(q.e) + "/" + std::to_string(q.den) + ");"
                                            : "[" + key_of(q.e) + "," + key_of(q.lo) + "," + key_of(q.hi) + "];";
  }
  return out + "+" + std::to_string(e.constant);
}

IntegerRange ValueFacts::range(const Affine& e) const {
  constexpr int kMostRemainders = 3;  // taken out of one expression: with n of them each order is another way, n!
  return range(e, kMostRemainders);
}

IntegerRange ValueFacts::range(const Affine& e, int remainders) const {
  IntegerRange out{e.constant, e.constant};
  for (const auto& term : e.terms) {
    IntegerRange t{-kFarthestValue, kFarthestValue};
    if (!term.quasi) {
      if (const auto it = facts_.find(term.var); it != facts_.end()) t = {it->second.lo, it->second.hi};
    } else if (term.quasi->kind == Quasi::Kind::floor_div) {
      const IntegerRange inner = range(term.quasi->e);
      t = {floor_quotient(inner.lo, term.quasi->den), floor_quotient(inner.hi, term.quasi->den)};
    } else {
      const IntegerRange x = range(term.quasi->e), lo = range(term.quasi->lo), hi = range(term.quasi->hi);
      t = {std::min(std::max(x.lo, lo.lo), hi.lo), std::min(std::max(x.hi, lo.hi), hi.hi)};
    }
    const int64_t a = scaled(t.lo, term.coeff), b = scaled(t.hi, term.coeff);
    out = {bounded(out.lo + std::min(a, b)), bounded(out.hi + std::max(a, b))};
  }
  // k (x - den * floor(x / den)) is a remainder, k times: the row of a ring.
  for (const auto& term : e.terms) {
    if (remainders == 0 || !term.quasi || term.quasi->kind != Quasi::Kind::floor_div ||
        term.coeff % term.quasi->den != 0)
      continue;
    const int64_t times = -term.coeff / term.quasi->den, most = scaled(term.quasi->den - 1, times);
    Affine quotient;
    quotient.terms = {term};
    const Affine others = e - without_exact_quotients(times * term.quasi->e) - quotient;
    if (others.terms.size() >= e.terms.size()) continue;
    const IntegerRange rest = range(others, remainders - 1);
    out = {std::max(out.lo, bounded(rest.lo + std::min<int64_t>(most, 0))),
           std::min(out.hi, bounded(rest.hi + std::max<int64_t>(most, 0)))};
  }
  return out;
}

IntegerRange ValueFacts::range_by_neighbours(const Affine& e) const {
  IntegerRange out = range(e);
  for (const auto& term : e.terms) {
    const auto known = term.quasi || term.coeff < 0 ? facts_.end() : facts_.find(term.var);
    if (known == facts_.end()) continue;
    for (const Affine& most : known->second.at_most)
      out.hi = std::min(out.hi, range(e + term.coeff * (most - Affine::variable(term.var))).hi);
  }
  return out;
}

void ValueFacts::assume(const Affine& e) {
  for (const auto& term : e.terms) {
    const auto known = term.quasi ? facts_.end() : facts_.find(term.var);
    if (known == facts_.end()) continue;
    Affine others = e;
    std::erase_if(others.terms, [&](const Term& other) { return !other.quasi && other.var == term.var; });
    const int64_t most = range(others).hi, unit = std::max<int64_t>(known->second.divisor, 1);  // coeff * v >= -most
    if (most >= kFarthestValue) continue;
    VariableFacts narrower = known->second;
    if (term.coeff > 0)
      narrower.lo = std::max(narrower.lo, ceil_quotient(ceil_quotient(-most, term.coeff), unit) * unit);
    else
      narrower.hi = std::min(narrower.hi, floor_quotient(floor_quotient(most, -term.coeff), unit) * unit);
    if (narrower.lo <= narrower.hi) known->second = std::move(narrower);  // else nothing runs here
  }
}

void ValueFacts::assume(const Guard& g, bool holds) {
  switch (g.kind) {
    case Guard::Kind::ge0:
      return assume(holds ? g.e : Affine::of(-1) - g.e);
    case Guard::Kind::eq0:
      if (!holds) return;
      assume(g.e);
      return assume(Affine::of(0) - g.e);
    case Guard::Kind::negation:
      return assume(g.of[0], !holds);
    case Guard::Kind::all:
    case Guard::Kind::any:
      if ((g.kind == Guard::Kind::all) != holds && g.of.size() != 1) return;
      for (const auto& part : g.of) assume(part, holds);
  }
}

std::optional<bool> ValueFacts::decide(const Guard& g) const {
  switch (g.kind) {
    case Guard::Kind::ge0: {
      const IntegerRange r = range(g.e);
      if (r.lo >= 0) return true;
      if (r.hi < 0) return false;
      return std::nullopt;
    }
    case Guard::Kind::eq0: {
      const IntegerRange r = range(g.e);
      if (r.lo == 0 && r.hi == 0) return true;
      if (r.lo > 0 || r.hi < 0) return false;
      return std::nullopt;
    }
    case Guard::Kind::negation: {
      const auto inner = decide(g.of[0]);
      return inner ? std::optional(!*inner) : std::nullopt;
    }
    case Guard::Kind::all:
    case Guard::Kind::any: {
      const bool absorbing = g.kind == Guard::Kind::any;
      bool all_known = true;
      for (const auto& part : g.of) {
        const auto known = decide(part);
        if (known == absorbing) return absorbing;
        all_known &= known.has_value();
      }
      return all_known ? std::optional(!absorbing) : std::nullopt;
    }
  }
  return std::nullopt;
}

bool ValueFacts::is_remainder(const Affine& e, int64_t den) const {
  const IntegerRange r = range_by_neighbours(e);
  return r.lo >= 0 && r.hi < den;
}

/// 8 (t mod 4) is 8 t - 32 floor(t / 4): below 32, if its quotient stays with it.
ValueFacts::Split ValueFacts::split(const Affine& e, int64_t den) const {
  Split all = split(e, den, true);
  if (is_remainder(all.rest, den)) return all;
  Split linear = split(e, den, false);
  return is_remainder(linear.rest, den) ? linear : all;
}

ValueFacts::Split ValueFacts::split(const Affine& e, int64_t den, bool with_quotients) const {
  Split out;
  out.multiple.constant = floor_quotient(e.constant, den) * den;
  out.rest.constant = e.constant - out.multiple.constant;
  for (const auto& term : e.terms) {
    int64_t divisor = 1;
    if (!term.quasi)
      if (const auto it = facts_.find(term.var); it != facts_.end()) divisor = it->second.divisor;
    const bool divides = (with_quotients || !term.quasi) && scaled(term.coeff, divisor) % den == 0;
    (divides ? out.multiple : out.rest).terms.push_back(term);
  }
  return out;
}

/// Neighbours in a block of g elements, where g divides den, have one quotient, and remainders that are neighbours:
/// vectors of 8 in a window of 96. The largest such power of two.
ValueFacts::Split ValueFacts::blocks(const Affine& e, int64_t den) const {
  constexpr int64_t kLargest = 1024;
  int64_t g = den & -den;
  while (g > kLargest) g /= 2;
  for (; g > 1; g /= 2)
    if (Split s = split(e, g); is_remainder(s.rest, g)) return s;
  return {e, {}};
}

Affine ValueFacts::quotient(const Affine& e, int64_t den) const {
  if (den == 1) return e;
  const Split s = split(e, den);
  Affine out;
  if (is_remainder(s.rest, den)) {
    out.constant = s.multiple.constant / den;
    for (const auto& term : s.multiple.terms) {
      Affine one;
      one.terms = {term};
      if (term.coeff % den == 0) {
        one.terms[0].coeff /= den;
        out = out + one;
      } else {
        out = out + floor_div(one, den);
      }
    }
    return out;
  }
  return floor_div(blocks(e, den).multiple, den);
}

Affine ValueFacts::remainder(const Affine& e, int64_t den) const {
  if (den == 1) return Affine::of(0);
  const Split s = split(e, den);
  if (is_remainder(s.rest, den)) return s.rest;
  const Split block = blocks(s.rest, den);
  return modulo(block.multiple, den) + block.rest;
}

Affine ValueFacts::simplify(const Affine& e) const {
  Affine out = Affine::of(e.constant);
  for (const auto& term : e.terms) {
    if (!term.quasi) {
      out = out + Affine::variable(term.var, term.coeff);
      continue;
    }
    const Affine inner = simplify(term.quasi->e);
    if (term.quasi->kind == Quasi::Kind::floor_div) {
      out = out + term.coeff * quotient(inner, term.quasi->den);
      continue;
    }
    const Affine lo = simplify(term.quasi->lo), hi = simplify(term.quasi->hi);
    const bool above = range(inner - lo).lo >= 0, below = range_by_neighbours(inner - hi).hi <= 0;
    out = out + term.coeff * (above && below ? inner : clamp(inner, lo, hi));
  }
  return out;
}

Affine ValueFacts::coarse_quotient(const Affine& e, int64_t den) const {
  if (den == 1) return e;
  const auto unit_of = [&](const Term& term) {
    const auto known = term.quasi ? facts_.end() : facts_.find(term.var);
    return std::abs(scaled(term.coeff, known == facts_.end() ? 1 : known->second.divisor));
  };
  const auto divided = [](const Term& term, int64_t by) {
    Affine one;
    one.terms = {term};
    if (term.coeff % by != 0) return floor_div(one, by);
    one.terms[0].coeff /= by;
    return one;
  };
  Affine out = Affine::of(floor_quotient(e.constant, den)), rest = Affine::of(floor_remainder(e.constant, den));
  for (const auto& term : e.terms)
    if (unit_of(term) % den == 0)
      out = out + divided(term, den);
    else
      rest.terms.push_back(term);
  if (is_remainder(rest, den)) return out;
  std::optional<Affine> least;
  int64_t most = 1;
  for (const auto& each : rest.terms) {
    const int64_t unit = std::gcd(unit_of(each), den);
    if (unit <= most) continue;
    Affine large = Affine::of(floor_quotient(rest.constant, unit)),
           small = Affine::of(floor_remainder(rest.constant, unit));
    for (const Term& term : rest.terms)
      if (unit_of(term) % unit == 0)
        large = large + divided(term, unit);
      else
        small.terms.push_back(term);
    if (!is_remainder(small, unit)) continue;
    least = std::move(large), most = unit;
  }
  return out + (least ? coarse_quotient(*least, den / most) : floor_div(rest, den));
}

Affine ValueFacts::offset(const Buffer& buffer, const std::vector<Affine>& index) const {
  const auto& pieces = buffer.layout.pieces;
  std::vector<Affine> rest = index;
  const auto quotient = [&](const Affine& e, int64_t den) {
    return buffer.layout.by_xor ? coarse_quotient(e, den) : this->quotient(e, den);
  };
  const auto remainder = [&](const Affine& e, int64_t den) {
    return buffer.layout.by_xor ? e - den * coarse_quotient(e, den) : this->remainder(e, den);
  };
  for (const auto& fold : buffer.folds) rest[fold.dim] = remainder(rest[fold.dim], fold.window);
  std::vector<bool> is_first(pieces.size(), true);
  for (size_t p = 0; p < pieces.size(); ++p)
    for (size_t q = 0; q < p; ++q) is_first[p] = is_first[p] && pieces[q].dim != pieces[p].dim;
  Affine out;
  int64_t stride = 1;
  for (size_t p = pieces.size(); p-- > 0;) {
    Affine& left = rest[pieces[p].dim];
    if (is_first[p]) {
      out = out + stride * left;
    } else {
      out = out + stride * remainder(left, pieces[p].factor);
      left = quotient(left, pieces[p].factor);
    }
    stride *= pieces[p].factor + (p < buffer.layout.pad.size() ? buffer.layout.pad[p] : 0);
  }
  return without_exact_quotients(out);
}

Affine ValueFacts::without_exact_quotients(const Affine& e) const {
  Affine out = Affine::of(e.constant);
  for (const auto& term : e.terms) {
    Affine one;
    one.terms = {term};
    const bool is_quotient = term.quasi && term.quasi->kind == Quasi::Kind::floor_div && term.quasi->e.constant == 0 &&
                             term.coeff % term.quasi->den == 0;
    if (is_quotient && split(term.quasi->e, term.quasi->den).rest.terms.empty())
      one = (term.coeff / term.quasi->den) * term.quasi->e;
    out = out + one;
  }
  return out;
}

int64_t ValueFacts::divisor(const Affine& e) const {
  int64_t out = std::abs(e.constant);
  for (const auto& term : e.terms) {
    int64_t divisor = 1;
    if (!term.quasi)
      if (const auto it = facts_.find(term.var); it != facts_.end()) divisor = it->second.divisor;
    out = std::gcd(out, scaled(term.coeff, divisor));
  }
  return out;
}

int64_t ValueFacts::known_divisor(const Affine& e) const {
  return std::gcd<int64_t>(64, divisor(e));
}

}  // namespace polyweft::ir
