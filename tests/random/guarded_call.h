// Calls a compiled kernel in a child process, on buffers that end (or begin) at a page nobody may touch.
#pragma once

#include <string>
#include <vector>

#include "polyweft/loop_nest.h"
#include "targets/cpu/build.h"

namespace polyweft::random_test {

/// What the kernel left in its outputs. Bytes that it did not write hold kUntouched.
inline constexpr unsigned char kUntouched = 0xA5;
struct CallResult {
  std::string trouble;  ///< empty, or how the call went wrong: a signal, a return code, bytes outside a buffer
  std::vector<TensorData> outputs;  ///< in the order of the nest
};

enum class Wall : uint8_t { behind, before };

/// `sizes`: of the code of a symbolic nest, whose specialization at them `nest` is. Packs what the nest wants packed,
/// then runs it with `threads` threads. The child may crash, hang or write where it must not: that is an answer.
CallResult guarded_call(const LoopNest& nest, const targets::LoadedCode& code, const std::vector<TensorData>& inputs,
                        Wall wall, int threads, const std::vector<int64_t>& sizes = {});

}  // namespace polyweft::random_test
