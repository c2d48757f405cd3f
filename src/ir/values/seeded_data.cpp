#include "ir/values/seeded_data.h"

#include <algorithm>
#include <cmath>

#include "ir/values/float_places.h"
#include "ir/values/scalar.h"
#include "support/rng.h"

namespace polyweft::ir {
namespace {

struct SeededRange {
  int64_t lo, hi;  ///< inclusive
};

SeededRange integer_range(const Tensor& tensor, DataKind kind) {
  if (tensor.values_lo)
    return {tensor.values_lo->constant, std::max(tensor.values_hi->constant - 1, tensor.values_lo->constant)};
  if (tensor.type == ElementType::boolean) return {0, 1};
  int64_t reach = kind == DataKind::integers ? 4 : 100;
  return {tensor.type == ElementType::u8 ? 0 : -reach, reach};
}

/// Within a promise as much of it as seeded data reach: [-1, 1) shrunk into it, whole numbers where there are some.
double promised_float(const Tensor& tensor, DataKind kind, Rng& rng) {
  const FloatRange range = floats_within(tensor.type, {tensor.values_lo->constant, tensor.values_hi->constant});
  const double first = std::ceil(range.lo), last = std::floor(range.hi);
  if (kind == DataKind::integers && first <= last)
    return first + static_cast<double>(rng.below(static_cast<uint64_t>(std::min(last - first, 8.0)) + 1));
  return std::clamp(range.lo + rng.uniform() * (range.hi - range.lo), range.lo, range.hi);
}

Literal drawn(const Tensor& tensor, DataKind kind, Rng& rng) {
  if (is_float(tensor.type) && tensor.values_lo) return float_literal(tensor.type, promised_float(tensor, kind, rng));
  if (is_float(tensor.type)) {
    double value = kind == DataKind::integers ? static_cast<double>(rng.between(-4, 4)) : 2 * rng.uniform() - 1;
    return float_literal(tensor.type, value);
  }
  SeededRange range = integer_range(tensor, kind);
  return integer_literal(tensor.type, rng.between(range.lo, range.hi));
}

}  // namespace

std::vector<TensorData> seeded_inputs(const Program& bound, uint64_t seed, DataKind kind) {
  std::vector<TensorData> out;
  for (TensorId id : bound.inputs()) {
    const Tensor& tensor = bound.tensors[id];
    std::vector<int64_t> extents;
    for (const Affine& extent : tensor.shape) extents.push_back(std::max<int64_t>(extent.constant, 0));
    Rng rng = Rng(seed).fork(out.size());
    TensorData data = make_tensor(tensor.type, extents);
    for (int64_t k = 0; k < data.elements(); ++k) data.set(k, drawn(tensor, kind, rng));
    out.push_back(std::move(data));
  }
  return out;
}

}  // namespace polyweft::ir
