// Reductions by combiners: which ones become reductions of their own, as text, and that the values stay.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/normalize/normalize.h"
#include "ir/oracles/evaluator.h"
#include "ir/values/scalar.h"
#include "ir/values/seeded_data.h"
#include "lang/parser.h"

namespace polyweft::test {
namespace {

const std::string kRows = "program p(M = 5, N = 6, D = 3)\nin X: f32[M, N]\nin V: f32[N, D]\nin K: i32[M, N]\n";
const std::string kReader =
    "let (m, s, o)[i: M, d: D] = reduce f[j: N] (X[i, j], 1, V[j, d])\nout y[i: M, d: D] = o[i, d] / s[i, d]\n";
std::string combiner_text(const std::string& promises, const std::string& s, const std::string& o) {
  return "combine f((m, s, o), (n, t, q)): (f32, f32, f32) from (-inf, 0, 0) " + promises + " =\n  (max(m, n), " + s +
         ", " + o + ")\n";
}

Program parsed_combiner(const std::string& text) {
  auto parsed = lang::parse(text, "test.weft");
  if (!parsed) ADD_FAILURE() << parsed.error().message << "\n" << text;
  return parsed ? parsed->programs.front() : Program{};
}

std::string normal_text(const Program& program, NumericsClass cls = NumericsClass::reassoc) {
  return print(normalize(program, cls));
}

bool is_combined(const Program& program, NumericsClass cls = NumericsClass::reassoc) {
  return normal_text(program, cls).find("reduce f") != std::string::npos;
}

/// Within the bounds of both; not-a-numbers and infinities in the same places. `least`: some inputs are -inf.
void expect_values_stay(const Program& source, NumericsClass cls, bool least) {
  const Program bound = polyweft::bind(source, make_binding(source, {}).value());
  ir::EvaluateOptions options;
  options.with_bounds = true;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    auto inputs = ir::seeded_inputs(bound, seed, ir::DataKind::random);
    const Literal lowest = ir::float_literal(ElementType::f32, -std::numeric_limits<double>::infinity());
    for (int64_t e = 0; least && e < inputs[0].elements(); ++e)
      if (seed == 0 || e % 6 == 0 || e / 6 == 2 || (e + static_cast<int64_t>(seed)) % 5 == 0) inputs[0].set(e, lowest);
    const auto written = ir::evaluate(bound, inputs, options),
               normal = ir::evaluate(normalize(bound, cls), inputs, options);
    ASSERT_TRUE(written.ok() && normal.ok()) << print(source) << (normal.ok() ? "" : normal.error().message);
    for (size_t k = 0; k < written->tensors.size(); ++k)
      for (int64_t e = 0; e < written->tensors[k].elements(); ++e) {
        const auto at = static_cast<size_t>(e);
        const double a = ir::as_double(written->tensors[k].at(e)), b = ir::as_double(normal->tensors[k].at(e));
        if (std::isfinite(a))
          EXPECT_LE(std::abs(a - b), written->bound[k][at] + normal->bound[k][at]) << print(source) << seed << " " << e;
        else
          EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b)))
              << print(source) << seed << " " << e << " " << a << " " << b;
      }
  }
}

// The same combiner, as people write it.
TEST(CombinerStages, are_a_maximum_and_sums) {
  const std::string both = "associative commutative";
  struct Spelling {
    const char *s, *o;
    bool least;  ///< inputs may be -inf: without a select the combiner makes NaNs of them, in some orders
  };
  for (const Spelling& each : {
           Spelling{"s * exp(m - max(m, n)) + t * exp(n - max(m, n))",
                    "o * exp(m - max(m, n)) + q * exp(n - max(m, n))", false},
           Spelling{"exp(n - max(n, m)) * t + s * exp(m - max(m, n))",
                    "q * exp(n - max(n, m)) + exp(m - max(m, n)) * o", false},
           Spelling{"s * select(m == -inf, 0, exp(m - max(m, n))) + t * select(n == -inf, 0, exp(n - max(m, n)))",
                    "o * select(m == -inf, 0, exp(m - max(m, n))) + q * select(n == -inf, 0, exp(n - max(m, n)))",
                    true},
           Spelling{"select(m == -inf, 0, s * exp(m - max(m, n))) + select(n == -inf, 0, t * exp(n - max(m, n)))",
                    "select(m == -inf, 0, o * exp(m - max(m, n))) + select(n == -inf, 0, q * exp(n - max(m, n)))",
                    true},
           Spelling{"s * exp(m - select(max(m, n) == -inf, 0, max(m, n))) + t * exp(n - select(max(m, n) == -inf, 0, "
                    "max(m, n)))",
                    "o * exp(m - select(max(m, n) == -inf, 0, max(m, n))) + q * exp(n - select(max(m, n) == -inf, 0, "
                    "max(m, n)))",
                    true},
       }) {
    const Program source = parsed_combiner(kRows + combiner_text(both, each.s, each.o) + kReader);
    EXPECT_FALSE(is_combined(source)) << normal_text(source);
    EXPECT_TRUE(is_combined(source, NumericsClass::contract));
    expect_values_stay(source, NumericsClass::reassoc, false);
    if (each.least) expect_values_stay(source, NumericsClass::reassoc, true);
  }
}

