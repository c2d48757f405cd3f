// What normalize makes of reductions with less to do than they say, as text and by values: the evaluator of the program
// as written is the oracle.
#include "ir/normalize/simplify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ir/normalize/normalize.h"
#include "ir/oracles/evaluator.h"
#include "ir/values/affine_facts.h"
#include "ir/values/scalar.h"
#include "ir/values/seeded_data.h"
#include "lang/parser.h"
#include "tests/generators/random_program.h"

namespace polyweft {
namespace {

constexpr NumericsClass kClasses[] = {NumericsClass::strict, NumericsClass::contract, NumericsClass::reassoc};

Program parsed_text(const std::string& text) {
  auto result = lang::parse(text, "test.weft");
  if (!result)
    throw std::runtime_error(
        (result.error().diagnostics.empty() ? result.error().message : result.error().diagnostics[0].text) + "\n" +
        text);
  return result->programs.at(0);
}

Program bound(const Program& program) {
  return polyweft::bind(program, make_binding(program, {}).value());
}

std::string equations_of(const Program& program) {
  const std::string text = print(program);
  return text.substr(std::min(text.find("\nlet "), text.find("\nout ")) + 1);
}

/// Zeros, infinities and NaN among the values.
void spoil(std::vector<TensorData>& inputs, uint64_t seed) {
  std::mt19937_64 rng(seed);
  constexpr double kSpecial[] = {0.0, -0.0, INFINITY, -INFINITY, NAN};
  for (TensorData& input : inputs)
    for (int64_t k = 0; is_float(input.type) && k < input.elements(); ++k)
      if (rng() % 6 == 0) input.set(k, ir::float_literal(input.type, kSpecial[rng() % 5]));
}

bool same(const Literal& a, const Literal& b, NumericsClass cls, double distance) {
  if (!is_float(a.type)) return a.i == b.i;
  if (std::isnan(a.f) || std::isnan(b.f)) return std::isnan(a.f) == std::isnan(b.f);
  if (a.f == b.f) return cls != NumericsClass::strict || std::signbit(a.f) == std::signbit(b.f);
  return cls == NumericsClass::reassoc && !(std::fabs(a.f - b.f) > distance);
}

/// Empty, or the first element that differs between the program as written and as normalized.
std::string difference(const Program& program, NumericsClass cls, uint64_t seed, bool special) {
  ir::EvaluateOptions options;
  options.with_bounds = true;
  std::vector<TensorData> inputs = ir::seeded_inputs(program, seed, ir::DataKind::random);
  if (special) spoil(inputs, seed);
  const auto written = ir::evaluate(program, inputs, options), made = ir::evaluate(normalize(program, cls), inputs, {});
  if (!written) return "";
  if (!made) return made.error().message;
  for (size_t k = 0; k < written->tensors.size(); ++k) {
    if (written->tensors[k].extents != made->tensors[k].extents || written->written[k] != made->written[k])
      return "output " + std::to_string(k) + " has other elements";
    for (int64_t e = 0; e < written->tensors[k].elements(); ++e) {
      const Literal a = written->tensors[k].at(e), b = made->tensors[k].at(e);
      if (same(a, b, cls, written->bound[k][static_cast<size_t>(e)])) continue;
      return "output " + std::to_string(k) + " element " + std::to_string(e) + ": " + std::to_string(ir::as_double(b)) +
             " for " + std::to_string(ir::as_double(a));
    }
  }
  return "";
}

struct Case {
  const char* name;
  const char* equation;
  const char* strict;
  const char* reassoc;
};
constexpr const char* kSimplifiedHeader =
    "program p(N = 7, M = 5) assume N >= 6\nin X: f32[N, M]\nin Z: f32[N]\nin I: i32[N, M]\nin J: i32[N]\n";

class Simplified : public testing::TestWithParam<Case> {};

TEST_P(Simplified, has_this_text_and_the_same_values) {
  const Case& c = GetParam();
  const Program program = parsed_text(std::string(kSimplifiedHeader) + c.equation + "\n");
  EXPECT_EQ(equations_of(normalize(program, NumericsClass::strict)), std::string(c.strict) + "\n");
  EXPECT_EQ(equations_of(normalize(program, NumericsClass::reassoc)), std::string(c.reassoc) + "\n");
  for (NumericsClass cls : kClasses) {
    EXPECT_TRUE(equal(normalize(normalize(program, cls), cls), normalize(program, cls)));
    for (bool special : {false, true}) {
      EXPECT_EQ(difference(bound(program), cls, 3, special), "") << name_of(cls);
    }
  }
}

constexpr Case kCases[] = {
    {"tautologies",
     "out Y[i: N]: f32 = X[i, 0] where i >= 0 and N > i and i >= 2*(i // 2) and 2*(i // 2) + 1 >= i else 1.0",
     "out Y[i: N]: f32 = X[i, 0]", "out Y[i: N]: f32 = X[i, 0]"},
    {"a_condition_that_never_holds", "out Y[i: N]: f32 = X[i + 9, 0] where 0 == 1 or i < 0 else 1.0",
     "out Y[i: N]: f32 = 1.0", "out Y[i: N]: f32 = 1.0"},
    {"conditions_around_say_it", "out Y[i: N]: f32 = (Z[i] where i // 2 <= 2 else 3.0) where i < 6 else 4.0",
     "out Y[i: N]: f32 = Z[i] where i < 6 else 4.0", "out Y[i: N]: f32 = Z[i] where i < 6 else 4.0"},
    {"neutral_terms", "out Y[i: N] = sum[k: N] (Z[k] where k // 2 < 2 and k // 2 >= 0 else 0.0)",
     "out Y[i: N]: f32 = sum[k: 4] Z[k]", "out Y[i: N]: f32 = sum[k: 4] Z[k]"},
    {"zero_times_a_float_stays", "out Y[i: N] = sum[k: N] (Z[k] where k < 4 else 0.0) * Z[i]",
     "out Y[i: N]: f32 = sum[k: N] (Z[k] where k < 4 else 0.0) * Z[i]",
     "out Y[i: N]: f32 = Y.1[i] + f32((N - 4)) * (0.0 * Z[i])\nlet Y.1[i: N]: f32 = sum[k: 4] Z[k] * Z[i]"},
    {"zero_times_an_integer_goes", "out Y[i: N] = sum[k: N] (J[k] where k < 4 else 0) * J[i]",
     "out Y[i: N]: i32 = Y.1 * J[i]\nlet Y.1: i32 = sum[k: 4] J[k]",
     "out Y[i: N]: i32 = Y.1 * J[i]\nlet Y.1: i32 = sum[k: 4] J[k]"},
    {"neutral_of_max", "out Y[i: N] = max[k: N] (Z[k] where k > 3 else -inf)", "out Y[i: N]: f32 = max[k: 4..N] Z[k]",
     "out Y[i: N]: f32 = max[k: 4..N] Z[k]"},
    {"integer_factors_leave", "out Y[i: N] = sum[k: N] J[i] * I[k, 0] * J[i + 0]",
     "out Y[i: N]: i32 = Y.1 * J[i] * J[i]\nlet Y.1: i32 = sum[k: N] I[k, 0]",
     "out Y[i: N]: i32 = Y.1 * J[i] * J[i]\nlet Y.1: i32 = sum[k: N] I[k, 0]"},
    {"integer_factors_stay_where_there_may_be_no_term", "out Y[i: N] = sum[k: i] J[i] * I[k, 0]",
     "out Y[i: N]: i32 = sum[k: i] J[i] * I[k, 0]", "out Y[i: N]: i32 = sum[k: i] J[i] * I[k, 0]"},
    {"a_last_value_left_out", "out Y[i: N] = min[k: N where k != N - 1] Z[k]", "out Y[i: N]: f32 = min[k: N - 1] Z[k]",
     "out Y[i: N]: f32 = min[k: N - 1] Z[k]"},
    {"a_value_left_out", "out Y[i: N] = min[k: N where k != 2] X[k, i // 2]",
     "out Y[i: N]: f32 = min(Y.1[i], Y.2[i])\nlet Y.1[i: N]: f32 = min[k: 2] X[k, i // 2]\nlet Y.2[i: N]: f32 = min[k: "
     "3..N] X[k, i // 2]",
     "out Y[i: N]: f32 = min(Y.1[i], Y.2[i])\nlet Y.1[i: N]: f32 = min[k: 2] X[k, i // 2]\nlet Y.2[i: N]: f32 = min[k: "
     "3..N] X[k, i // 2]"},
    {"conditions_of_other_indices", "out Y[i: N, j: M] = 2.0 * ((sum[k: M] X[i, k]) where j > 1 else 0.0)",
     "out Y[i: N, j: M]: f32 = 2.0 * (Y.1[i] where j >= 2 else 0.0)\nlet Y.1[i: N]: f32 where M >= 3 = sum[k: M] X[i, "
     "k]",
     "out Y[i: N, j: M]: f32 = 2.0 * (Y.1[i] where j >= 2 else 0.0)\nlet Y.1[i: N]: f32 where M >= 3 = sum[k: M] X[i, "
     "k]"},
    {"an_output_that_leaves_an_index_out", "out Y[i: N, j: 4] = sum[k: M] X[i, k]",
     "out Y[i: N, j: 4]: f32 = Y.1[i]\nlet Y.1[i: N]: f32 = sum[k: M] X[i, k]",
     "out Y[i: N, j: 4]: f32 = Y.1[i]\nlet Y.1[i: N]: f32 = sum[k: M] X[i, k]"},
    {"dear_values", "out partial Y[i: N, j: 20, k: i + 1] = exp(Z[k]) * X[i, 0]",
     "out partial Y[i: N, j: 20, k: i + 1]: f32 = Y.e1[i, k]\nlet Y.e1[i: N, k: i + 1]: f32 = exp(Z[k]) * X[i, 0]",
     "out partial Y[i: N, j: 20, k: i + 1]: f32 = Y.e1[i, k]\nlet Y.e1[i: N, k: i + 1]: f32 = exp(Z[k]) * X[i, 0]"},
    {"max_of_one_value", "out Y[i: N, j: M] = max[k: i] X[i, j]",
     "out Y[i: N, j: M]: f32 = X[i, j] where i > 0 else -inf",
     "out Y[i: N, j: M]: f32 = X[i, j] where i > 0 else -inf"},
    {"max_of_one_value_is_guarded", "out Y[i: N] = max[k: M where k > i] Z[i]",
     "out Y[i: N]: f32 = Z[i] where M >= i + 2 else -inf", "out Y[i: N]: f32 = Z[i] where M >= i + 2 else -inf"},
    {"integers_are_counted", "out Y[i: N] = sum[k: i, l: 3] J[i]",
     "out Y[i: N]: i32 = i32(i) * (3 * J[i]) where i > 0 else 0",
     "out Y[i: N]: i32 = i32(i) * (3 * J[i]) where i > 0 else 0"},
    {"floats_are_counted_where_order_is_free", "out Y[i: N] = sum[k: i + 2] Z[i]",
     "out Y[i: N]: f32 = sum[k: i + 2] Z[i]", "out Y[i: N]: f32 = f32((i + 2)) * Z[i]"},
    {"some_indices", "out Y[i: N] = sum[j: N, k: j + 1] J[j]", "out Y[i: N]: i32 = sum[j: N] i32((j + 1)) * J[j]",
     "out Y[i: N]: i32 = sum[j: N] i32((j + 1)) * J[j]"},
    {"an_outer_index_of_the_two", "out Y[i: N] = sum[j: N, k: j + 1] J[k]",
     "out Y[i: N]: i32 = sum[k: N] i32((N - k)) * J[k]", "out Y[i: N]: i32 = sum[k: N] i32((N - k)) * J[k]"},
    {"first_index", "out Y[i: N]: i64 = argmin[k: i..N] Z[i]", "out Y[i: N]: i64 = i", "out Y[i: N]: i64 = i"},
    {"first_indices", "let (p, q)[i: N]: (i64, i64) = argmax[j: N, k: j..N] Z[i]\nout P[i: N] = p[i] + q[i]",
     "let (p, q)[i: N]: (i64, i64) = (0, 0)\nout P[i: N]: i64 = p[i] + q[i]",
     "let (p, q)[i: N]: (i64, i64) = (0, 0)\nout P[i: N]: i64 = p[i] + q[i]"},
    {"a_border_leaves", "out Y[i: N] = max[k: N] (Z[k + 1] where k + 1 < N else 0.5)",
     "out Y[i: N]: f32 = max(Y.1, 0.5)\nlet Y.1: f32 = max[k: N - 1] Z[k + 1]",
     "out Y[i: N]: f32 = max(Y.1, 0.5)\nlet Y.1: f32 = max[k: N - 1] Z[k + 1]"},
    {"a_border_of_a_sum_leaves", "out Y[i: N] = sum[k: N] (Z[k - 1] where k >= 1 else 0.5)",
     "out Y[i: N]: f32 = sum[k: N] (Z[k - 1] where k > 0 else 0.5)",
     "out Y[i: N]: f32 = Y.1 + 0.5\nlet Y.1: f32 = sum[k: 1..N] Z[k - 1]"},
    {"conditions_around_part", "out Y[i: N] = sum[k: N] Z[i] * (X[k, 0] where i < 2 else 3.0)",
     "out Y[i: N]: f32 = sum[k: N] Z[i] * (X[k, 0] where i < 2 else 3.0)",
     "out Y[i: N]: f32 = Y.1[i] where i < 2 else f32(N) * (Z[i] * 3.0)\nlet Y.1[i: N]: f32 where i < 2 = sum[k: N] "
     "Z[i] * X[k, 0]"},
    {"functions_of_numbers", "out Y[i: N] = tanh(0.0) + erf(f32(i) - f32(i)) + Z[i]",
     "out Y[i: N]: f32 = tanh(0.0) + erf(0.0) + Z[i]", "out Y[i: N]: f32 = 0.0 + Z[i]"},
    {"factors_leave_from_under_conditions_around", "out Y[i: N] = 1 + (sum[k: M where i < 3] J[k] * I[i, 0])",
     "out Y[i: N]: i32 = 1 + (Y.1 * I[i, 0] where i < 3 else 0)\nlet Y.1: i32 = sum[k: M] J[k]",
     "out Y[i: N]: i32 = 1 + (Y.1 * I[i, 0] where i < 3 else 0)\nlet Y.1: i32 = sum[k: M] J[k]"},
    {"every_second_term", "out Y[i: N] = max[k: 6 where k % 2 == 1] Z[k // 2 + i // 4]",
     "out Y[i: N]: f32 = max[k: 3] Z[k + i // 4]", "out Y[i: N]: f32 = max[k: 3] Z[k + i // 4]"},
    {"terms_that_come_again", "out Y[i: N] = max[k: N] X[k % 2, i // 3]",
     "out Y[i: N]: f32 = max[k: 2] X[k - 2*(k // 2), i // 3]",
     "out Y[i: N]: f32 = max[k: 2] X[k - 2*(k // 2), i // 3]"},
    {"terms_that_come_again_are_counted", "out Y[i: N] = sum[k: 1..8] I[k % 3, i // 3]",
     "out Y[i: N]: i32 = sum[k: 1..4] i32(((-k + 1) // 3 + 3)) * I[k - 3*(k // 3), i // 3]",
     "out Y[i: N]: i32 = sum[k: 1..4] i32(((-k + 1) // 3 + 3)) * I[k - 3*(k // 3), i // 3]"},
    {"running_maxima", "out Y[i: 40] = max[q: i + 1] Z[q // 8]",
     "out Y[i: 40]: f32 = max(Y[i - 1], Z[i // 8]) where i > 0 else Z[0]",
     "out Y[i: 40]: f32 = max(Y[i - 1], Z[i // 8]) where i > 0 else Z[0]"},
    {"running_minima_from_the_end", "out Y[i: 40] = min[q: i + 1..40] Z[q // 8]",
     "out Y[i: 40]: f32 = min(Y[i + 1], Z[(i + 1) // 8]) where i < 39 else inf",
     "out Y[i: 40]: f32 = min(Y[i + 1], Z[(i + 1) // 8]) where i < 39 else inf"},
    {"running_values_of_every_second_term", "out Y[i: 40] = max[q: i where (q + i) % 2 == 0] Z[q // 8]",
     "out Y[i: 40]: f32 = Y.r5[i]\nlet Y.r5[i: 2]: f32 = max[q: i where i + q == 2*((i + q) // 2)] Z[q // 8]\nlet "
     "Y.r5[i: 2..40]: f32 = max(Y.r5[i - 2], Z[(i + 6) // 8 - 1])",
     "out Y[i: 40]: f32 = Y.r5[i]\nlet Y.r5[i: 2]: f32 = max[q: i where i + q == 2*((i + q) // 2)] Z[q // 8]\nlet "
     "Y.r5[i: 2..40]: f32 = max(Y.r5[i - 2], Z[(i + 6) // 8 - 1])"},
    {"running_sums_where_order_is_free", "out Y[i: 40] = sum[q: i] Z[q // 8]",
     "out Y[i: 40]: f32 = sum[q: i] Z[q // 8]",
     "out Y[i: 40]: f32 = Y[i - 1] + Z[(i + 7) // 8 - 1] where i > 0 else 0.0"},
    {"short_ranges_stay", "out Y[i: 12] = max[q: i] Z[q // 8]", "out Y[i: 12]: f32 = max[q: i] Z[q // 8]",
     "out Y[i: 12]: f32 = max[q: i] Z[q // 8]"},
    {"powers", "out Y[i: N] = prod[k: 20, l: 2] Z[i]", "out Y[i: N]: f32 = prod[k: 20, l: 2] Z[i]",
     "out Y[i: N]: f32 = pow(Z[i], 40.0)"},
    {"products_stay", "out Y[i: N] = prod[k: N] Z[i]", "out Y[i: N]: f32 = prod[k: N] Z[i]",
     "out Y[i: N]: f32 = prod[k: N] Z[i]"},
};
INSTANTIATE_TEST_SUITE_P(Table, Simplified, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

/// One reduction after another, whose terms leave some of its indices out, with conditions and branches of all kinds.
class Generator {
 public:
  explicit Generator(uint64_t seed) : rng_(seed) {}

  Program program() {
    type_ = one_of({"f32", "f64", "i32", "i16", "u8", "f16", "bf16", "i64"});
    const std::string& type = type_;
    is_float_ = type[0] == 'f' || type[0] == 'b';
    std::string text =
        "program r(N = " + std::to_string(3 + rng_() % 6) + ", M = " + std::to_string(1 + rng_() % 5) + ")\n";
    text += "in X: " + type + "[60, 60]\nin Z: " + type + "[60]\n";
    for (int k = 0; k < 3; ++k) text += equation(k, type);
    return bound(parsed_text(text));
  }

 private:
  std::string one_of(const std::vector<std::string>& all) { return all[rng_() % all.size()]; }

  std::string position(const std::vector<std::string>& indices) {
    const std::string index = one_of(indices);
    return one_of({index, index, index, index + " + 1", index + " // 2", "2*" + index, index + " % 3", "3"});
  }

  std::string condition(const std::vector<std::string>& indices) {
    const std::string i = one_of(indices), j = one_of(indices);
    return one_of({i + " < 3", i + " >= 1", i + " // 2 < 2", i + " <= " + j, i + " + 1 < N", i + " % 2 == 0",
                   i + " % 3 == 1", i + " != 2", "0 == 1", i + " >= 0", "not (" + i + " > " + j + ")", i + " == " + j,
                   i + " < 1 or " + i + " > 2", "N > " + i + " and " + i + " >= 2*(" + i + " // 2)", "N + M > 4",
                   i + " + " + j + " < 5", "2*" + i + " < N"});
  }

  std::string constant() {
    return is_float_ ? one_of({"0.0", "1.0", "2.5", "inf", "-inf", "-0.0"}) : one_of({"0", "1", "3"});
  }

  std::string value(const std::vector<std::string>& indices) {
    const std::string read =
        rng_() % 2 ? "Z[" + position(indices) + "]" : "X[" + position(indices) + ", " + position(indices) + "]";
    switch (rng_() % 8) {
      case 0:
        return type_ + "(" + constant() + ")";
      case 1:
      case 2:
      case 3:
        return "(" + read + " where " + condition(indices) + " else " + constant() + ")";
      default:
        return read;
    }
  }

  std::string range(const std::vector<std::string>& around) {
    const std::string i = one_of(around);
    return one_of(
        {"N", "M", "3", "1", "17", i + " + 1", "1..N", i + "..N", i + "..9", i + " - 2.." + i + " + 1", i, "2.." + i});
  }

  std::string reduction(std::vector<std::string> around) {
    const std::string reducer = one_of({"sum", "sum", "sum", "max", "min", "prod"});
    std::vector<std::string> own;
    std::string out = reducer + "[";
    for (size_t k = 0, count = 1 + rng_() % 3; k < count; ++k) {
      own.push_back("k" + std::to_string(k));
      // no negative index: they stand in subscripts
      out += (k ? ", " : "") + own.back() + ": " + range(around);
      around.push_back(own.back());
    }
    std::string where = "";
    for (const std::string& index : own) where += (where.empty() ? " where " : " and ") + index + " >= 0";
    if (rng_() % 2) where += " and " + condition(around);
    out += where + "] ";
    std::vector<std::string> used = {around[0], around[rng_() % around.size()]};
    return out + (rng_() % 3 ? value(used) : value(used) + " * " + value(used));
  }

  std::string equation(int number, const std::string& type) {
    const std::vector<std::string> slots = {"i", "j"};
    const std::string left = "out Y" + std::to_string(number) + "[i: N, j: M]";
    switch (rng_() % 6) {
      case 0:
        return left + ": i64 = argmin[k: i..i + 3] " + value({"i", "j", one_of({"i", "k"})}) + "\n";
      case 1:
        return left + ": " + type + " = " + value(slots) + " + (" + reduction(slots) + ")\n";
      case 2:
        return left + ": " + type + " = (" + reduction(slots) + ") where " + condition(slots) + " else " +
               value(slots) + "\n";
      default:
        return left + ": " + type + " = " + reduction(slots) + "\n";
    }
  }

  std::mt19937_64 rng_;
  std::string type_;
  bool is_float_ = true;
};

uint64_t seeds() {
  const char* asked = std::getenv("POLYWEFT_SIMPLIFY_SEEDS");
  return asked ? std::stoull(asked) : 200;
}

TEST(Simplified, random_reductions_keep_their_values_in_every_class) {
  size_t fewer = 0;
  for (uint64_t seed = 0; seed < seeds(); ++seed) {
    const Program program = Generator(seed).program();
    for (NumericsClass cls : kClasses) {
      EXPECT_EQ(difference(program, cls, seed, seed % 3 == 0), "") << seed << " " << name_of(cls) << "\n"
                                                                   << print(program) << print(normalize(program, cls));
    }
    fewer += print(normalize(program, NumericsClass::reassoc)) != print(normalize(program, NumericsClass::strict));
    if (HasFailure()) return;
  }
  EXPECT_GT(fewer, seeds() / 10) << "sums of equal floats";
}

/// Ranges that grow or shrink with an index, alone and inside recurrences, on boxes, triangles and under conditions.
TEST(Simplified, running_values_are_those_of_the_reductions) {
  uint64_t running = 0;
  for (uint64_t seed = 0; seed < 2 * seeds(); ++seed) {
    std::mt19937_64 rng(seed);
    const auto one_of = [&](const std::vector<std::string>& texts) { return texts[rng() % texts.size()]; };
    const std::string type = one_of({"f32", "f64", "i32", "u8", "i64"}), i = one_of({"20", "1..19", "3..22"}),
                      j = one_of({"17", "i + 1", "i..22", "4", "2..20"});
    const std::string q = one_of(
        {"i", "i + 1", "i - 2..i", "i..24", "i + 2..24", "j..i", "2..i - 1", "j + 1", "j..23", "i..2*i", "24 - i"});
    const std::string where = one_of({"", "", " and (q + i) % 2 == 0", " and (q + j) % 3 == 1", " and q != 4",
                                      " and q < j", " and i % 2 == 0", " and (2*q + i) % 3 == 0"});
    const std::string on =
        one_of({"", "", "", " where i % 2 == 1", " where i != 5", " where i + j < 25", " where i > j"});
    const std::string term = one_of({"X[q, j]", "X[q, 0] * X[j, q]", "X[q, i % 2]", "X[q, j] + X[i, q]",
                                     "X[q // 2, (i + q) % 3]", "A[q, j]", "A[q, 0] + X[q, j]"});
    const bool recurs = term[0] == 'A';
    const std::string reduce = one_of({"sum", "max", "min"}) + "[q: " + (recurs ? one_of({"i", "i - 1", "2..i"}) : q) +
                               " where q >= 0" + where + "] (" + term + ")";
    const std::string name = recurs ? "A" : "Y";
    std::string text = "program r(N = 1)\nin X: " + type + "[60, 60]\n";
    if (recurs)
      text += "let A[i: 22, j: 20]: " + type + " = X[i, j] + (" + reduce + ")\nout Y[i: 22, j: 20] = A[i, j]\n";
    else
      text += "out partial Y[i: " + i + ", j: " + j + "]: " + type + on + " = " + one_of({"", "X[j, i] + "}) + "(" +
              reduce + ")\n";
    const Program program = bound(parsed_text(text));
    for (NumericsClass cls : kClasses) {
      const Program made = normalize(program, cls);
      EXPECT_EQ(difference(program, cls, seed, seed % 3 == 0), "") << seed << " " << name_of(cls) << "\n"
                                                                   << text << print(made);
      const std::string printed = print(made);
      running += printed.find(".1[i - ") != std::string::npos || printed.find(".1[i + ") != std::string::npos ||
                 printed.find("[i - ") != std::string::npos && printed.find("Y.r") != std::string::npos;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(running, seeds() / 2);
}

TEST(Simplified, random_systems_keep_their_values_where_order_is_free) {
  for (uint64_t seed = 0; seed < 5 * seeds(); ++seed) {
    const Program program = bound(ir::random_program(seed));
    EXPECT_EQ(difference(program, NumericsClass::reassoc, seed, seed % 3 == 0), "")
        << seed << "\n"
        << print(program) << print(normalize(program, NumericsClass::reassoc));
    if (HasFailure()) return;
  }
}

/// Symbolic programs: what holds for all admissible sizes only. The same normalized program at several sizes.
TEST(Simplified, facts_over_parameters_hold_for_all_sizes) {
  for (uint64_t seed = 0; seed < seeds(); ++seed) {
    const Program written = ir::random_program(seed), made = normalize(written, NumericsClass::strict);
    for (int64_t size : {1, 2, 3, 5}) {
      std::map<std::string, int64_t> sizes;
      for (const Parameter& parameter : written.parameters) sizes[parameter.name] = size;
      const auto binding = make_binding(written, sizes);
      if (!binding) continue;
      const Program a = polyweft::bind(written, *binding), b = polyweft::bind(made, *binding);
      const auto inputs = ir::seeded_inputs(a, seed, ir::DataKind::random);
      const auto want = ir::evaluate(a, inputs), got = ir::evaluate(b, inputs);
      ASSERT_EQ(want.ok(), got.ok()) << seed;
      for (size_t k = 0; want && k < want->tensors.size(); ++k)
        EXPECT_EQ(want->tensors[k].bytes, got->tensors[k].bytes) << seed << " at " << size << "\n"
                                                                 << print(written) << print(made);
    }
    if (HasFailure()) return;
  }
}

/// Random affine conditions over small ranges, against all their points.
TEST(AffineFacts, say_always_and_never_only_where_all_points_do) {
  std::mt19937_64 rng(11);
  const auto number = [&](int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(rng() % static_cast<uint64_t>(hi - lo + 1));
  };
  const auto affine = [&] {
    Affine e = number(-2, 2) * Affine::variable(0) + number(-2, 2) * Affine::variable(1) + Affine::of(number(-6, 6));
    if (rng() % 3 == 0)
      e = e + number(-2, 2) *
                  floor_div(Affine::variable(static_cast<VarId>(rng() % 2)) + Affine::of(number(0, 3)), number(2, 3));
    if (rng() % 6 == 0) e = e + clamp(Affine::variable(0) - Affine::of(1), Affine::of(0), Affine::of(number(0, 4)));
    return e;
  };
  const auto leaf = [&] { return rng() % 3 ? guard_ge0(affine()) : guard_eq0(affine()); };
  const auto condition = [&] {
    switch (rng() % 6) {
      case 0:
        return guard_all({leaf(), leaf()});
      case 1:
        return guard_any({leaf(), leaf(), guard_not(leaf())});
      case 2:
        return guard_not(guard_all({leaf(), leaf()}));
      default:
        return leaf();
    }
  };
  size_t decided = 0, undecided = 0;
  for (int round = 0; round < 4000; ++round) {
    const IndexRange i{0, Affine::of(number(-2, 2)), Affine::of(number(3, 6))};
    const IndexRange j{1, Affine::variable(0) - Affine::of(number(0, 1)),
                       Affine::variable(0) + Affine::of(number(1, 3))};
    const Guard known = condition(), asked = condition();
    const ir::AffineFacts facts = ir::AffineFacts(Program{}).with(i).with(j).with(known);
    const bool always = facts.always(asked), never = facts.never(asked);
    const Guard simple = facts.simplified(asked);
    bool all = true, none = true;
    for (int64_t x = -2; x < 8; ++x)
      for (int64_t y = -4; y < 12; ++y) {
        const std::vector<int64_t> at = {x, y};
        if (x < i.lo.constant || x >= i.hi.constant || y < evaluate(j.lo, at) || y >= evaluate(j.hi, at) ||
            !evaluate(known, at))
          continue;
        (evaluate(asked, at) ? none : all) = false;
        ASSERT_EQ(evaluate(asked, at), evaluate(simple, at)) << round;
      }
    ASSERT_TRUE(!always || all) << round;
    ASSERT_TRUE(!never || none) << round;
    decided += always || never;
    undecided += (all && !always) || (none && !never);
  }
  EXPECT_GT(decided, 800u);
  EXPECT_LT(undecided * 20, decided) << "too little is found";
}

}  // namespace
}  // namespace polyweft
