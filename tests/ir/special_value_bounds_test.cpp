// Error bounds of what is made from infinities and NaN that a rounding may make or not make: in another evaluation,
// with products fused into sums, results never lie further apart than the bound.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ir/oracles/bound_program.h"
#include "ir/oracles/evaluator.h"
#include "ir/values/scalar.h"
#include "lang/parser.h"

namespace polyweft {
namespace {

/// Of x, which is nearly 0 and may be 0.
const char* const kSpecialForms[] = {"min(1/x[i], 5)",
                                     "clamp(abs(1/x[i]), 0, 1e30)",
                                     "tanh(1/x[i])",
                                     "exp(log(x[i]))",
                                     "max(log(x[i]), -5)",
                                     "min(rsqrt(x[i]), 5)",
                                     "max(sqrt(x[i]), -1)",
                                     "select(x[i]/x[i] == x[i]/x[i], 1.0, 2.0)",
                                     "select(1/x[i] > 1e30, 1.0, 2.0)",
                                     "select(x[i] > 0, x[i] * 1e10, -1.0)",
                                     "min(1e38 * (1 + x[i]) * 3.4, 7)",
                                     "min(x[i] / x[i], 3)",
                                     "sigmoid(1/x[i])",
                                     "max(-inf + x[i], 4)",
                                     "exp(-inf + x[i])",
                                     "min(sum[k: 3] 1/(x[i] + f32(k)), 9)",
                                     "max(prod[k: 3] (1/x[i] + f32(k)), 2)",
                                     "select(x[i] >= 0, 1.0, 0.0) * b[i]"};

Program special_program(const std::string& form, bool is_fused) {
  const std::string x = is_fused ? "f32(f64(a[i]) * f64(b[i]) - 1)" : "a[i] * b[i] - 1";
  auto parsed = lang::parse("program p(N = 200)\nin a: f32[N]\nin b: f32[N]\nlet x[i: N]: f32 = " + x +
                                "\nout o[i: N]: f32 = " + form + "\nout e[i: N] = x[i]\n",
                            "special");
  if (!parsed) ADD_FAILURE() << parsed.error().message << ": " << form;
  return normalize(polyweft::bind(parsed->programs.at(0), {200}));
}

TEST(SpecialValueBounds, hold_where_a_rounding_makes_infinities) {
  std::mt19937_64 random(28);
  TensorData a = make_tensor(ElementType::f32, {200}), b = a;
  for (int64_t i = 0; i < 200; ++i) {
    const auto y = static_cast<float>(random() % 1000 + 2);
    const float nearly = i % 4 ? 1 / y : std::nextafter(1 / y, 1.0f);
    a.set(i, {ElementType::f32, i % 7 ? nearly : 0.5f, 0});
    b.set(i, {ElementType::f32, i % 7 ? y : 3.0f, 0});
  }
  int differ = 0;
  for (const char* form : kSpecialForms) {
    const auto one = ir::evaluate(special_program(form, false), {a, b}),
               two = ir::evaluate(special_program(form, true), {a, b}),
               bounds = ir::evaluate(ir::bound_program(special_program(form, false)), {a, b});
    ASSERT_TRUE(one && two && bounds) << form;
    int judged = 0;
    for (int64_t i = 0; i < 200; ++i) {
      const double v = one->tensors[0].at(i).f, w = two->tensors[0].at(i).f, bound = bounds->tensors[0].at(i).f;
      judged += std::isfinite(v) && std::isfinite(bound);
      differ += v != w;
      ASSERT_FALSE(std::isnan(bound)) << form;
      if (!std::isfinite(v)) continue;
      EXPECT_TRUE(std::isinf(bound) || std::fabs(v - w) <= bound)
          << form << " is " << v << " and " << w << " at " << i << ", bound " << bound;
    }
    EXPECT_GE(judged, 25) << form << ": where x is far from 0 all is judged";
  }
  EXPECT_GT(differ, 500);
}

/// Masks of attention: infinities that everybody gets.
TEST(SpecialValueBounds, stay_small_where_infinities_are_written_down) {
  auto parsed = lang::parse(
      "program p()\nin q: f32[8, 4]\nin k: f32[8, 4]\n"
      "let s[i: 8, j: 8] = (sum[d: 4] q[i, d] * k[j, d]) where j <= i else -inf\n"
      "let m[i: 8] = max[j: 8] s[i, j]\nlet e[i: 8, j: 8] = exp(s[i, j] - m[i])\n"
      "out y[i: 8, j: 8] = e[i, j] / (sum[n: 8] e[i, n])\n",
      "mask");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Program program = normalize(parsed->programs.at(0));
  std::mt19937_64 random(29);
  std::normal_distribution<double> normal;
  TensorData q = make_tensor(ElementType::f32, {8, 4}), k = q;
  for (int64_t n = 0; n < 32; ++n) {
    q.set(n, ir::float_literal(ElementType::f32, normal(random)));
    k.set(n, ir::float_literal(ElementType::f32, normal(random)));
  }
  const auto bounds = ir::evaluate(ir::bound_program(program), {q, k});
  ASSERT_TRUE(bounds);
  for (int64_t n = 0; n < 64; ++n) EXPECT_LT(bounds->tensors[0].at(n).f, 1e-4) << n;
}

}  // namespace
}  // namespace polyweft