TEST(CombinerStages, lose_dimensions_that_they_do_not_have) {
  const std::string e = "exp(m - max(m, n))", g = "exp(n - max(m, n))";
  const Program source = parsed_combiner(
      kRows + combiner_text("associative commutative", "s * " + e + " + t * " + g, "o * " + e + " + q * " + g) +
      kReader);
  const std::string text = normal_text(source);
  EXPECT_NE(text.find("let s[i: M]: f32 = sum[j: N]"), std::string::npos) << text;
  EXPECT_NE(text.find("max[jm: N] X[i, jm]"), std::string::npos) << text;
  EXPECT_NE(text.find("o[i, d] / s[i]"), std::string::npos) << text;
}

TEST(CombinerStages, of_folds) {
  const std::string head = kRows + "combine f((a, b), (c, d)): (i32, f32) from (0, inf) = (a + c, min(b, d))\n";
  const Program source = parsed_combiner(head + "out (y, z)[i: M] = reduce f[j: N] (K[i, j], X[i, j])\n");
  EXPECT_FALSE(is_combined(source, NumericsClass::strict)) << normal_text(source, NumericsClass::strict);
  expect_values_stay(source, NumericsClass::strict, false);
}

// Partial sums of blocks stay partial.
TEST(CombinerStages, of_blocks_stay_combiners) {
  const std::string e = "exp(m - max(m, n))", g = "exp(n - max(m, n))";
  const Program source = parsed_combiner(
      kRows + combiner_text("associative commutative", "s * " + e + " + t * " + g, "o * " + e + " + q * " + g) +
      "let x[i: M, b: 2] = max[j: 3] X[i, 3*b + j]\nlet w[i: M, b: 2, j: 3] = exp(X[i, 3*b + j] - x[i, b])\n"
      "let u[i: M, b: 2] = sum[j: 3] w[i, b, j]\nlet z[i: M, b: 2, d: D] = sum[j: 3] w[i, b, j] * V[3*b + j, d]\n"
      "let (m, s, o)[i: M, d: D] = reduce f[b: 2] (x[i, b], u[i, b], z[i, b, d])\nout y[i: M, d: D] = o[i, d] / s[i, "
      "d]\n");
  EXPECT_TRUE(is_combined(source)) << normal_text(source);
}

// These stay: without promises; a scale by another component; no scale on one side; an identity that is not the fold's.
TEST(CombinerStages, stay_combiners_where_the_form_is_another) {
  const std::string e = "exp(m - max(m, n))", g = "exp(n - max(m, n))", both = "associative commutative ";
  for (const std::string& text :
       {combiner_text("", "s * " + e + " + t * " + g, "o * " + e + " + q * " + g),
        combiner_text("associative", "s * " + e + " + t * " + g, "o * " + e + " + q * " + g),
        combiner_text(both, "s * " + g + " + t * " + e, "o + q"), combiner_text(both, "s * " + e + " + t", "o + q"),
        std::string("combine f((m, s, o), (n, t, q)): (f32, f32, f32) from (0, 0, 0) " + both +
                    "= (max(m, n), s + t, o + q)\n")}) {
    // promises that tests break are errors of `check`, not of the parser
    const Program source = parsed_combiner(kRows + text + kReader);
    EXPECT_TRUE(is_combined(source)) << normal_text(source);
  }
}

}  // namespace
}  // namespace polyweft::test
