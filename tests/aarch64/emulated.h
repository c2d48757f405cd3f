// Kernels for AArch64 in an emulator: the bits of the interpreter.
#pragma once

#include <string>

#include "polyweft/loop_nest.h"
#include "polyweft/target.h"

namespace polyweft::aarch64_test {

/// Builds the nest for the target, calls it under qemu-aarch64 on seeded data and compares every bit with the plain interpreter: "" where they agree. What the backend
/// refuses is `refused: CODE ...`.
std::string emulated_difference(const LoopNest& nest, const Target& target, uint64_t seed);

}  // namespace polyweft::aarch64_test
