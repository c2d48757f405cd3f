#include "ir/instantiate/loop_variables.h"

#include <algorithm>
#include <numeric>

#include "support/integer_division.h"

namespace polyweft::ir {

namespace {

constexpr int64_t kFar = int64_t{1} << 60;

/// Constant limits become part of the range.
void settle(Range& range) {
  int64_t begin = 0, end = range.extent;
  for (const Affine& e : range.lower)
    if (e.is_constant()) begin = std::max(begin, e.constant);
  for (const Limit& limit : range.upper)
    if (limit.e.is_constant()) end = std::min(end, limit.e.constant);
  if (begin >= end || (begin == 0 && end == range.extent)) return;
  range.origin = range.origin + Affine::of(begin);
  range.extent = end - begin;
  for (Affine& e : range.lower) e = e - Affine::of(begin);
  for (Limit& limit : range.upper) {
    limit.e = limit.e - Affine::of(begin);
    limit.positive = false;
  }
  std::erase_if(range.lower, [](const Affine& e) { return e.is_constant(); });
  std::erase_if(range.upper, [](const Limit& limit) { return limit.e.is_constant(); });
}

}  // namespace

void LoopVariables::add(Values values) {
  values.most = std::max<int64_t>(values.most, 0);
  values_.push_back(values);
}

void LoopVariables::set_most(VarId var, int64_t most) {
  values_[var - parameters_].most = most;
}

void LoopVariables::restore(const std::vector<Values>& before) {
  std::copy(before.begin(), before.end(), values_.begin());
}

void LoopVariables::narrow(const Affine& e) {
  for (const Term& term : e.terms) {
    if (term.quasi || term.coeff >= 0 || term.var < parameters_) continue;
    const int64_t rest = numeric_bounds(e - Affine::variable(term.var, term.coeff)).second;
    Values& known = values_[term.var - parameters_];
    known.most = std::min(known.most, std::max<int64_t>(rest, 0) / -term.coeff / known.step * known.step);
  }
}

std::pair<int64_t, int64_t> LoopVariables::numeric_bounds(const Affine& e) const {
  int64_t lo = e.constant, hi = e.constant;
  for (const Term& term : e.terms) {
    std::pair<int64_t, int64_t> inner{0, 0};
    if (!term.quasi) {
      inner.second = most(term.var);
    } else if (term.quasi->kind == Quasi::Kind::floor_div) {
      auto [a, b] = numeric_bounds(term.quasi->e);
      inner = {floor_quotient(a, term.quasi->den), floor_quotient(b, term.quasi->den)};
    } else {
      inner = {numeric_bounds(term.quasi->lo).first, numeric_bounds(term.quasi->hi).second};
    }
    lo += term.coeff * (term.coeff > 0 ? inner.first : inner.second);
    hi += term.coeff * (term.coeff > 0 ? inner.second : inner.first);
  }
  return {std::max(lo, -kFar), std::min(hi, kFar)};
}

std::optional<int64_t> LoopVariables::residue(const Affine& e, int64_t modulus) const {
  for (const Term& term : e.terms) {
    if (term.coeff % modulus == 0) continue;
    if (term.quasi) return std::nullopt;
    if (floor_remainder(term.coeff, modulus) * floor_remainder(step(term.var), modulus) % modulus != 0)
      return std::nullopt;
  }
  return floor_remainder(e.constant, modulus);
}

int64_t LoopVariables::unit(const Affine& e) const {
  int64_t out = 0;
  for (const Term& term : e.terms) out = std::gcd(out, term.quasi ? 1 : term.coeff * step(term.var));
  return out;
}

/// min(max(e, lo), hi) without what cannot act on the values that the variables take here: in the middle of an image a
/// clamped column is the column.
Affine LoopVariables::without_idle_limits(const Quasi& clamped) const {
  const Affine e = without_lanes(clamped.e);
  const bool stays_above = numeric_bounds(e - clamped.lo).first >= 0;
  const bool stays_below = numeric_bounds(clamped.hi - e).first >= 0;
  if (stays_above && stays_below) return e;
  // min acts last: where it always does, the result is hi, whatever max made.
  if (numeric_bounds(e - clamped.hi).first >= 0) return clamped.hi;
  const bool is_ordered = numeric_bounds(clamped.hi - clamped.lo).first >= 0;
  if (numeric_bounds(clamped.lo - e).first >= 0 && is_ordered) return clamped.lo;
  return clamp(e, clamped.lo, clamped.hi);
}

/// The terms that the quotient depends on: those that are multiples of a unit, where the others stay below it.
Affine LoopVariables::quotient_without_lanes(const Quasi& quotient) const {
  const int64_t den = quotient.den;
  Affine whole = without_lanes(quotient.e);
  std::vector<int64_t> multiples;  // of each of its terms, as far as they divide den
  for (const Term& part : whole.terms)
    multiples.push_back(std::gcd(part.coeff * (part.quasi ? 1 : step(part.var)), den));
  std::vector<int64_t> tries = multiples;
  std::sort(tries.rbegin(), tries.rend());
  for (int64_t unit : tries) {
    Affine rest = Affine::of(whole.constant), blocks;
    for (size_t k = 0; k < whole.terms.size(); ++k)
      (multiples[k] % unit == 0 ? blocks : rest).terms.push_back(whole.terms[k]);
    const auto [least, most] = numeric_bounds(rest);
    if (least >= 0 && most < unit) return floor_div(blocks, den);
  }
  return floor_div(whole, den);
}

Affine LoopVariables::without_lanes(const Affine& e) const {
  Affine out = Affine::of(e.constant);
  for (const Term& term : e.terms) {
    if (!term.quasi) {
      Affine same;
      same.terms = {term};
      out = out + same;
    } else if (term.quasi->kind == Quasi::Kind::clamp) {
      out = out + term.coeff * without_idle_limits(*term.quasi);
    } else {
      out = out + term.coeff * quotient_without_lanes(*term.quasi);
    }
  }
  return out;
}

bool LoopVariables::never_cuts(const Limit& limit, int64_t extent) const {
  if (numeric_bounds(limit.e).first >= extent) return true;
  return limit.positive && residue(limit.e, extent) == 0;
}

void LoopVariables::prune(Range& range) const {
  std::erase_if(range.upper, [&](const Limit& limit) { return never_cuts(limit, range.extent); });
  std::erase_if(range.lower, [&](const Affine& e) { return numeric_bounds(e).second <= 0; });
  std::vector<Limit> kept;
  for (auto& limit : range.upper)
    if (std::none_of(kept.begin(), kept.end(), [&](const Limit& k) { return k.e == limit.e; })) kept.push_back(limit);
  range.upper = std::move(kept);
  settle(range);
}

void LoopVariables::drop_implied(Range& range) const {
  auto drop = [&](auto& limits, const auto& never_narrower) {
    for (size_t k = limits.size(); k-- > 0;)
      for (size_t other = 0; other < limits.size(); ++other)
        if (other != k && never_narrower(limits[k], limits[other])) {
          limits.erase(limits.begin() + static_cast<std::ptrdiff_t>(k));
          break;
        }
  };
  drop(range.upper, [&](const Limit& a, const Limit& b) { return numeric_bounds(a.e - b.e).first >= 0; });
  drop(range.lower, [&](const Affine& a, const Affine& b) { return numeric_bounds(b - a).first >= 0; });
}

std::optional<Range> LoopVariables::constant_rest(const Range& range) const {
  if (range.upper.size() + range.lower.size() != 1) return std::nullopt;
  if (range.lower.empty()) {
    const Limit& limit = range.upper[0];
    auto tail = residue(limit.e, range.extent);
    if (!tail || *tail == 0 || !(limit.positive || numeric_bounds(limit.e).first > 0)) return std::nullopt;
    return Range{range.origin, *tail, {}, {}};
  }
  // The cut takes e elements, 0 < e < extent, so that e is its residue.
  auto head = residue(range.lower[0], range.extent);
  if (!head || *head == 0 || numeric_bounds(range.lower[0]).second >= range.extent) return std::nullopt;
  return Range{range.origin + Affine::of(*head), range.extent - *head, {}, {}};
}

Range LoopVariables::advanced(const Range& range, const Affine& by, int64_t extent) const {
  Range out;
  out.origin = range.origin + by;
  out.extent = extent;
  if (extent < range.extent && (range.extent % extent != 0 || residue(by, extent) != 0))
    out.upper.push_back({Affine::of(range.extent) - by, true});
  for (const auto& limit : range.upper) out.upper.push_back({limit.e - by, limit.positive});
  for (const auto& limit : range.lower) out.lower.push_back(limit - by);
  prune(out);
  return out;
}

}  // namespace polyweft::ir
