// Programs with one key mean the same: mutants of random programs that keep the key give the same bits, by the naive
// evaluator.
#include <gtest/gtest.h>

#include "ir/oracles/evaluator.h"
#include "ir/values/seeded_data.h"
#include "lang/canonical.h"
#include "lang/mutator.h"
#include "lang/parser.h"
#include "tests/generators/random_program.h"

namespace polyweft {
namespace {

Result<ir::Evaluation> evaluated(const Program& program, const Binding& binding,
                                 const std::vector<TensorData>& inputs) {
  ir::EvaluateOptions options;
  options.check_promises = false;
  options.element_limit = 1 << 20;
  return ir::evaluate(polyweft::bind(program, binding), inputs, options);
}

void expect_same_values(const Program& a, const Program& b) {
  Binding binding;
  for (const Parameter& each : a.parameters) binding.push_back(each.value);
  std::vector<TensorData> inputs = ir::seeded_inputs(polyweft::bind(a, binding), 5, ir::DataKind::random);
  auto first = evaluated(a, binding, inputs);
  auto second = evaluated(b, binding, inputs);
  ASSERT_EQ(first.ok(), second.ok());
  if (!first.ok()) return;
  ASSERT_EQ(first->tensors.size(), second->tensors.size());
  for (size_t k = 0; k < first->tensors.size(); ++k) {
    EXPECT_EQ(first->tensors[k].type, second->tensors[k].type);
    EXPECT_EQ(first->tensors[k].extents, second->tensors[k].extents);
    EXPECT_EQ(first->written[k], second->written[k]);
    ASSERT_EQ(first->tensors[k].elements(), second->tensors[k].elements());
    for (int64_t i = 0; i < first->tensors[k].elements(); ++i) {
      Literal x = first->tensors[k].at(i);
      Literal y = second->tensors[k].at(i);
      bool both_nan = is_float(x.type) && x.f != x.f && y.f != y.f;
      EXPECT_TRUE(both_nan || x == y) << "output " << k << ", element " << i;
    }
  }
}

TEST(key, mutants_with_the_same_key_give_the_same_bits) {
  int same = 0;
  int other = 0;
  for (uint64_t seed = 1; seed <= 120 && !testing::Test::HasFailure(); ++seed) {
    Program program = ir::random_program(seed);
    std::string text = print(program);
    std::string canonical = lang::canonical_text(program);
    lang_test::Mutator mutator(seed, {text});
    for (int i = 0; i < 400 && !testing::Test::HasFailure(); ++i) {
      std::string mutant_text = mutator.next();
      auto mutant = lang::parse(mutant_text, "mutant");
      if (!mutant.ok() || print(mutant->programs[0]) == text) continue;
      if (lang::canonical_text(mutant->programs[0]) != canonical) {
        ++other;
        continue;
      }
      ++same;
      SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text + "\n" + mutant_text);
      expect_same_values(program, mutant->programs[0]);
    }
  }
  EXPECT_GT(same, 50);
  EXPECT_GT(other, 200);
  RecordProperty("same", same);
  RecordProperty("other", other);
}

}  // namespace
}  // namespace polyweft
