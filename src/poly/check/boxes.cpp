#include "poly/check/boxes.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "support/integer_division.h"

namespace polyweft::poly::checker {
namespace {

constexpr __int128 kMost = __int128{1} << 60;

Bounds bounded(__int128 least, __int128 greatest) {
  if (least < -kMost || greatest > kMost) return std::nullopt;
  return Interval{static_cast<int64_t>(least), static_cast<int64_t>(greatest)};
}

Bounds bounds_of_quasi(const Quasi& q, const Box& box) {
  Bounds inner = bounds_of(q.e, box);
  if (!inner) return inner;
  if (q.kind == Quasi::Kind::floor_div)
    return Interval{floor_quotient(inner->least, q.den), floor_quotient(inner->greatest, q.den)};
  Bounds lo = bounds_of(q.lo, box), hi = bounds_of(q.hi, box);
  if (!lo || !hi) return std::nullopt;
  return Interval{std::min(std::max(inner->least, lo->least), hi->least),
                  std::min(std::max(inner->greatest, lo->greatest), hi->greatest)};
}

/// Range of the dimension that counts this loop, the outer ones lying in `box`.
Bounds range_of_loop(const Statement& s, const Loop& loop, VarId dimension, const Box& box) {
  const Affine& var = s.dims.at(loop.var);
  int64_t step = var.coefficient(dimension);
  if (step <= 0) return std::nullopt;
  Affine start = var - step * Affine::variable(dimension);  // var = start + step * dimension
  if (bends_beyond(start, dimension)) return std::nullopt;
  Bounds out;
  for (const Affine& lo : loop.lo.of) {
    Bounds b = bounds_of(s.over_dims(lo) - start, box);
    if (!b) return b;
    int64_t least = -floor_quotient(-b->least, step);
    out = Interval{out ? std::max(out->least, least) : least, kMost};
  }
  for (const Affine& hi : loop.hi.of) {
    Bounds b = bounds_of(s.over_dims(hi) - start - Affine::of(1), box);
    if (!b || !out) return std::nullopt;
    out->greatest = std::min(out->greatest, floor_quotient(b->greatest, step));
  }
  if (!out || out->greatest < out->least) return std::nullopt;
  return out;
}

}  // namespace

Bounds sum(const Bounds& a, const Bounds& b) {
  if (!a || !b) return std::nullopt;
  return bounded(__int128{a->least} + b->least, __int128{a->greatest} + b->greatest);
}

Bounds scaled(const Bounds& a, int64_t factor) {
  if (!a) return a;
  __int128 x = __int128{a->least} * factor, y = __int128{a->greatest} * factor;
  return bounded(std::min(x, y), std::max(x, y));
}

Bounds bounds_of(const Affine& e, const Box& box) {
  Bounds out = bounded(e.constant, e.constant);
  for (const Term& t : e.terms) {
    if (!t.quasi && t.var >= box.size()) return std::nullopt;
    out = sum(out, scaled(t.quasi ? bounds_of_quasi(*t.quasi, box) : Bounds(box[t.var]), t.coeff));
  }
  return out;
}

/// Of each dimension of `row`, which is not negative on the box, what its others leave.
static void tighten(const Affine& row, Box& box) {
  for (const Term& t : row.terms) {
    const Bounds others = bounds_of(row - Affine::variable(t.var, t.coeff), box);
    if (!others) continue;
    Interval& own = box[t.var];
    if (t.coeff > 0)
      own.least = std::max(own.least, -floor_quotient(others->greatest, t.coeff));
    else
      own.greatest = std::min(own.greatest, floor_quotient(others->greatest, -t.coeff));
  }
}

std::optional<Box> box_of(const Statement& s, const LoopNest& nest) {
  Box box;
  if (s.loops.empty()) {  // a statement of no loop, or the result: no loops tell its range
    auto dimensions = static_cast<size_t>(size(isl_set_dim(s.domain.get(), isl_dim_set)));
    if (is_empty(s.domain)) return std::nullopt;
    for (unsigned d = 0; d < dimensions; ++d) box.push_back({least(s.domain, d), greatest(s.domain, d)});
    return box;
  }
  for (size_t d = 0; d < s.loops.size(); ++d) {
    if (const auto known = s.ranges.find(d); known != s.ranges.end()) {
      box.push_back({known->second.first, known->second.second});
      continue;
    }
    Bounds range = range_of_loop(s, std::get<Loop>(nest.nodes[s.loops[d]]), static_cast<VarId>(d), box);
    if (!range) return std::nullopt;
    box.push_back(*range);
  }
  constexpr int kRounds = 2;
  for (int round = 0; round < kRounds; ++round) {
    for (const Affine& row : s.not_negative) tighten(row, box);
    for (const Affine& row : s.zero) {
      tighten(row, box);
      tighten(Affine::of(0) - row, box);
    }
  }
  if (std::any_of(box.begin(), box.end(), [](const Interval& i) { return i.least > i.greatest; })) return std::nullopt;
  return box;
}

std::vector<Affine> digits(const Affine& e, const Box& box) {
  std::vector<Affine> out;
  std::vector<Term> left = e.terms;
  std::sort(left.begin(), left.end(),
            [](const Term& a, const Term& b) { return std::abs(a.coeff) < std::abs(b.coeff); });
  Affine low = Affine::of(e.constant);
  for (size_t k = 0; k < left.size();) {
    int64_t rest = 0;
    for (size_t j = k; j < left.size(); ++j) rest = std::gcd(rest, left[j].coeff);
    const Bounds range = bounds_of(low, box);
    if (k > 0 && range && range->least > -rest && range->greatest < rest) {
      out.push_back(std::move(low));
      low = Affine();
      for (size_t j = k; j < left.size(); ++j) left[j].coeff /= rest;
    }
    const int64_t size = std::abs(left[k].coeff);
    for (; k < left.size() && std::abs(left[k].coeff) == size; ++k) low = low + Affine{{left[k]}, 0};
  }
  out.push_back(std::move(low));
  return out;
}

bool bends_beyond(const Affine& e, VarId first) {
  for (const Term& t : e.terms) {
    if (!t.quasi) continue;
    std::vector<VarId> used;
    collect_variables(Affine{{t}, 0}, used);
    if (std::any_of(used.begin(), used.end(), [&](VarId v) { return v >= first; })) return true;
  }
  return false;
}

}  // namespace polyweft::poly::checker
