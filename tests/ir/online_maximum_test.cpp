// The form in one pass against the program as it stands, by the evaluator: within what class reassoc allows of the
// sums, and with the same infinities and NaNs.
#include "ir/normalize/online_maximum.h"

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

constexpr float kInfinity = std::numeric_limits<float>::infinity();

const char* const kAttention =
    "program p(const N = 3, const S = 256, const D = 4)\nin A: f32[N, S]\nin V: f32[S, D]\n"
    "let m[i: N] = max[j: S] A[i, j]\nlet e[i: N, j: S] = exp(A[i, j] - m[i])\nlet s[i: N] = sum[j: S] e[i, j]\n"
    "let o[i: N, d: D] = sum[j: S] e[i, j] * V[j, d]\nout O[i: N, d: D] = o[i, d] / s[i]\nout M[i: N] = m[i]\n"
    "out T[i: N] = s[i]\n";
const char* const kLogSum =
    "program p(const N = 3, const S = 256)\nin A: f32[N, S]\nlet m[i: N] = max[j: S] 2 * A[i, j]\n"
    "out L[i: N] = m[i] + log(sum[j: S] exp(2 * A[i, j] - m[i]))\n";

Program online_source(const std::string& text) {
  auto parsed = lang::parse(text, "test.weft");
  if (!parsed) throw std::runtime_error(parsed.error().message);
  const Program& program = parsed->programs.front();
  return normalize(polyweft::bind(program, make_binding(program, {}).value()), NumericsClass::reassoc);
}

TensorId tensor_of(const Program& program, const std::string& name) {
  for (TensorId id = 0; id < program.tensors.size(); ++id)
    if (program.tensors[id].name == name) return id;
  return static_cast<TensorId>(program.tensors.size());
}

Program online_form(const Program& program, int64_t block) {
  auto form = ir::with_online_maximum(program, {tensor_of(program, "m"), block});
  if (!form) throw std::runtime_error(form.error().message);
  return *form;
}

/// Values of scores from -80 to 80, so that exponentials of blocks lie far apart.
std::vector<TensorData> spread_inputs(const Program& program, uint64_t seed) {
  auto inputs = ir::seeded_inputs(program, seed, ir::DataKind::random);
  for (int64_t k = 0; k < inputs[0].elements(); ++k)
    inputs[0].set(k, ir::float_literal(ElementType::f32,
                                       40 * (1 + static_cast<double>(k / 32 % 2)) * ir::as_double(inputs[0].at(k))));
  return inputs;
}

void expect_within_bounds(const Program& program, const Program& form, const std::vector<TensorData>& inputs) {
  ir::EvaluateOptions options;
  options.with_bounds = true;
  const auto wanted = ir::evaluate(program, inputs, options), got = ir::evaluate(form, inputs);
  ASSERT_TRUE(wanted.ok() && got.ok()) << (got.ok() ? "" : got.error().message);
  for (size_t k = 0; k < wanted->tensors.size(); ++k)
    for (int64_t e = 0; e < wanted->tensors[k].elements(); ++e) {
      const double a = ir::as_double(got->tensors[k].at(e)), b = ir::as_double(wanted->tensors[k].at(e));
      if (std::isnan(b)) {
        EXPECT_TRUE(std::isnan(a)) << k << " " << e << ": " << a;
      } else if (std::isinf(b)) {
        EXPECT_EQ(a, b) << k << " " << e;
      } else {
        EXPECT_LE(std::abs(a - b), wanted->bound[k][static_cast<size_t>(e)]) << k << " " << e << ": " << a << " " << b;
      }
    }
}

TEST(OnlineMaximum, lies_within_the_bounds_of_the_sums) {
  for (const char* text : {kAttention, kLogSum}) {
    const Program program = online_source(text);
    for (int64_t block : {32, 64, 128}) {
      const Program form = online_form(program, block);
      for (uint64_t seed = 1; seed <= 3; ++seed) {
        expect_within_bounds(program, form, spread_inputs(program, seed));
        expect_within_bounds(program, form, ir::seeded_inputs(program, seed, ir::DataKind::random));
      }
    }
  }
}

