// Compiles a nest, calls it through halide_buffer_t and compares every bit with the plain interpreter.
#pragma once

#include <HalideRuntime.h>

#include <string>
#include <vector>

#include "polyweft/loop_nest.h"
#include "polyweft/target.h"
#include "targets/cpu/build.h"

namespace polyweft::targets_test {

/// Kernels of two and of three arguments.
using Kernel2 = int (*)(halide_buffer_t*, halide_buffer_t*);
using Kernel3 = int (*)(halide_buffer_t*, halide_buffer_t*, halide_buffer_t*);

LoopNest parsed(const std::string& text);
/// Bytes of a buffer as its caller sees it: logical extents, or the packed cells.
TensorData argument_data(const Buffer& buffer);
/// Seeded values with the type's special ones between them.
void fill(TensorData& data, uint64_t seed);

/// The same inside the range that the buffer's caller promises.
void fill_promised(TensorData& data, const Buffer& buffer, uint64_t seed);

/// A halide_buffer_t over a tensor.
class Argument {
 public:
  explicit Argument(TensorData& data);
  /// Its bytes at an address that is a multiple of 64, as packed arguments must lie; copied back into the tensor by
  /// take_back().
  void align();
  void take_back();
  halide_buffer_t* get() { return &buffer_; }
  std::vector<halide_dimension_t>& dimensions() { return dims_; }
  Argument(const Argument&) = delete;

 private:
  TensorData* data_;
  std::vector<unsigned char> aligned_;
  std::vector<halide_dimension_t> dims_;
  halide_buffer_t buffer_{};
};

struct Loaded {
  targets::CompiledObject object;
  std::unique_ptr<targets::LoadedCode> code;
};
/// Fails the test where compiling or loading fails.
Loaded load(const LoopNest& nest, const Target& target);
int call(void* kernel, std::vector<TensorData>& arguments);
/// "" where the two tensors hold the same bits (NaNs are one value), else the first difference.
std::string difference(const TensorData& a, const TensorData& b);
/// "" where the compiled nest gives the interpreter's bits on seeded inputs (promised values inside their range), or
/// where code generation refuses the nest; else what differs.
std::string compiled_difference(const LoopNest& nest, const Target& target, uint64_t seed);
/// Targets that this machine can run, host first.
std::vector<Target> runnable_targets();
/// Compiled result == interpreter, on every runnable target, on `rounds` seeded inputs.
void expect_same_bits(const LoopNest& nest, int rounds = 2);

}  // namespace polyweft::targets_test
