// Recurrences that take in one term a step: which ones become reductions, as text, and that the values stay.
#include <gtest/gtest.h>

#include "ir/normalize/normalize.h"
#include "ir/oracles/evaluator.h"
#include "ir/values/seeded_data.h"
#include "lang/parser.h"

namespace polyweft::test {
namespace {

struct AccumulatorCase {
  const char* text;
  const char* equations;  ///< of the normalized program
};

// Integers: bits stay in every class.
const std::string kIntegers = "program p(M = 5, N = 6)\nin X: i32[M, N]\nin b: i32[M]\nin c: i32[N]\n";

const AccumulatorCase kAccumulated[] = {
    {"let r[i: M, 0] = b[i]\nlet r[i: M, k: 1..N + 1] = r[i, k - 1] + X[i, k - 1] * c[k - 1]\nout y[i: M] = r[i, N]",
     "let r[i: M]: i32 = b[i] + r.1[i]\nout y[i: M]: i32 = r[i]\nlet r.1[i: M]: i32 = sum[k: N] X[i, k] * c[k]\n"},
    // the first value is the term before the others
    {"let r[i: M, 0] = X[i, 0]\nlet r[i: M, k: 1..N] = r[i, k - 1] + X[i, k]\nout y[i: M] = r[i, N - 1]",
     "let r[i: M]: i32 = sum[k: N] X[i, k]\nout y[i: M]: i32 = r[i]\n"},
    // in one equation, with and without a term of the first step; the term on the left
    {"let r[i: M, k: N] = X[i, k] + (r[i, k - 1] where k >= 1 else b[i])\nout y[i: M] = r[i, N - 1]",
     "let r[i: M]: i32 = b[i] + r.1[i]\nout y[i: M]: i32 = r[i]\nlet r.1[i: M]: i32 = sum[k: N] X[i, k]\n"},
    {"let r[i: M, k: N] = max(r[i, k - 1], X[i, k]) where k > 0 else X[i, 0]\nout y[i: M] = r[i, N - 1]",
     "let r[i: M]: i32 = max[k: N] X[i, k]\nout y[i: M]: i32 = r[i]\n"},
    // subtracted; downwards; the first dimension; a first value that adds nothing
    {"let r[i: M, 0]: i32 = b[i]\nlet r[i: M, k: 1..i + 1] = r[i, k - 1] - X[i, k - 1] * c[k - 1]\nout y[i: M] = r[i, "
     "i]",
     "let r[i: M]: i32 = b[i] - r.1[i]\nout y[i: M]: i32 = r[i]\nlet r.1[i: M]: i32 = sum[k: i] X[i, k] * c[k]\n"},
    {"let r[i: M, N]: i32 = 0\nlet r[i: M, k: N]: i32 = r[i, k + 1] + X[i, k]\nout y[i: M] = r[i, 0]",
     "let r[i: M]: i32 = sum[k: N] X[i, k]\nout y[i: M]: i32 = r[i]\n"},
    {"let r[0, j: N]: i32 = X[0, j]\nlet r[k: 1..M, j: N]: i32 = r[k - 1, j] + b[k] * X[k, j]\nout y[j: N] = r[M - 1, "
     "j]",
     "let r[j: N]: i32 = X[0, j] + r.1[j]\nout y[j: N]: i32 = r[j]\nlet r.1[j: N]: i32 = sum[k: M - 1] b[k + 1] * X[k "
     "+ "
     "1, j]\n"},
    // two in a row, one inside the other
    {"let r[i: M, 0]: i32 = 0\nlet r[i: M, k: 1..N + 1] = r[i, k - 1] + X[i, k - 1]\nlet s[0]: i32 = 0\nlet s[i: 1..M "
     "+ "
     "1] = s[i - 1] + r[i - 1, N]\nout y: i32 = s[M]",
     "let r[i: M]: i32 = sum[k: N] X[i, k]\nlet s: i32 = sum[i: M] r[i]\nout y: i32 = s\n"},
    // sums in the first value and in the terms
    {"let r[i: M, 0]: i32 = sum[q: N] X[i, q]\nlet r[i: M, k: 1..N + 1] = r[i, k - 1] * (sum[q: k] c[q])\nout y[i: M] "
     "= "
     "r[i, N]",
     nullptr},
};

// These stay: another value is read; a term needs the value itself; two values before; elsewhere in the row; a factor
// and a term; a condition of the equation; rows that may be empty.
const char* const kRecurrences[] = {
    "let r[i: M, 0]: i32 = 0\nlet r[i: M, k: 1..N + 1] = r[i, k - 1] + X[i, k - 1]\nout y[i: M] = r[i, N] + r[i, 1]",
    "let r[i: M, 0]: i32 = 0\nlet r[i: M, k: 1..N + 1] = r[i, k - 1] + X[i, k - 1] * r[i, k - 1]\nout y[i: M] = r[i, "
    "N]",
    "let r[0, k: N]: i32 = X[0, k]\nlet r[i: 1..M, 0]: i32 = X[i, 0]\nlet r[i: 1..M, k: 1..N] = r[i - 1, k - 1] + X[i, "
    "k]\nout y[i: M] = r[i, N - 1]",
    "let r[i: M, 0]: i32 = 0\nlet r[i: M, k: 1..N + 1] = 3 * r[i, k - 1] + X[i, k - 1]\nout y[i: M] = r[i, N]",
    "let r[i: M, 0]: i32 = 0\nlet r[i: M, k: 1..N + 1] = X[i, k - 1] - r[i, k - 1]\nout y[i: M] = r[i, N]",
    "let r[i: M, k: i] = X[i, k] + (r[i, k - 1] where k >= 1 else b[i])\nout y[i: 1..M] = r[i, i - 1]",
};

Program parsed_accumulator(const std::string& text) {
  auto parsed = lang::parse(text + "\n", "test.weft");
  if (!parsed) ADD_FAILURE() << parsed.error().message << "\n" << text;
  return parsed ? parsed->programs.front() : Program{};
}

void expect_bits_stay(const Program& source, NumericsClass cls) {
  const Program bound = polyweft::bind(source, make_binding(source, {}).value());
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const auto inputs = ir::seeded_inputs(bound, seed, ir::DataKind::random);
    auto written = ir::evaluate(bound, inputs), normal = ir::evaluate(normalize(bound, cls), inputs);
    ASSERT_TRUE(written.ok() && normal.ok()) << print(source) << (normal.ok() ? "" : normal.error().message);
    for (size_t k = 0; k < written->tensors.size(); ++k)
      EXPECT_EQ(written->tensors[k].bytes, normal->tensors[k].bytes) << print(source);
  }
}

std::string normal_equations(const Program& program) {
  const std::string text = print(program);
  return text.substr(std::min(text.find("\nlet "), text.find("\nout ")) + 1);
}

TEST(Accumulators, are_reductions) {
  for (const AccumulatorCase& c : kAccumulated) {
    const Program source = parsed_accumulator(kIntegers + c.text);
    if (c.equations)
      EXPECT_EQ(normal_equations(normalize(source, NumericsClass::strict)), c.equations);
    else
      EXPECT_EQ(normal_equations(normalize(source, NumericsClass::strict)).find("k - 1"), std::string::npos);
    expect_bits_stay(source, NumericsClass::strict);
  }
}

TEST(Accumulators, whose_other_values_are_read_stay) {
  for (const char* text : kRecurrences) {
    const Program source = parsed_accumulator(kIntegers + text);
    const std::string equations = normal_equations(normalize(source, NumericsClass::reassoc));
    EXPECT_NE(equations.find("r[i"), equations.rfind("r[i")) << equations;
    EXPECT_NE(equations.find("k - 1"), std::string::npos) << equations;
    expect_bits_stay(source, NumericsClass::reassoc);
  }
}

// A sum of floats in another order, in class reassoc alone; extremes everywhere.
TEST(Accumulators, of_floats_keep_the_order_that_the_class_asks_for) {
  const std::string head = "program p(M = 5, N = 6)\nin X: f32[M, N]\n";
  const Program sum = parsed_accumulator(head +
                                         "let r[i: M, 0]: f32 = 0\nlet r[i: M, k: 1..N + 1] = r[i, k - 1] + X[i, k - "
                                         "1]\nout y[i: M] = r[i, N]");
  EXPECT_NE(normal_equations(normalize(sum, NumericsClass::contract)).find("r[i, k - 1]"), std::string::npos);
  EXPECT_EQ(normal_equations(normalize(sum, NumericsClass::reassoc)).find("r[i, k - 1]"), std::string::npos);
  const Program greatest = parsed_accumulator(head +
                                              "let r[i: M, 0]: f32 = X[i, 0]\nlet r[i: M, k: 1..N] = max(r[i, k - 1], "
                                              "X[i, k])\nout y[i: M] = r[i, N - 1]");
  EXPECT_NE(normal_equations(normalize(greatest, NumericsClass::strict)).find("max[k: N] X[i, k]"), std::string::npos);
  expect_bits_stay(greatest, NumericsClass::strict);
  const Program half = parsed_accumulator(
      "program p(N = 6)\nin X: f16[N]\nlet r[0]: f16 = 0\nlet r[k: 1..N + 1]: f16 "
      "= r[k - 1] + X[k - 1]\nout y = r[N]");
  EXPECT_NE(normal_equations(normalize(half, NumericsClass::reassoc)).find("r[k - 1]"), std::string::npos);
}

}  // namespace
}  // namespace polyweft::test
