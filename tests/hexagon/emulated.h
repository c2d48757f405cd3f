// Kernels for Hexagon in an emulator. Skipped by name where there is none.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "polyweft/loop_nest.h"
#include "polyweft/target.h"
#include "targets/backend.h"

namespace polyweft::hexagon_test {

class Hexagon : public testing::Test {
 protected:
  void SetUp() override;
  /// Fails the test where the backend refuses the nest.
  std::unique_ptr<targets::LoadedKernel> loaded(const LoopNest& nest) const;

  const Target target_ = find_target("hexagon").value();
  const targets::Backend& backend_ = *targets_backend();

 private:
  static const targets::Backend* targets_backend();
};

}  // namespace polyweft::hexagon_test
