// The base nests of every program there is, printed as C, compiled and compared with the evaluator.
#include "targets/c/c_source.h"

#include <gtest/gtest.h>

#include <cmath>

#include "c_source/cases.h"
#include "c_source/compiled.h"
#include "cpu.h"
#include "ir/oracles/evaluator.h"
#include "ir/values/scalar.h"
#include "ir/values/seeded_data.h"
#include "lang/parser.h"
#include "tests/generators/random_program.h"

namespace polyweft::c_source_test {
namespace {

using targets::c_source;
constexpr const char* kStrict = "-O1 -ffp-contract=off -Wall -Wextra -Werror";
constexpr const char* kSanitized =
    "-O1 -ffp-contract=off -fsanitize=undefined,float-cast-overflow -fno-sanitize-recover=all";

std::vector<std::string> sources_of(const Cases& cases) {
  std::vector<std::string> out;
  for (const Case& one : cases.all()) {
    auto text = c_source(one.nest, one.symbol);
    EXPECT_TRUE(text) << one.what;
    out.push_back(text ? *text : "");
  }
  return out;
}

/// Returns how many ran.
int expect_same(const std::string& name, const Cases& cases, const std::string& flags) {
  const Compiled code(name, sources_of(cases), flags);
  int ran = 0;
  if (!code.is_complete()) return 0;
  for (const Case& one : cases.all()) {
    for (const uint64_t seed : {1, 2}) {
      const auto inputs =
          ir::seeded_inputs(one.program, seed, seed == 1 ? ir::DataKind::integers : ir::DataKind::random);
      ir::EvaluateOptions options;
      options.with_bounds = true;
      const auto wanted = ir::evaluate(one.program, inputs, options);
      EXPECT_TRUE(wanted) << one.what;
      if (!wanted) continue;
      EXPECT_EQ(difference(one, run(code, one.nest, one.symbol, inputs), *wanted), "")
          << one.what << "\n"
          << print(one.nest) << *c_source(one.nest, one.symbol);
      ++ran;
    }
  }
  return ran;
}

Cases random_cases(uint64_t first, int count) {
  Cases cases;
  for (int k = 0; k < count; ++k) {
    const uint64_t seed = first + static_cast<uint64_t>(k);
    const Program program = ir::random_program(seed);
    cases.add(program, *make_binding(program, {}), k % 3 == 2 ? NumericsClass::reassoc : NumericsClass::strict,
              "seed " + std::to_string(seed));
  }
  return cases;
}

TEST(CSource, programs_of_the_language_page_mean_the_same) {
  EXPECT_GE(expect_same("language", cases_of("tests/lang/programs", {NumericsClass::strict, NumericsClass::reassoc}),
                        kStrict),
            120);
}

TEST(CSource, examples_mean_the_same) {
  EXPECT_GE(expect_same("examples", cases_of("examples", {NumericsClass::reassoc}), kStrict), 30);
}

TEST(CSource, recurrences_mean_the_same) {
  EXPECT_GE(expect_same("recurrences", cases_of("examples/recurrences", {NumericsClass::strict}), kStrict), 26);
}

TEST(CSource, polybench_means_the_same) {
  EXPECT_GE(expect_same("polybench", cases_of("examples/polybench", {NumericsClass::reassoc}), kStrict), 58);
}

TEST(CSource, programs_of_the_floor_mean_the_same) {
  EXPECT_GE(expect_same("floor", cases_of("bench/floor", {NumericsClass::reassoc}), kStrict), 86);
}

TEST(CSource, random_programs_mean_the_same) {
  EXPECT_GE(expect_same("random", random_cases(1000, 150), kStrict), 290);
}

TEST(CSource, random_programs_have_no_undefined_behaviour) {
  EXPECT_GE(expect_same("sanitized", random_cases(5000, 40), kSanitized), 78);
}

TEST(CSource, programs_of_the_language_page_have_no_undefined_behaviour) {
  EXPECT_GE(expect_same("sanitized_language", cases_of("tests/lang/programs", {NumericsClass::reassoc}), kSanitized),
            60);
}

/// Each operator on each type that has it, on inputs with the extreme values of their types.
std::string program_of_type(const std::string& t, bool is_real) {
  const std::string others[] = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8"};
  std::string text = "program all_of_" + t + "(N = 64)\nin A: " + t + "[N]\nin B: " + t + "[N]\nin c: bool[N]\n";
  int number = 0;
  const auto out = [&](const std::string& e, const std::string& type) {
    text += "out O" + std::to_string(number++) + "[i: N]: " + type + " = " + e + "\n";
  };
  for (const std::string e : {"A[i] + B[i]", "A[i] - B[i] * A[i]", "-A[i]", "abs(A[i])", "max(A[i], B[i])",
                              "min(B[i], A[i])", "clamp(A[i], B[i], A[i])", "select(c[i], A[i], B[i])"})
    out(e, t);
  if (is_real)
    for (const std::string e : {"A[i] / B[i]", "sqrt(A[i])", "floor(A[i])", "ceil(A[i])", "round(A[i])"}) out(e, t);
  else
    for (const std::string e :
         {"A[i] // B[i]", "A[i] % B[i]", "A[i] & B[i]", "A[i] ^ ~B[i]", "A[i] | B[i]", "A[i] << B[i]", "A[i] >> B[i]"})
      out(e, t);
  for (const std::string& to : others) {
    out(to + "(A[i])", to);
    if (to[0] == 'i' || to[0] == 'u') out("sat_" + to + "(A[i])", to);
  }
  for (const std::string e : {"A[i] < B[i]", "A[i] != B[i] and not c[i]", "A[i] >= B[i] or c[i]"}) out(e, "bool");
  text += "out s: " + t + " = sum[i: N] A[i]\nout p: " + t + " = prod[i: N] B[i]\nout m: " + t +
          " = max[i: N] A[i]\nout a = argmax[i: N] A[i]\nout b = argmin[i: N] B[i]\n";
  return text;
}

Literal extreme(ElementType type, uint64_t k) {
  if (!is_float(type)) {
    const int64_t least = ir::least_of(type), greatest = ir::greatest_of(type);
    const int64_t values[] = {
        0, 1, -1, least, greatest, least + 1, greatest - 1, 7, -7, static_cast<int64_t>(0x9e3779b97f4a7c15 * k)};
    return ir::integer_literal(type, values[k % std::size(values)]);
  }
  const double values[] = {0.0,  -0.0, 1,     -1.5,   2.5,          INFINITY, -INFINITY,     NAN,   65504,
                           1e-7, 3e38, 255.5, -128.5, 2147483648.0, 9.3e18,   1.0 + 0x1p-11, 1e-42, 1234.5678};
  return ir::float_literal(type, values[k % std::size(values)]);
}

std::vector<TensorData> extreme_inputs(const Program& bound, uint64_t seed) {
  std::vector<TensorData> out = ir::seeded_inputs(bound, seed, ir::DataKind::random);
  for (size_t k = 0; k < 2; ++k)  // A and B meet in all pairs over the seeds
    for (int64_t e = 0; e < out[k].elements(); ++e)
      out[k].set(e, extreme(out[k].type, static_cast<uint64_t>(e) * (k == 0 ? 1 : seed) + (k == 0 ? 0 : seed / 2)));
  return out;
}

TEST(CSource, all_operators_on_all_types_have_the_language_s_bits) {
  Cases cases;
  for (const std::string t : {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8"}) {
    auto parsed = lang::parse(program_of_type(t, t[0] == 'f' || t[0] == 'b'), t);
    ASSERT_TRUE(parsed) << t << ": " << parsed.error().message;
    cases.add(parsed->programs[0], {64}, NumericsClass::strict, t);
  }
  for (const std::string& flags :
       {std::string(kStrict), std::string(kStrict) + " -O3 " + test::march(), std::string(kSanitized)}) {
    const Compiled code("operators", sources_of(cases), flags);
    ASSERT_TRUE(code.is_complete());
    for (const Case& one : cases.all())
      for (uint64_t seed = 1; seed <= 19; ++seed) {
        const auto inputs = extreme_inputs(one.program, seed);
        const auto wanted = ir::evaluate(one.program, inputs);
        ASSERT_TRUE(wanted);
        EXPECT_EQ(difference(one, run(code, one.nest, one.symbol, inputs), {*wanted}), "")
            << one.what << " seed " << seed << flags;
      }
  }
}

}  // namespace
}  // namespace polyweft::c_source_test
