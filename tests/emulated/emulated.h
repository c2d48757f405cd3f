// Kernels for another CPU in an emulator of it: the bits of the interpreter. Each suite says which emulator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "polyweft/loop_nest.h"
#include "polyweft/target.h"

namespace polyweft::emulated_test {

/// What arguments hold: anything, special values among it, or small whole numbers, whose sums of products are exact in
/// any order.
enum class Values : uint8_t { any, small_whole };
/// What runs a program as a CPU with the target's features and no others, and the program: tests/emulated/harness.c by
/// a cross compiler.
struct Emulator {
  std::string command, harness;
  std::string own_fault = {};  ///< what it says where it dies of a fault of its own: the kernel is left out
};
Emulator emulator_of(const Target& target);  ///< each suite's own

/// A target that programs and random pairs are tried for: programs also in the base order, or a sample of them by their
/// first choices alone; and how many pairs where PW_RANDOM_EMULATED does not say.
struct EmulatedLevel {
  const char* name;
  const char* level;
  enum class Programs : uint8_t { all, sample } programs;
  int pairs;
};
std::vector<EmulatedLevel> emulated_levels();  ///< each suite's own
/// Why nothing can be run; "" where all is there. Each suite's own.
std::string missing_emulator();
/// The same where a helper of the target's backend runs kernels (in_helper.cpp). Where POLYWEFT_REQUIRED has one of the
/// names, none fails the test.
std::string why_not_here(const Target& target, const std::vector<std::string>& names);

/// Builds the nest for the target, calls it in its emulator on seeded data and compares every bit with the plain
/// interpreter: "" where they agree, and where the emulator dies of a known fault. What the backend refuses is
/// `refused: CODE ...`. By a harness that loads shared objects (emulated.cpp), or by a helper (in_helper.cpp).
std::string emulated_difference(const LoopNest& nest, const Target& target, uint64_t seed, Values values = Values::any);

}  // namespace polyweft::emulated_test
