// Bits of a backend's kernels beside those of the interpreter: nests and programs of texts, inputs with the values at
// which operators are special, the first element that differs.
#pragma once

#include <string>
#include <vector>

#include "polyweft/loop_nest.h"
#include "targets/backend.h"

namespace polyweft::backend_test {

/// Texts that do not parse or verify fail the test that asks.
LoopNest nest_of_text(const std::string& text);
/// At the sizes of its defaults, normalized.
Program program_of_text(const std::string& text);
/// In class strict.
LoopNest base_nest_of(const std::string& text);

/// Random ones; every third element is a value at which operators are special, where nothing was promised of it.
std::vector<TensorData> inputs_of(const Program& bound, uint64_t seed);
/// The same in the order of the nest's arguments, unpacked; any bits, and factors and terms whose sums lie so near the
/// middle of two floats that a second rounding would show.
std::vector<TensorData> inputs_of(const LoopNest& nest, uint64_t seed);

/// "" or the first element that differs; NaNs are one value.
std::string first_difference(const TensorData& got, const TensorData& wanted);
Result<int> call(targets::LoadedKernel& kernel, std::vector<TensorData> inputs, std::vector<TensorData>& outputs);
/// "" or how the kernel's outputs differ from the interpreter's.
std::string difference_from_interpreter(const LoopNest& nest, targets::LoadedKernel& kernel,
                                        const std::vector<TensorData>& inputs);

}  // namespace polyweft::backend_test
