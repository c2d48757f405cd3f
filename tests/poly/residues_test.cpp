// What residues say is true of every point that the conditions admit, by enumeration.
#include "poly/residues.h"

#include <gtest/gtest.h>

#include "corpus.h"
#include "ir/values/domain.h"
#include "polyweft/program.h"
#include "support/rng.h"

namespace polyweft::poly {
namespace {

using poly_test::parsed;

constexpr int kRange = 12;

bool holds(const Residue& r, int64_t value) {
  return r.step == 0 ? value == r.offset : ((value - r.offset) % r.step + r.step) % r.step == 0;
}

std::string remainder_condition(Rng& rng, int depth) {
  const auto n = [&](int64_t lo, int64_t hi) { return std::to_string(rng.between(lo, hi)); };
  const std::string x = rng.below(2) == 0 ? "i" : "j", y = x == "i" ? "j" : "i";
  switch (rng.below(depth > 0 ? 8 : 6)) {
    case 0:
    case 1:
      return x + " % " + n(2, 6) + " == " + n(0, 3);
    case 2:
      return x + " == " + n(2, 4) + "*(" + y + " // " + n(1, 3) + ") + " + n(-2, 2);
    case 3:
      return x + " == " + n(0, 9);
    case 4:
      return "(" + x + " + " + n(1, 3) + "*" + y + ") % " + n(2, 4) + " == " + n(0, 2);
    case 5:
      return x + " >= " + n(0, 3);
    case 6:
      return "(" + remainder_condition(rng, depth - 1) + " or " + remainder_condition(rng, depth - 1) + ")";
    default:
      return "(" + remainder_condition(rng, depth - 1) + " and " + remainder_condition(rng, depth - 1) + ")";
  }
}

TEST(Residues, hold_at_every_point_that_the_conditions_admit) {
  Rng rng(45);
  int said = 0;
  for (int k = 0; k < 2000; ++k) {
    const std::string where = remainder_condition(rng, 2) + " and " + remainder_condition(rng, 1);
    const Program program =
        parsed("program p()\nin A: f64[12]\nlet U[i: 12, j: 12] where " + where + " = A[i]\nout R[i: 12] = A[i]\n");
    const Equation& equation = program.equations[0];
    const std::vector<Residue> found = residues_of(program, equation);
    ASSERT_EQ(found.size(), 2u);
    const Affine e = Affine::variable(0, rng.between(-3, 3)) + Affine::variable(1, rng.between(-3, 3)) +
                     Affine::of(rng.between(-9, 9)) + rng.between(-2, 2) * floor_div(Affine::variable(1), 3);
    const Residue of_e = residue_of(e, found);
    said += found[0].step != 1 || found[1].step != 1;
    ir::Environment env = ir::environment_of(program, equation);
    for (env[0] = 0; env[0] < kRange; ++env[0])
      for (env[1] = 0; env[1] < kRange; ++env[1]) {
        if (!evaluate(equation.where, env)) continue;
        EXPECT_TRUE(holds(found[0], env[0]) && holds(found[1], env[1])) << where << " at " << env[0] << ", " << env[1];
        EXPECT_TRUE(holds(of_e, evaluate(e, env))) << where << " at " << env[0] << ", " << env[1];
      }
  }
  EXPECT_GT(said, 1000);
}

TEST(Residues, are_apart_only_where_no_number_is_in_both) {
  const auto first = [](int64_t step, int64_t offset) { return Residue{step, offset}; };
  for (int64_t a = 0; a <= 6; ++a)
    for (int64_t b = 0; b <= 6; ++b)
      for (int64_t x = 0; x < std::max<int64_t>(a, 1); ++x)
        for (int64_t y = 0; y < std::max<int64_t>(b, 1); ++y) {
          bool meet = false;
          for (int64_t value = -60; value <= 60; ++value)
            meet = meet || (holds(first(a, x), value) && holds(first(b, y), value));
          EXPECT_EQ(may_be_equal(first(a, x), first(b, y)), meet) << a << " " << x << " " << b << " " << y;
        }
}

TEST(Residues, say_nothing_of_numbers_beyond_64_bits) {
  const int64_t great = int64_t{1} << 40;
  const std::vector<Residue> variables{{great, 5}, {7, 3}};
  EXPECT_EQ(residue_of(Affine::variable(0, great), variables).step, 1);
  EXPECT_EQ(residue_of(Affine::variable(1, great), variables).step, 1);
}

}  // namespace
}  // namespace polyweft::poly
