// The inside of Kernel, and the comparison of its outputs (compare.cpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "driver/compile_service.h"

namespace polyweft {

struct Kernel::Impl {
  std::shared_ptr<LoadedKernel> loaded;
  std::vector<ArgumentSpec> arguments;
  std::string origin;
  std::string workspace;  ///< what a call asks memory for, in words; empty: for nothing
};

/// What two results of a task may differ by: nothing, or the bound of each element (f64 tensors, one for each output),
/// or without those a rule of thumb.
struct Tolerance {
  bool bit_exact = false;
  double relative_bound = 0;
  std::vector<TensorData> bounds;
  std::string deciding = {};  ///< the comparison of floats that whole numbers of the program depend on; empty: none
};
/// `detail` says the first difference, or the greatest share of the tolerance and where that came from.
Comparison compare_outputs(const std::vector<ArgumentSpec>& arguments, std::vector<TensorData> got,
                           const std::vector<TensorData>& expected, const Tolerance& tolerance,
                           const std::string& origin);

}  // namespace polyweft
