#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "polyweft/program.h"

namespace polyweft {
namespace {

const std::vector<std::string> kNames = {"N", "i", "j"};
const Affine kN = Affine::variable(0), kI = Affine::variable(1), kJ = Affine::variable(2);

TEST(Affine, arithmetic_keeps_the_canonical_form) {
  EXPECT_EQ(print(kJ + 2 * kI - kN + Affine::of(3), kNames), "-N + 2*i + j + 3");
  EXPECT_EQ(kI + kJ - kI, kJ);
  EXPECT_TRUE((kI - kI).is_constant());
  EXPECT_EQ(print(Affine::of(-4), kNames), "-4");
}

TEST(Affine, floor_div_pulls_out_multiples_of_the_denominator) {
  EXPECT_EQ(floor_div(4 * kI, 4), kI);
  EXPECT_EQ(print(floor_div(4 * kI + kJ + Affine::of(9), 4), kNames), "i + (j + 1) // 4 + 2");
  EXPECT_EQ(floor_div(Affine::of(-7), 2).constant, -4);
}

TEST(Affine, values_agree_with_integer_arithmetic) {
  Affine e = 3 * floor_div(2 * kI - kJ + Affine::of(-5), 3) + modulo(kI - kJ, 4) + clamp(kI - kJ, Affine::of(-1), kN);
  for (int64_t i = -6; i < 7; ++i) {
    for (int64_t j = -6; j < 7; ++j) {
      int64_t third = static_cast<int64_t>(std::floor((2.0 * i - j - 5) / 3));
      int64_t expected = 3 * third + ((i - j) % 4 + 4) % 4 + std::min<int64_t>(std::max<int64_t>(i - j, -1), 2);
      EXPECT_EQ(evaluate(e, {2, i, j}), expected);
    }
  }
}

TEST(Affine, substitution_goes_into_quasi_terms) {
  Affine e = floor_div(kI + kJ, 2) + clamp(kI, Affine::of(0), kN);
  Affine replaced = substitute(e, {{1, 2 * kJ + Affine::of(1)}, {0, Affine::of(5)}});
  for (int64_t j = -3; j < 9; ++j) EXPECT_EQ(evaluate(replaced, {0, 0, j}), evaluate(e, {5, 2 * j + 1, j}));
}

TEST(Affine, variables_inside_quasi_terms_are_collected) {
  std::vector<VarId> out;
  collect_variables(clamp(floor_div(kI, 2), Affine::of(0), kN) + kJ, out);
  std::sort(out.begin(), out.end());
  EXPECT_EQ(out, (std::vector<VarId>{0, 1, 2}));
}

TEST(Guard, constants_fold) {
  EXPECT_TRUE(guard_ge0(Affine::of(0)).is_true());
  EXPECT_FALSE(evaluate(guard_ge0(Affine::of(-1)), {}));
  EXPECT_TRUE(guard_any({guard_ge0(kI), guard_all({})}).is_true());
  EXPECT_EQ(guard_not(guard_not(guard_eq0(kI))), guard_eq0(kI));
}

TEST(Guard, text_of_comparisons) {
  EXPECT_EQ(print(guard_ge0(kN - kI - Affine::of(1)), kNames), "N > i");
  EXPECT_EQ(print(guard_ge0(kI - Affine::of(1)), kNames), "i > 0");
  EXPECT_EQ(print(guard_not(guard_eq0(kI - kJ)), kNames), "i != j");
  EXPECT_EQ(print(guard_any({guard_all({guard_ge0(kI), guard_eq0(kJ)}),
                             guard_not(guard_all({guard_ge0(kI), guard_ge0(kJ)}))}),
                  kNames),
            "(i >= 0 and j == 0) or not (i >= 0 and j >= 0)");
}

TEST(Guard, negation_is_the_complement) {
  Guard g = guard_any({guard_all({guard_ge0(kI - kJ), guard_eq0(modulo(kI, 2))}), guard_eq0(kJ - Affine::of(1))});
  for (int64_t i = -3; i < 4; ++i)
    for (int64_t j = -3; j < 4; ++j) EXPECT_NE(evaluate(g, {0, i, j}), evaluate(guard_not(g), {0, i, j}));
}

}  // namespace
}  // namespace polyweft
