// Runs a nest on small integers and compares it with the evaluator.
#pragma once

#include "ir/oracles/evaluator.h"
#include "ir/small_inputs.h"
#include "polyweft/program.h"
#include "run_nest.h"

namespace polyweft::poly_test {

/// What the nest computes for these sizes, against the evaluator; the nest is `bound`'s.
inline void expect_computed(const Program& bound, const LoopNest& nest, bool exact, uint64_t seed) {
  auto inputs = test::small_inputs(bound, seed);
  ir::EvaluateOptions options;
  options.with_bounds = !exact;
  auto expected = ir::evaluate(bound, inputs, options);
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  PlainRun run(nest);
  run.run(inputs);
  int wrong = 0;
  for (size_t o = 0; o < expected->tensors.size(); ++o) {
    BufferId buffer = nest.arguments[inputs.size() + o];
    for (int64_t k = 0; k < expected->tensors[o].elements() && wrong < 3; ++k) {
      EXPECT_EQ(run.is_written(buffer, k), expected->written[o][static_cast<size_t>(k)] != 0) << "element " << k;
      if (!expected->written[o][static_cast<size_t>(k)]) continue;
      Literal found = run.cell(buffer, k), wanted = expected->tensors[o].at(k);
      bool equal =
          test::same_within(found, wanted, options.with_bounds ? expected->bound[o][static_cast<size_t>(k)] : 0);
      EXPECT_TRUE(equal) << nest.buffers[buffer].name << " element " << k << ": " << found.f << "/" << found.i
                         << " for " << wanted.f << "/" << wanted.i;
      wrong += !equal;
    }
  }
}

}  // namespace polyweft::poly_test
