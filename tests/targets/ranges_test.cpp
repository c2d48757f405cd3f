#include "targets/common/ranges.h"

#include <gtest/gtest.h>

#include "support/rng.h"

namespace polyweft::targets {
namespace {

// A row that begins late: lanes run from v1 to the end of the vector, so v0 + v1 + lane never leaves the eight cells at
// v0.
TEST(Facts, lanes_of_a_row_that_begins_late_stay_in_their_vector) {
  const Affine sum = Affine::variable(0) + Affine::variable(1) + Affine::variable(2);
  Facts facts;
  facts.set(0, {0, 56, 8});
  facts.set(1, {0, 7, 1});
  facts.set(2, {0, 7, 1});
  EXPECT_FALSE(facts.remainder(sum, 64).is_linear());
  facts.set(2, {0, 7, 1, {Affine::of(7) - Affine::variable(1)}});
  EXPECT_EQ(key_of(facts.remainder(sum, 64)), key_of(sum));
  EXPECT_EQ(key_of(facts.quotient(sum + Affine::of(64), 64)), key_of(Affine::of(1)));
}

// The fourth of eight bytes in a row of 32: what is left of a thread's number stays a remainder.
TEST(Facts, what_a_quotient_leaves_is_its_own_remainder) {
  const Affine t = Affine::variable(0), lane = Affine::variable(1), row = Affine::variable(2);
  const Affine column = 8 * t - 32 * floor_div(t, 4) + lane;
  Facts facts;
  facts.set(0, {0, 31, 1});
  facts.set(1, {0, 7, 1});
  facts.set(2, {0, 4096, 32});
  EXPECT_EQ(key_of(facts.remainder(column + row, 32)), key_of(column));
  EXPECT_EQ(key_of(facts.quotient(column + row, 32)), key_of(floor_div(row, 32)));
}

// Random expressions, facts and bounds by other variables: remainder and quotient are exact for all values that the
// facts allow.
TEST(Facts, remainders_and_quotients_are_exact_within_what_is_known) {
  Rng rng(7);
  for (int round = 0; round < 400; ++round) {
    Facts facts;
    std::vector<VarFacts> known;
    for (VarId v = 0; v < 3; ++v) {
      const int64_t divisor = int64_t{1} << rng.below(4), hi = divisor * static_cast<int64_t>(rng.below(5));
      known.push_back({0, hi, divisor});
      if (v > 0 && rng.below(2))
        known[v].at_most = {Affine::of(static_cast<int64_t>(rng.below(12))) - Affine::variable(v - 1)};
      facts.set(v, known[v]);
    }
    Affine e = Affine::of(static_cast<int64_t>(rng.below(40)) - 20);
    for (VarId v = 0; v < 3; ++v) e = e + Affine::variable(v, static_cast<int64_t>(rng.below(7)) - 2);
    if (rng.below(2))
      e = e + (static_cast<int64_t>(rng.below(9)) - 6) *
                  floor_div(Affine::variable(static_cast<VarId>(rng.below(3))), 2 + static_cast<int64_t>(rng.below(3)));
    const int64_t den = 1 + static_cast<int64_t>(rng.below(24));
    const Affine remainder = facts.remainder(e, den), quotient = facts.quotient(e, den);
    std::vector<int64_t> at(3);
    for (at[0] = 0; at[0] <= known[0].hi; at[0] += known[0].divisor)
      for (at[1] = 0; at[1] <= known[1].hi; at[1] += known[1].divisor)
        for (at[2] = 0; at[2] <= known[2].hi; at[2] += known[2].divisor) {
          bool is_allowed = true;
          for (VarId v = 0; v < 3; ++v)
            for (const Affine& most : known[v].at_most) is_allowed &= at[v] <= evaluate(most, at);
          if (!is_allowed) continue;
          const int64_t value = evaluate(e, at), rest = ((value % den) + den) % den;
          ASSERT_EQ(evaluate(remainder, at), rest) << key_of(e) << " mod " << den;
          ASSERT_EQ(evaluate(quotient, at), (value - rest) / den) << key_of(e) << " / " << den;
        }
  }
}

Affine random_affine(Rng& rng) {
  Affine e = Affine::of(static_cast<int64_t>(rng.below(40)) - 20);
  for (VarId v = 0; v < 3; ++v) e = e + Affine::variable(v, static_cast<int64_t>(rng.below(7)) - 3);
  return e;
}

// Three variables with random ranges and divisors; f sees all their values.
template <class F>
void at_all_values(const std::vector<VarFacts>& known, const F& f) {
  std::vector<int64_t> at(3);
  for (at[0] = known[0].lo; at[0] <= known[0].hi; at[0] += known[0].divisor)
    for (at[1] = known[1].lo; at[1] <= known[1].hi; at[1] += known[1].divisor)
      for (at[2] = known[2].lo; at[2] <= known[2].hi; at[2] += known[2].divisor) f(at);
}

std::vector<VarFacts> random_variables(Rng& rng, Facts& facts) {
  std::vector<VarFacts> known;
  for (VarId v = 0; v < 3; ++v) {
    const int64_t divisor = int64_t{1} << rng.below(4), lo = divisor * (static_cast<int64_t>(rng.below(5)) - 2);
    known.push_back({lo, lo + divisor * static_cast<int64_t>(rng.below(5)), divisor});
    facts.set(v, known[v]);
  }
  return known;
}

// What a branch says of its variables: no value that takes the branch is lost, and single bounds are exact.
TEST(Facts, conditions_narrow_ranges_and_lose_nothing) {
  Rng rng(11);
  for (int round = 0; round < 600; ++round) {
    Facts facts;
    const std::vector<VarFacts> known = random_variables(rng, facts);
    const std::vector<Guard> parts = {guard_ge0(random_affine(rng)), guard_ge0(random_affine(rng))};
    Guard guard = guard_all(parts);
    if (rng.below(3) == 0) guard.kind = Guard::Kind::any;
    const bool holds = rng.below(2) != 0;
    facts.assume(guard, holds);
    at_all_values(known, [&](const std::vector<int64_t>& at) {
      const bool first = evaluate(parts[0].e, at) >= 0, second = evaluate(parts[1].e, at) >= 0;
      if ((guard.kind == Guard::Kind::any ? first || second : first && second) != holds) return;
      for (VarId v = 0; v < 3; ++v) {
        const Interval range = facts.range(Affine::variable(v));
        ASSERT_TRUE(range.lo <= at[v] && at[v] <= range.hi) << "round " << round;
      }
    });
  }
  Facts facts;
  facts.set(0, {0, 1538, 2});
  facts.assume(Affine::variable(0) - Affine::of(3));
  EXPECT_EQ(facts.range(Affine::variable(0)).lo, 4);
  facts.assume(Affine::of(1001) - Affine::variable(0, 2));
  EXPECT_EQ(facts.range(Affine::variable(0)).hi, 500);
}

// Rows of rings: k * (x mod n) beside other terms.
TEST(Facts, ranges_hold_all_values_and_know_remainders) {
  Rng rng(12);
  for (int round = 0; round < 400; ++round) {
    Facts facts;
    const std::vector<VarFacts> known = random_variables(rng, facts);
    const int64_t den = 1 + static_cast<int64_t>(rng.below(9)), times = static_cast<int64_t>(rng.below(9)) - 4;
    Affine inner = random_affine(rng);
    if (rng.below(2)) inner = inner + floor_div(Affine::variable(0), 2);
    const Affine e = random_affine(rng) + times * modulo(inner, den),
                 alone = facts.without_exact_quotients(times * modulo(inner, den));
    at_all_values(known, [&](const std::vector<int64_t>& at) {
      const Interval range = facts.range(e), ring = facts.range(alone);
      ASSERT_TRUE(range.lo <= evaluate(e, at) && evaluate(e, at) <= range.hi) << key_of(e);
      ASSERT_TRUE(ring.lo <= evaluate(alone, at) && evaluate(alone, at) <= ring.hi) << key_of(alone);
    });
  }
  Facts facts;
  facts.set(0, {0, 1538, 2});
  const Affine row =
      facts.without_exact_quotients(1296 * modulo(floor_div(Affine::variable(0), 2) + Affine::of(14), 16));
  EXPECT_EQ(facts.range(row).lo, 0);
  EXPECT_EQ(facts.range(row).hi, 1296 * 15);
}

// A sum of many remainders, as the offset in a buffer whose dimensions are all rings: in the time of a few, not of all
// their orders.
TEST(Facts, many_remainders_take_no_factorial) {
  constexpr VarId kMany = 24;
  Facts facts;
  Affine sum;
  for (VarId v = 0; v < kMany; ++v) {
    facts.set(v, {0, 100, 1});
    sum = sum + modulo(Affine::variable(v), 3);
  }
  const Interval range = facts.range(sum);
  EXPECT_LE(range.lo, 0);
  EXPECT_GE(range.hi, 2 * kMany);
}

}  // namespace
}  // namespace polyweft::targets
