#include "ir/normalize/needed_elements.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/normalize/normalize.h"
#include "ir/oracles/evaluator.h"
#include "ir/values/seeded_data.h"
#include "lang/parser.h"
#include "output_parts.h"
#include "tests/generators/random_program.h"

namespace polyweft::ir {
namespace {

Program parsed_program(const std::string& text) {
  auto result = lang::parse(text, "t.weft");
  if (!result)
    throw std::runtime_error(result.error().diagnostics.empty() ? result.error().message
                                                                : result.error().diagnostics[0].text);
  return result->programs[0];
}

Program bound_at_defaults(const Program& program) {
  return polyweft::bind(program, make_binding(program, {}).value());
}

struct LocalsCase {
  const char* name;
  const char* equations;
  const char* locals;  ///< that are left, for all sizes
};
constexpr const char* kHeader = "program p(N = 9) assume N >= 4\nin X: f32[N, N]\nin I: i32[N] values 0..3\n";

class CutLocals : public testing::TestWithParam<LocalsCase> {};

TEST_P(CutLocals, are_what_is_left_of_locals) {
  const Program program = parsed_program(std::string(kHeader) + GetParam().equations + "\n"),
                needed = without_unneeded_elements(program);
  std::string locals = print(needed);
  locals = locals.substr(locals.find("\nlet ") + 1);
  EXPECT_EQ(locals.substr(0, locals.find("\nout ")), GetParam().locals);
  EXPECT_TRUE(equal(without_unneeded_elements(needed), needed));
  const auto inputs = seeded_inputs(bound_at_defaults(program), 3, DataKind::random);
  const auto before = evaluate(bound_at_defaults(program), inputs), after = evaluate(bound_at_defaults(needed), inputs);
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->tensors[0].bytes, after->tensors[0].bytes);
}

constexpr LocalsCase kLocalsCases[] = {
    {"a_column", "let T[i: N, j: N] = X[i, j] * 2.0\nout Y[i: N] = T[i, 1]", "let T[i: N, 1]: f32 = X[i, 1] * 2.0"},
    {"a_corner_of_a_triangle", "let T[i: N, j: i + 1] = X[i, j] * X[0, j]\nout Y[i: 3] = T[i, 0] + T[i, i // 2]",
     "let T[i: 3, j: i + 1]: f32 where j < 2 = X[i, j] * X[0, j]"},
    {"two_elements", "let T[i: N, j: N] = X[i, j] * 2.0\nout Y = T[0, 3] - T[3, 0]",
     "let T[0, 3]: f32 = X[0, 3] * 2.0\nlet T[3, 0]: f32 = X[3, 0] * 2.0"},
    {"elements_of_elements",
     "let S[i: N, j: N] = X[j, i]\nlet T[i: N, j: N] = S[i + 1, 2] where i + 1 < N else S[j, 3]\nout Y[j: N] = T[0, j]",
     "let S[1, 2]: f32 = X[2, 1]\nlet T[0, j: N]: f32 = S[1, 2] where N >= 2 else S[j, 3]"},
    {"conditions_around_a_read", "let T[i: N] = X[i, i] + 1.0\nout Y[i: N] = T[i] where i < 2 else 0.0",
     "let T[i: 2]: f32 = X[i, i] + 1.0"},
    {"remainders", "let T[i: N, j: N] = X[i, j] + 1.0\nout Y[i: N] = T[i % 2, i]",
     "let T[i: 2, j: N]: f32 = X[i, j] + 1.0"},
    {"terms", "let T[i: N, j: N] = X[i, j] + 1.0\nout Y[i: N] = sum[k: N where k < 2] T[k, i]",
     "let T[i: 2, j: N]: f32 = X[i, j] + 1.0"},
    {"gathers", "let T[i: N, j: N] = X[i, j] + 1.0\nout Y[i: N] = T[I[i], 1]", "let T[i: 3, 1]: f32 = X[i, 1] + 1.0"},
    {"a_recurrence_along_one_index",
     "let T[i: N, j: N] = X[i, j] + (T[i - 1, j] where i > 0 else 0.0)\nout Y[i: N] = T[N - 1, 1]",
     "let T[i: N, 1]: f32 = X[i, 1] + (T[i - 1, 1] where i > 0 else 0.0)"},
    {"components", "let (k, l)[i: N] = argmax[r: N, s: i + 1] X[r, s]\nout Y = k[0] + l[1]",
     "let (k, l)[i: 2]: (i64, i64) = argmax[r: N, s: i + 1] X[r, s]"},
    {"most_are_needed", "let T[i: N] = X[i, 0] + 1.0\nout Y[i: N] = T[i] where i > 0 else 0.0",
     "let T[i: N]: f32 = X[i, 0] + 1.0"},
};
INSTANTIATE_TEST_SUITE_P(Table, CutLocals, testing::ValuesIn(kLocalsCases),
                         [](const auto& info) { return std::string(info.param.name); });

uint64_t seeds_of_parts() {
  const char* asked = std::getenv("POLYWEFT_SIMPLIFY_SEEDS");
  return asked ? std::stoull(asked) : 200;
}

TEST(NeededElements, parts_of_random_programs_stay_bit_by_bit) {
  uint64_t smaller = 0, compared = 0;
  for (uint64_t seed = 1; seed <= 3 * seeds_of_parts(); ++seed) {
    std::mt19937_64 rng(seed);
    const Program program = with_parts_for_outputs(bound_at_defaults(random_program(seed)), rng),
                  needed = without_unneeded_elements(program);
    smaller += !equal(needed, program);
    const auto inputs = seeded_inputs(program, seed, DataKind::random);
    const auto before = evaluate(program, inputs), after = evaluate(needed, inputs),
               made = evaluate(normalize(program, NumericsClass::strict), inputs);
    ASSERT_EQ(before.ok(), after.ok()) << seed;
    if (!before) continue;
    ++compared;
    ASSERT_TRUE(made) << seed << made.error().message;
    for (size_t k = 0; k < before->tensors.size(); ++k) {
      ASSERT_EQ(before->tensors[k].bytes, after->tensors[k].bytes) << seed << "\n" << print(program) << print(needed);
      ASSERT_EQ(before->tensors[k].bytes, made->tensors[k].bytes)
          << seed << "\n"
          << print(program) << print(normalize(program, NumericsClass::strict));
    }
  }
  EXPECT_GT(compared, 2 * seeds_of_parts());
  EXPECT_GT(smaller, seeds_of_parts() / 2);
}

/// What is needed at one size alone is not left out at another.
TEST(NeededElements, hold_for_all_sizes) {
  for (uint64_t seed = 1; seed <= seeds_of_parts(); ++seed) {
    const Program written = random_program(seed), needed = without_unneeded_elements(written);
    for (int64_t size : {1, 2, 5}) {
      std::map<std::string, int64_t> sizes;
      for (const Parameter& parameter : written.parameters) sizes[parameter.name] = size;
      const auto binding = make_binding(written, sizes);
      if (!binding) continue;
      const auto inputs = seeded_inputs(polyweft::bind(written, *binding), seed, DataKind::random);
      const auto before = evaluate(polyweft::bind(written, *binding), inputs),
                 after = evaluate(polyweft::bind(needed, *binding), inputs);
      ASSERT_EQ(before.ok(), after.ok()) << seed;
      for (size_t k = 0; before && k < before->tensors.size(); ++k)
        ASSERT_EQ(before->tensors[k].bytes, after->tensors[k].bytes) << seed << " at " << size << "\n"
                                                                     << print(written);
    }
  }
}

}  // namespace
}  // namespace polyweft::ir
