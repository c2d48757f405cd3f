// The inside of Kernel and the comparison of its outputs.
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

/// Compares by the bounds of the task; `detail` says the first difference or the greatest share of the bound.
Comparison compare_outputs(const std::vector<ArgumentSpec>& arguments, std::vector<TensorData> got, const std::vector<TensorData>& expected, const RunnerTask& bounds,
                           const std::string& origin);

}  // namespace polyweft
