// The inside of Kernel, and the comparison of its outputs (compare.cpp).
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver/compile_service.h"

namespace polyweft {

struct Kernel::Impl {
  std::shared_ptr<LoadedKernel> loaded;
  std::vector<ArgumentSpec> arguments;
  std::string origin;
  std::string workspace;  ///< what a call asks memory for, in words; empty: for nothing
  std::mutex calls;       ///< one at a time: packed inputs and descriptors of arguments are the kernel's
  /// Of a symbolic kernel, what its arguments are at sizes.
  struct Symbolic {
    LoopNest signature;  ///< without nodes
    Program program;
    std::vector<std::string> sizes;
  };
  std::unique_ptr<const Symbolic> symbolic = nullptr;
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
