// Arithmetic on ranges: which limits can cut, by how much, and what the conditions of a domain say about an index.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "ir/instantiate/internal.h"
#include "support/integer_division.h"

namespace polyweft::ir {

namespace {

constexpr int64_t kFar = int64_t{1} << 60;

}  // namespace

std::pair<int64_t, int64_t> Emitter::numeric_bounds(const Affine& e) const {
  int64_t lo = e.constant, hi = e.constant;
  for (const Term& term : e.terms) {
    std::pair<int64_t, int64_t> inner{0, 0};
    if (!term.quasi) {
      if (term.var >= nest_.params.size()) inner.second = facts_[term.var - nest_.params.size()].hi;
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

/// e mod modulus, where it is the same for all values of the loop variables.
std::optional<int64_t> Emitter::residue(const Affine& e, int64_t modulus) const {
  for (const Term& term : e.terms) {
    if (term.coeff % modulus == 0) continue;
    if (term.quasi) return std::nullopt;
    int64_t step = term.var < nest_.params.size() ? 1 : facts_[term.var - nest_.params.size()].step;
    if (floor_remainder(term.coeff, modulus) * floor_remainder(step, modulus) % modulus != 0) return std::nullopt;
  }
  return floor_remainder(e.constant, modulus);
}

/// min(max(e, lo), hi) without what cannot act on the values that the variables take here: in the middle of an image a clamped column is the column.
Affine Emitter::without_idle_limits(const Quasi& clamped) const {
  const Affine e = without_lanes(clamped.e);
  const bool stays_above = numeric_bounds(e - clamped.lo).first >= 0, stays_below = numeric_bounds(clamped.hi - e).first >= 0;
  if (stays_above && stays_below) return e;
  // min acts last: where it always does, the result is hi, whatever max made.
  if (numeric_bounds(e - clamped.hi).first >= 0) return clamped.hi;
  if (numeric_bounds(clamped.lo - e).first >= 0 && numeric_bounds(clamped.hi - clamped.lo).first >= 0) return clamped.lo;
  return clamp(e, clamped.lo, clamped.hi);
}

/// Quotients without the variables that cannot change them: floor((x + v) / 32) is floor(x / 32) for x a multiple of 16 and 0 <= v < 16.
Affine Emitter::without_lanes(const Affine& e) const {
  Affine out = Affine::of(e.constant);
  for (const Term& term : e.terms) {
    Affine same;
    same.terms = {term};
    if (!term.quasi) {
      out = out + same;
      continue;
    }
    if (term.quasi->kind == Quasi::Kind::clamp) {
      out = out + term.coeff * without_idle_limits(*term.quasi);
      continue;
    }
    const int64_t den = term.quasi->den;
    const Affine whole = without_lanes(term.quasi->e);
    std::vector<int64_t> multiples;  // of each of its terms, as far as they divide den
    for (const Term& part : whole.terms) {
      const int64_t step = part.quasi ? 1 : part.var < nest_.params.size() ? 1 : facts_[part.var - nest_.params.size()].step;
      multiples.push_back(std::gcd(part.coeff * step, den));
    }
    std::vector<int64_t> tries = multiples;
    std::sort(tries.rbegin(), tries.rend());
    Affine kept = whole;
    for (int64_t unit : tries) {
      Affine rest = Affine::of(whole.constant), blocks;
      for (size_t k = 0; k < whole.terms.size(); ++k) (multiples[k] % unit == 0 ? blocks : rest).terms.push_back(whole.terms[k]);
      const auto [least, most] = numeric_bounds(rest);
      if (least < 0 || most >= unit) continue;
      kept = std::move(blocks);
      break;
    }
    out = out + term.coeff * floor_div(kept, den);
  }
  return out;
}

bool Emitter::never_cuts(const Limit& limit, int64_t extent) const {
  if (numeric_bounds(limit.e).first >= extent) return true;
  return limit.positive && residue(limit.e, extent) == 0;
}

void Emitter::prune(Range& range) const {
  std::erase_if(range.upper, [&](const Limit& limit) { return never_cuts(limit, range.extent); });
  std::erase_if(range.lower, [&](const Affine& e) { return numeric_bounds(e).second <= 0; });
  std::vector<Limit> kept;
  for (auto& limit : range.upper)
    if (std::none_of(kept.begin(), kept.end(), [&](const Limit& k) { return k.e == limit.e; })) kept.push_back(limit);
  range.upper = std::move(kept);
  settle(range);
}

/// Constant limits become part of the range.
void Emitter::settle(Range& range) const {
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

/// Limits that others make idle wherever the loops around come go: the end of a whole domain, where rows end before it.
void Emitter::drop_implied(Range& range) const {
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

/// The part of the range that is left at the one place where its limit cuts it, if it is the same at every such place.
std::optional<Range> Emitter::constant_rest(const Range& range) const {
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

/// The part of a range that starts `by` further on.
Range Emitter::advanced(const Range& range, const Affine& by, int64_t extent) const {
  Range out;
  out.origin = range.origin + by;
  out.extent = extent;
  if (extent < range.extent && (range.extent % extent != 0 || residue(by, extent) != 0)) out.upper.push_back({Affine::of(range.extent) - by, true});
  for (const auto& limit : range.upper) out.upper.push_back({limit.e - by, limit.positive});
  for (const auto& limit : range.lower) out.lower.push_back(limit - by);
  prune(out);
  return out;
}

/// Greatest (least) value of a condition over the ranges of all indices but one.
Affine Emitter::corner(const Body& body, const Affine& condition, std::optional<VarId> but, bool greatest) const {
  Affine out = Affine::of(condition.constant);
  for (const Term& term : condition.terms) {
    PW_CHECK(!term.quasi);
    if (but && term.var == *but) continue;
    const Range& range = body.ranges[index_of(term.var)];
    int64_t far_end = (term.coeff > 0) == greatest ? range.extent - 1 : 0;
    out = out + term.coeff * (range.origin + Affine::of(far_end));
  }
  return out;
}

bool Emitter::mentions_reduced(const Body& body, const Affine& condition) const {
  return std::any_of(condition.terms.begin(), condition.terms.end(), [&](const Term& term) { return index_of(term.var) >= body.stage->data_indices; });
}

bool Emitter::others_fixed(const Body& body, const Affine& condition, VarId but) const {
  return std::all_of(condition.terms.begin(), condition.terms.end(), [&](const Term& term) { return term.var == but || body.ranges[index_of(term.var)].is_point(); });
}

bool Emitter::is_applicable(const Body& body, size_t k) const {
  return !body.done[k] && (body.initialized || !mentions_reduced(body, body.conditions()[k]));
}

/// From here on conditions say the values of indices that are gone: all loops over their tiles are outside.
void Emitter::settle_gone(Body& body, size_t depth) const {
  for (Gone& gone : body.gone) {
    const bool has_tiles = std::any_of(body.loops.begin() + static_cast<std::ptrdiff_t>(std::min(depth, body.loops.size())), body.loops.end(),
                                       [&](const SizedLoop& loop) { return loop.index == gone.is.index && !loop.gone; });
    if (gone.is_settled || has_tiles) continue;
    gone.is_settled = true;
    const std::map<VarId, Affine> value = {{index_var(gone.is.index), gone.is.value}};
    for (Mixed& mixed : body.mixed) mixed.of_indices = substitute(mixed.of_indices, value);
    const Range& own = body.ranges[gone.is.index];  // the loops over the others stay inside it
    auto within = [&](int64_t sign, const Affine& rest) { body.mixed.push_back({sign * gone.is.value, rest}); };
    within(1, Affine::of(0) - own.origin);
    within(-1, own.origin + Affine::of(own.extent - 1));
    for (const Affine& e : own.lower) within(1, Affine::of(0) - own.origin - e);
    for (const Limit& limit : own.upper) within(-1, own.origin + limit.e - Affine::of(1));
    auto conditions = std::make_shared<std::vector<Affine>>(body.conditions());
    for (size_t k = 0; k < conditions->size(); ++k) {
      Affine& e = (*conditions)[k];
      if (e.coefficient(index_var(gone.is.index)) != 0) e = substitute(e, value);
      if (e.is_constant() && e.constant >= 0) body.done[k] = 1;
    }
    body.rewritten = std::move(conditions);
  }
}

/// Is there an index that is gone, or a mixed condition, whose other indices have all become points?
bool Emitter::has_open_value(const Body& body) const {
  return std::any_of(body.gone.begin(), body.gone.end(),
                     [&](const Gone& gone) { return gone.is_settled && !gone.is_point && others_fixed(body, gone.is.value, kNoVar); }) ||
         std::any_of(body.mixed.begin(), body.mixed.end(), [&](const Mixed& mixed) { return !mixed.is_done && others_fixed(body, mixed.of_indices, kNoVar); });
}

/// Indices that are gone become points where all others are; what must hold then and no loop saw to.
std::vector<Guard> Emitter::value_of_gone(Body& body) const {
  for (Gone& gone : body.gone) {
    if (!gone.is_settled || gone.is_point || !others_fixed(body, gone.is.value, kNoVar)) continue;
    gone.is_point = true;
    body.ranges[gone.is.index] = Range{corner(body, gone.is.value, std::nullopt, true), 1, {}, {}};
  }
  std::vector<Guard> tests;
  for (Mixed& mixed : body.mixed) {
    if (mixed.is_done || !others_fixed(body, mixed.of_indices, kNoVar)) continue;
    mixed.is_done = true;
    const Affine value = corner(body, mixed.of_indices, std::nullopt, true) + mixed.rest;
    if (numeric_bounds(value).first < 0) tests.push_back(guard_ge0(value));
  }
  return tests;
}

/// The range of an index, cut by the conditions on it. outset: what certainly lies outside for all values of the others goes.
/// exact: only conditions whose other indices are points; those are done then (`exact_upper`: only upper limits).
Range Emitter::cut(Body& body, uint32_t index, Cut how) const {
  VarId var = index_var(index);
  Range range = body.ranges[index];
  auto limit = [&](int64_t coeff, const Affine& rest) {  // coeff * offset + rest >= 0
    if (coeff < 0)
      range.upper.push_back({floor_div(rest, -coeff) + Affine::of(1), false});
    else
      range.lower.push_back(Affine::of(0) - floor_div(rest, coeff));  // offset >= ceil(-rest / coeff)
  };
  for (size_t k = 0; k < body.done.size(); ++k) {
    const Affine& condition = body.conditions()[k];
    int64_t coeff = condition.coefficient(var);
    if (coeff == 0 || !is_applicable(body, k)) continue;
    if (how != Cut::outset && !others_fixed(body, condition, var)) continue;
    if (how == Cut::exact_upper && coeff > 0) continue;
    limit(coeff, corner(body, condition, var, true) + coeff * range.origin);
    if (how != Cut::outset) body.done[k] = 1;
  }
  for (Mixed& mixed : body.mixed) {
    const int64_t coeff = mixed.of_indices.coefficient(var);
    if (mixed.is_done || coeff == 0 || (how != Cut::outset && !others_fixed(body, mixed.of_indices, var))) continue;
    limit(coeff, corner(body, mixed.of_indices, var, true) + mixed.rest + coeff * range.origin);
    mixed.is_done = how != Cut::outset;
  }
  prune(range);
  return range;
}

}  // namespace polyweft::ir
