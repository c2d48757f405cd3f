// bound_program against the error bounds that the evaluator carries beside the values: other code, the same rules.
#include "ir/oracles/bound_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "ir/oracles/error_bound.h"
#include "ir/oracles/evaluator.h"
#include "ir/small_sizes.h"
#include "ir/values/scalar.h"
#include "ir/values/seeded_data.h"
#include "lang/corpus.h"
#include "lang/parser.h"
#include "tests/generators/random_program.h"

namespace polyweft {
namespace {

std::vector<TensorData> inputs_for(const Program& bound) {
  std::vector<TensorData> inputs = ir::seeded_inputs(bound, 9, ir::DataKind::random);
  if (bound.name != "cholesky" && bound.name != "lu") return inputs;
  int64_t n = inputs[0].extents[0];
  for (int64_t i = 0; i < n; ++i) inputs[0].set(i * n + i, ir::float_literal(inputs[0].type, 10));
  return inputs;
}

std::string text_of(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", value);
  return buffer;
}

/// Empty, or what is wrong with the bounds of this program.
std::string compare_bounds(const Program& written, double at_least, double at_most, double roundings) {
  const Program bound = normalize(written);  // the index of equal values has no error there
  ir::EvaluateOptions options;
  options.with_bounds = true;
  auto expected = ir::evaluate(bound, inputs_for(bound), options);
  if (!expected) return expected.error().message;
  auto got = ir::evaluate(ir::bound_program(bound), inputs_for(bound));
  if (!got) return got.error().message;
  if (got->tensors.size() != expected->tensors.size()) return "number of outputs";
  for (size_t k = 0; k < got->tensors.size(); ++k) {
    if (got->tensors[k].extents != expected->tensors[k].extents || got->written[k] != expected->written[k])
      return "extents";
    for (int64_t x = 0; x < got->tensors[k].elements(); ++x) {
      Literal value = expected->tensors[k].at(x);
      if (is_float(value.type) && !std::isfinite(value.f)) continue;
      double want = expected->bound[k][static_cast<size_t>(x)], have = got->tensors[k].at(x).f;
      double tiny = 1e-6 * ir::unit_roundoff(value.type) * std::fabs(ir::as_double(value)) + 1e-30;
      bool low = !(have + tiny >= at_least * want),
           high =
               is_float(value.type) && std::isfinite(want) &&
               !(have <= at_most * want + roundings * ir::unit_roundoff(value.type) * (std::fabs(value.f) + 1) + 1e-30);
      if (low || high)
        return "output " + std::to_string(k) + " element " + std::to_string(x) + ": " + text_of(have) + " for " +
               text_of(want) + " at value " + text_of(ir::as_double(value));
    }
  }
  return "";
}

TEST(BoundProgram, agrees_with_the_running_bound_on_the_programs_of_the_language) {
  for (const auto& [name, text] : lang_test::corpus()) {
    Program program = lang::parse(text, name)->programs.at(0);
    Program bound = polyweft::bind(program, make_binding(program, test::small_sizes(name)).value());
    EXPECT_EQ(compare_bounds(bound, 0.95, 8, 1e-12), "") << name;
  }
}

TEST(BoundProgram, agrees_with_the_running_bound_on_random_programs) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Program program = ir::random_program(seed);
    std::string difference = compare_bounds(polyweft::bind(program, make_binding(program, {}).value()), 0.9, 1e4, 1e4);
    EXPECT_EQ(difference, "") << "seed " << seed << "\n" << print(program);
    ++compared;
    if (HasFailure()) break;
  }
  EXPECT_EQ(compared, 1000);
}

}  // namespace
}  // namespace polyweft
