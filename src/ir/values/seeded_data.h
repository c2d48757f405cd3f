// Seeded inputs for evaluation and for runs without input files: the same bytes for the same program, binding and seed.
#pragma once

#include <vector>

#include "polyweft/program.h"

namespace polyweft::ir {

enum class DataKind : uint8_t {
  integers,  ///< small whole numbers (floats too): sums of products are exact in f32
  random     ///< floats uniform in [-1, 1), integers in a range that fits the type
};
/// One tensor for each input of a bound program, in order. `values` promises are kept. Stream k of the seed fills input
/// k.
std::vector<TensorData> seeded_inputs(const Program& bound, uint64_t seed, DataKind kind);

}  // namespace polyweft::ir
