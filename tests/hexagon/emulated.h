// Kernels for Hexagon in an emulator: the bits of the interpreter. Skipped by name where there is no emulator.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "polyweft/loop_nest.h"
#include "polyweft/target.h"
#include "targets/backend.h"

namespace polyweft::hexagon_test {

/// "" where there is one. Where POLYWEFT_REQUIRED names qemu or hexagon, none fails the test.
std::string why_no_emulator();

class Hexagon : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_emulator(); !why.empty()) GTEST_SKIP() << why;
  }
  /// Fails the test where the backend refuses the nest.
  std::unique_ptr<targets::LoadedKernel> loaded(const LoopNest& nest) const;
  /// Builds the nest, calls it in the emulator on seeded data and compares every bit with the plain interpreter: ""
  /// where they agree. What the backend refuses is `refused: CODE ...`.
  std::string difference(const LoopNest& nest, uint64_t seed) const;

  const Target target_ = find_target("hexagon").value();
  const targets::Backend& backend_ = *targets_backend();

 private:
  static const targets::Backend* targets_backend();
};

}  // namespace polyweft::hexagon_test
