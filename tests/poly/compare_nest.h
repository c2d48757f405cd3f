// Runs a nest on small integers and compares it with the evaluator.
#pragma once

#include "ir/evaluator.h"
#include "polyweft/program.h"
#include "run_nest.h"

namespace polyweft::poly_test {

/// Small integers, so that sums are exact and fma changes nothing; promised values inside their promise.
inline std::vector<TensorData> inputs_of(const Program& bound, uint64_t seed) {
  std::vector<TensorData> out;
  for (TensorId id : bound.inputs()) {
    const Tensor& tensor = bound.tensors[id];
    std::vector<int64_t> extents;
    for (const Affine& e : tensor.shape) extents.push_back(e.constant);
    TensorData data = make_tensor(tensor.type, extents);
    int64_t lo = tensor.values_lo ? tensor.values_lo->constant : 1, hi = tensor.values_hi ? tensor.values_hi->constant : 8;
    for (int64_t k = 0; k < data.elements(); ++k) {
      seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
      int64_t value = lo + static_cast<int64_t>((seed >> 33) % static_cast<uint64_t>(hi - lo));
      data.set(k, is_float(tensor.type) ? ir::float_literal(tensor.type, static_cast<double>(value)) : ir::integer_literal(tensor.type, value));
    }
    out.push_back(std::move(data));
  }
  return out;
}

inline bool same(const Literal& a, const Literal& b, double bound) {
  if (!is_float(a.type)) return a.i == b.i;
  return a.f == b.f || (std::isnan(a.f) && std::isnan(b.f)) || std::fabs(a.f - b.f) <= bound;
}

/// What the nest computes for these sizes, against the evaluator; the nest is `bound`'s.
inline void expect_computed(const Program& bound, const LoopNest& nest, bool exact, uint64_t seed) {
  auto inputs = inputs_of(bound, seed);
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
      bool equal = same(found, wanted, options.with_bounds ? expected->bound[o][static_cast<size_t>(k)] : 0);
      EXPECT_TRUE(equal) << nest.buffers[buffer].name << " element " << k << ": " << found.f << "/" << found.i << " for " << wanted.f << "/" << wanted.i;
      wrong += !equal;
    }
  }
}

}  // namespace polyweft::poly_test
