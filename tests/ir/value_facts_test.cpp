// Quotients and remainders that code generation simplifies by what it knows of variables, against integer arithmetic.
#include <gtest/gtest.h>

#include <random>

#include "ir/passes/ranges.h"

namespace polyweft::ir {
namespace {

constexpr VarId kThread = 0, kStep = 1, kRow = 2;

/// A thread of 32, steps of 16 up to 96, any row of 8.
ValueFacts facts_of_a_block() {
  ValueFacts facts;
  facts.set(kThread, {0, 31, 1});
  facts.set(kStep, {0, 96, 16});
  facts.set(kRow, {-3, 4, 1});
  return facts;
}

Affine some_expression(std::mt19937& random) {
  const auto up_to = [&](int n) { return std::uniform_int_distribution<int>(-n, n)(random); };
  const int den = std::uniform_int_distribution<int>(1, 16)(random);
  return Affine::variable(kThread, up_to(8)) + Affine::variable(kStep, up_to(4)) +
         Affine::variable(kRow, 4 * up_to(3)) +
         up_to(16) * floor_div(Affine::variable(kThread) + Affine::of(up_to(3)), den) + Affine::of(up_to(100));
}

TEST(ValueFacts, quotients_and_remainders_are_those_of_integers) {
  const ValueFacts facts = facts_of_a_block();
  std::mt19937 random(7);
  for (int round = 0; round < 2'000; ++round) {
    const Affine e = some_expression(random);
    const int64_t den = std::uniform_int_distribution<int>(1, 200)(random);
    const Affine quotient = facts.quotient(e, den), remainder = facts.remainder(e, den);
    for (int64_t thread = 0; thread < 32; thread += 3)
      for (int64_t step = 0; step <= 96; step += 16)
        for (int64_t row = -3; row <= 4; ++row) {
          const std::vector<int64_t> at = {thread, step, row};
          const int64_t value = evaluate(e, at), rest = (value % den + den) % den;
          ASSERT_EQ(evaluate(remainder, at), rest) << value << " mod " << den << ", round " << round;
          ASSERT_EQ(evaluate(quotient, at), (value - rest) / den) << value << " / " << den << ", round " << round;
        }
  }
}

// A thread's vector of eight in a window of three slots, and a lane's two elements of a product's operand there: what
// copies of 16 bytes and ldmatrix need to see.
TEST(ValueFacts, neighbours_of_a_block_that_divides_the_window_stay_neighbours) {
  const ValueFacts facts = facts_of_a_block();
  const Affine thread = Affine::variable(kThread), step = Affine::variable(kStep);
  const Affine vectors = 8 * thread - 32 * floor_div(thread, 4) + 2 * step + Affine::of(64);
  const Affine words = 2 * thread - 8 * floor_div(thread, 4) + step;
  for (int64_t lane = 1; lane < 8; ++lane)
    EXPECT_EQ(facts.remainder(vectors + Affine::of(lane), 96) - facts.remainder(vectors, 96), Affine::of(lane));
  EXPECT_EQ(facts.remainder(words + Affine::of(1), 96) - facts.remainder(words, 96), Affine::of(1));
  EXPECT_EQ(facts.quotient(vectors + Affine::of(7), 96), facts.quotient(vectors, 96));
  EXPECT_NE(facts.remainder(vectors + Affine::of(8), 100) - facts.remainder(vectors, 100), Affine::of(8));
}

}  // namespace
}  // namespace polyweft::ir
