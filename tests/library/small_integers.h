// Tensors of f32 that hold small integers: sums of their products are exact.
#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "polyweft/program.h"

namespace polyweft::library_test {

inline float* floats(TensorData& data) {
  return reinterpret_cast<float*>(data.bytes.data());
}

/// From -4 to 4.
inline TensorData integers(std::vector<int64_t> extents, std::mt19937& random) {
  TensorData out = make_tensor(ElementType::f32, std::move(extents));
  for (int64_t i = 0; i < out.elements(); ++i) floats(out)[i] = static_cast<float>(static_cast<int>(random() % 9) - 4);
  return out;
}

}  // namespace polyweft::library_test
