// The inside of Kernel, data for it, and the comparison of its outputs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "driver/workshop.h"

namespace polyweft {

struct Kernel::Impl {
  std::shared_ptr<LoadedKernel> loaded;
  std::vector<ArgumentSpec> arguments;
  std::string origin;
};

/// One tensor an input argument. integer_valued: small integers, so that float sums are exact. Gathers stay inside their promise.
std::vector<TensorData> seeded_inputs(const std::vector<ArgumentSpec>& arguments, InputSet set, uint64_t seed);

/// Compares by the bounds of the task; `detail` says the first difference or the greatest share of the bound.
Comparison compare_outputs(const std::vector<ArgumentSpec>& arguments, std::vector<TensorData> got, const std::vector<TensorData>& expected, const RunnerTask& bounds,
                           const std::string& origin);

}  // namespace polyweft
