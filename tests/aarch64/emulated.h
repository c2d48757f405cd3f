// Kernels for AArch64 in an emulator: the bits of the interpreter.
#pragma once

#include <cstdint>
#include <string>

#include "polyweft/loop_nest.h"
#include "polyweft/target.h"

namespace polyweft::aarch64_test {

/// What arguments hold: anything, special values among it, or small whole numbers, whose sums of products are exact in
/// any order.
enum class Values : uint8_t { any, small_whole };
/// Builds the nest for the target, calls it under qemu-aarch64 on seeded data and compares every bit with the plain
/// interpreter: "" where they agree. What the backend refuses is `refused: CODE ...`.
std::string emulated_difference(const LoopNest& nest, const Target& target, uint64_t seed, Values values = Values::any);

}  // namespace polyweft::aarch64_test