// A score is -inf, inf or NaN: in all places, in whole blocks, in one place of a row.
TEST(OnlineMaximum, has_the_same_infinities_and_nans) {
  const Program program = online_source(kAttention), form = online_form(program, 64);
  for (float special : {-kInfinity, kInfinity, std::numeric_limits<float>::quiet_NaN()})
    for (const auto& [from, to] : std::vector<std::pair<int64_t, int64_t>>{{0, 256}, {0, 64}, {64, 192}, {100, 101}}) {
      auto inputs = spread_inputs(program, 5);
      for (int64_t j = from; j < to; ++j) inputs[0].set(j, ir::float_literal(ElementType::f32, special));
      expect_within_bounds(program, form, inputs);
      // A value that is no number counts, whatever its weight.
      inputs[1].set(4 * from, ir::float_literal(ElementType::f32, std::numeric_limits<float>::quiet_NaN()));
      expect_within_bounds(program, form, inputs);
    }
}

TEST(OnlineMaximum, is_one_reduction_over_tuples) {
  const std::string text = print(online_form(online_source(kAttention), 64));
  EXPECT_NE(text.find("let (m.m, s.s, o.s)[i: 3, d: 4]: (f32, f32, f32) = reduce online[jb: 4] (m.x[i, jb], s.b[i, "
                      "jb], o.b[i, jb, d])"),
            std::string::npos)
      << text;
}

struct NoForm {
  const char* what;
  const char* text;
  int64_t block;
};

TEST(OnlineMaximum, says_what_is_wrong_with_a_block) {
  const Program program = online_source(kAttention);
  const auto message = [&](int64_t block) {
    return ir::with_online_maximum(program, {tensor_of(program, "m"), block}).error().message;
  };
  EXPECT_EQ(message(16), "online m: a block has at least 32 values, not 16");
  EXPECT_EQ(message(96), "online m: 256 values are not two or more whole blocks of 96");
  EXPECT_EQ(message(256), "online m: 256 values are not two or more whole blocks of 256");
}

TEST(OnlineMaximum, is_refused_elsewhere) {
  const std::string head =
      "program p(const N = 3, const S = 256)\nin A: f32[N, S]\nin B: f32[N, S]\nlet m[i: N] = max[j: S] A[i, j]\n";
  const NoForm cases[] = {
      {"exponentials needed elsewhere",
       "let e[i: N, j: S] = exp(A[i, j] - m[i])\nlet s[i: N] = sum[j: S] e[i, j]\nout Y[i: N, j: S] = e[i, j] / s[i]\n",
       64},
      {"another term", "let s[i: N] = sum[j: S] exp(B[i, j] - m[i])\nout Y[i: N] = s[i] + 1\n", 64},
      {"other places", "let s[i: N] = sum[j: 255] exp(A[i, j] - m[i])\nout Y[i: N] = s[i] + 1\n", 64},
      {"no product", "let s[i: N] = sum[j: S] (exp(A[i, j] - m[i]) + B[i, j])\nout Y[i: N] = s[i] + 1\n", 64},
      {"a block that does not divide", "let s[i: N] = sum[j: S] exp(A[i, j] - m[i])\nout Y[i: N] = s[i] + 1\n", 96},
      {"a block that is too small", "let s[i: N] = sum[j: S] exp(A[i, j] - m[i])\nout Y[i: N] = s[i] + 1\n", 16},
      {"one block", "let s[i: N] = sum[j: S] exp(A[i, j] - m[i])\nout Y[i: N] = s[i] + 1\n", 256},
  };
  for (const NoForm& c : cases) {
    const Program program = online_source(head + c.text);
    auto form = ir::with_online_maximum(program, {tensor_of(program, "m"), c.block});
    ASSERT_FALSE(form.ok()) << c.what;
    EXPECT_EQ(form.error().code, "PW0308") << c.what;
  }
  const Program program = online_source(kAttention);
  EXPECT_EQ(ir::with_online_maximum(program, {99, 64}).error().code, "PW0605");
}

}  // namespace
}  // namespace polyweft::test
