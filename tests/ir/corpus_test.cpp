// The programs of LANGUAGE.md section 8 at small sizes: normalize does not change what the evaluator computes.
#include "lang/corpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ir/oracles/evaluator.h"
#include "ir/small_sizes.h"
#include "ir/values/scalar.h"
#include "ir/values/seeded_data.h"
#include "lang/parser.h"

namespace polyweft {
namespace {

Program parsed_file(const std::string& name, const std::string& text) {
  auto result = lang::parse(text, name);
  PW_CHECK(result.ok());
  return result->programs.at(0);
}

/// Random data; the matrices to be factored get a dominant diagonal.
std::vector<TensorData> corpus_inputs(const Program& bound, uint64_t seed) {
  std::vector<TensorData> inputs = ir::seeded_inputs(bound, seed, ir::DataKind::random);
  if (bound.name != "cholesky" && bound.name != "lu") return inputs;
  int64_t n = inputs[0].extents[0];
  for (int64_t i = 0; i < n; ++i) inputs[0].set(i * n + i, ir::float_literal(inputs[0].type, 10));
  return inputs;
}

ir::Evaluation evaluated_at(const Program& program, const std::map<std::string, int64_t>& sizes, uint64_t seed) {
  auto binding = make_binding(program, sizes);
  EXPECT_TRUE(binding) << binding.error().message;
  Program bound = polyweft::bind(program, *binding);
  ir::EvaluateOptions options;
  options.with_bounds = true;
  auto result = ir::evaluate(bound, corpus_inputs(bound, seed), options);
  EXPECT_TRUE(result) << program.name << ": " << result.error().message;
  return *result;
}

TEST(Corpus, normalized_programs_compute_the_same_bits) {
  for (const auto& [name, text] : lang_test::corpus()) {
    Program program = parsed_file(name, text);
    ir::Evaluation direct = evaluated_at(program, test::small_sizes(name), 5);
    ir::Evaluation hidden = evaluated_at(normalize(program), test::small_sizes(name), 5);
    ASSERT_EQ(direct.tensors.size(), hidden.tensors.size());
    for (size_t k = 0; k < direct.tensors.size(); ++k) {
      EXPECT_EQ(direct.tensors[k].bytes, hidden.tensors[k].bytes) << name << " output " << k;
      EXPECT_EQ(direct.boxes[k], hidden.boxes[k]) << name;
      EXPECT_EQ(direct.written[k], hidden.written[k]) << name;
    }
  }
}

TEST(Corpus, normalized_programs_have_reductions_only_as_whole_right_hand_sides) {
  for (const auto& [name, text] : lang_test::corpus()) {
    Program n = normalize(parsed_file(name, text));
    for (const Equation& equation : n.equations) {
      int reductions = 0;
      visit(equation.rhs, [&](const ExprNode& e) { reductions += e.op == Op::reduce; });
      EXPECT_EQ(reductions, equation.rhs->op == Op::reduce ? 1 : 0) << name;
    }
    EXPECT_TRUE(equal(normalize(n), n)) << name;
  }
}

TEST(Corpus, bounds_are_finite_and_small_beside_the_values) {
  for (const auto& [name, text] : lang_test::corpus()) {
    Program program = parsed_file(name, text);
    ir::Evaluation result = evaluated_at(program, test::small_sizes(name), 5);
    for (size_t k = 0; k < result.tensors.size(); ++k) {
      double scale = 0, bound = 0;
      for (int64_t x = 0; x < result.tensors[k].elements(); ++x) {
        Literal value = result.tensors[k].at(x);
        scale = std::max(scale, is_float(value.type) ? std::fabs(value.f) : std::fabs(static_cast<double>(value.i)));
        bound = std::max(bound, result.bound[k][static_cast<size_t>(x)]);
      }
      if (!is_float(result.tensors[k].type)) continue;
      EXPECT_LE(bound, 0.05 * scale) << name << " output " << k;
    }
  }
}

}  // namespace
}  // namespace polyweft
