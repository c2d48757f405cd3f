// Recurrences that take in one term a step: which ones become reductions, as text, and that the values stay.
#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "ir/normalize/normalize.h"
#include "ir/oracles/evaluator.h"
#include "ir/values/seeded_data.h"
#include "lang/parser.h"
#include "support/rng.h"

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
  const Program product = parsed_accumulator(
      head + "let r[i: M, 0]: f32 = 1\nlet r[i: M, k: 1..N + 1] = r[i, k - 1] * X[i, k - 1]\nout y[i: M] = r[i, N]");
  EXPECT_NE(normal_equations(normalize(product, NumericsClass::reassoc)).find("r[i, k - 1]"), std::string::npos);
  expect_bits_stay(product, NumericsClass::reassoc);
  const Program half = parsed_accumulator(
      "program p(N = 6)\nin X: f16[N]\nlet r[0]: f16 = 0\nlet r[k: 1..N + 1]: f16 "
      "= r[k - 1] + X[k - 1]\nout y = r[N]");
  EXPECT_NE(normal_equations(normalize(half, NumericsClass::reassoc)).find("r[k - 1]"), std::string::npos);
}

// Recurrences of one row in all spellings, on values at the ends of their type.
struct ExtremeCase {
  std::string text;
  bool is_product = false;
};

ExtremeCase extreme_case(Rng& rng, const std::string& type, int length) {
  const char* const ops[] = {"*", "+", "-"};
  const std::string op = ops[rng.below(3)], n = std::to_string(length);
  const std::string term = rng.below(3) == 0 ? "X[K] " + op + " c[K]" : rng.below(2) == 0 ? "X[K]" : "X[K] * c[K]";
  const auto at = [&](const std::string& k) { return std::regex_replace(term, std::regex("K"), k); };
  const std::string head =
      "program p(N = " + n + ")\nin X: " + type + "[N]\nin c: " + type + "[N]\nin b: " + type + "\n";
  ExtremeCase out;
  out.is_product = op == "*";
  switch (rng.below(3)) {
    case 0:
      out.text = head + "let r[0] = b\nlet r[k: 1..N + 1] = r[k - 1] " + op + " " + at("k - 1") + "\nout y = r[N]";
      break;
    case 1:
      out.text = head + "let r[N] = b\nlet r[k: N] = r[k + 1] " + op + " " + at("k") + "\nout y = r[0]";
      break;
    default:
      out.text = head + "let r[k: N] = (r[k - 1] where k >= 1 else b) " + op + " " + at("k") + "\nout y = r[N - 1]";
  }
  return out;
}

std::vector<TensorData> extreme_inputs(const Program& bound, Rng& rng) {
  const double extremes[] = {0, -0.0, 1, -1, 3, 1e30, -1e30, 1e-30, 3e38, -3e38, 1e-45, 1e300, 1e-300, INFINITY, NAN};
  std::vector<TensorData> out = ir::seeded_inputs(bound, rng(), ir::DataKind::random);
  for (TensorData& data : out)
    for (int64_t i = 0; i < data.elements(); ++i)
      data.set(i, Literal{data.type,
                          data.type == ElementType::f32
                              ? static_cast<double>(static_cast<float>(extremes[rng.below(std::size(extremes))]))
                              : extremes[rng.below(std::size(extremes))],
                          0});
  return out;
}

double output_of(const Program& program, const ir::Evaluation& evaluation) {
  for (size_t k = 0; k < evaluation.ids.size(); ++k)
    if (program.tensors[evaluation.ids[k]].name == "y") return evaluation.tensors[k].at(0).f;
  ADD_FAILURE() << "no output";
  return 0;
}

bool is_same_number(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b;
}

// What the language says: products as they are written; sums within roundings where no order can overflow.
TEST(Accumulators, at_the_ends_of_their_type_say_what_is_written) {
  int products = 0, sums = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Rng rng(seed);
    const bool is_double = rng.below(2) == 0;
    const int length = static_cast<int>(rng.between(2, 9));
    const ExtremeCase c = extreme_case(rng, is_double ? "f64" : "f32", length);
    SCOPED_TRACE(c.text + "\nseed " + std::to_string(seed));
    const Program source = parsed_accumulator(c.text);
    const Program bound = polyweft::bind(source, make_binding(source, {}).value());
    const auto inputs = extreme_inputs(bound, rng);
    const Program rewritten = normalize(bound, NumericsClass::reassoc);
    const auto written = ir::evaluate(bound, inputs), normal = ir::evaluate(rewritten, inputs);
    ASSERT_TRUE(written.ok() && normal.ok());
    const double want = output_of(bound, *written), got = output_of(rewritten, *normal);
    if (c.is_product) {
      ++products;
      EXPECT_TRUE(is_same_number(want, got)) << want << " " << got;
      continue;
    }
    double magnitudes = std::fabs(inputs[2].at(0).f);
    for (int k = 0; k < length; ++k) {
      const double x = inputs[0].at(k).f, y = inputs[1].at(k).f;
      magnitudes += std::fabs(x) + std::fabs(y) + std::fabs(x * y);
    }
    const double most = is_double ? 1.7e308 : 3.3e38;
    if (!(magnitudes < most)) continue;
    ++sums;
    EXPECT_LE(std::fabs(want - got), 40 * length * magnitudes * (is_double ? 1.2e-16 : 6e-8)) << want << " " << got;
  }
  EXPECT_GT(products, 400);
  EXPECT_GT(sums, 40);
}

}  // namespace
}  // namespace polyweft::test
