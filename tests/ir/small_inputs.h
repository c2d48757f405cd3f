// Inputs of small integers for tests that compare a nest with the evaluator, and what counts as the same value.
#pragma once

#include <algorithm>
#include <cmath>

#include "ir/oracles/evaluator.h"
#include "ir/values/scalar.h"
#include "polyweft/program.h"

namespace polyweft::test {

/// Integers from 1 up to below `most`, so that sums are exact and fma changes nothing; promised values inside their
/// promise.
inline std::vector<TensorData> small_inputs(const Program& bound, uint64_t seed, int64_t most = 8) {
  std::vector<TensorData> out;
  for (TensorId id : bound.inputs()) {
    const Tensor& tensor = bound.tensors[id];
    std::vector<int64_t> extents;
    for (const Affine& e : tensor.shape) extents.push_back(std::max<int64_t>(0, e.constant));
    TensorData data = make_tensor(tensor.type, extents);
    const int64_t lo = tensor.values_lo ? tensor.values_lo->constant : 1,
                  hi = tensor.values_hi ? tensor.values_hi->constant : most;
    for (int64_t k = 0; k < data.elements(); ++k) {
      seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
      const int64_t value =
          lo + static_cast<int64_t>((seed >> 33) % static_cast<uint64_t>(std::max<int64_t>(1, hi - lo)));
      data.set(k, is_float(tensor.type) ? ir::float_literal(tensor.type, static_cast<double>(value))
                                        : ir::integer_literal(tensor.type, value));
    }
    out.push_back(std::move(data));
  }
  return out;
}

/// Within an error bound, which may be infinite.
inline bool same_within(const Literal& a, const Literal& b, double bound) {
  if (!is_float(a.type)) return a.i == b.i;
  return a.f == b.f || (std::isnan(a.f) && std::isnan(b.f)) || std::fabs(a.f - b.f) <= bound || std::isinf(bound);
}

}  // namespace polyweft::test
