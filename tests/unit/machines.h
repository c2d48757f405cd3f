// Machines with a unit beside a RISC-V CPU, as descriptions have them: their kernels in an emulator, compared with the
// interpreter, and cycles of the model. Skipped by name where there is no emulator.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "polyweft/loop_nest.h"
#include "polyweft/target.h"
#include "targets/backend.h"

namespace polyweft::unit_test {

/// "" where there is one. Where POLYWEFT_REQUIRED names qemu, none fails the test.
std::string why_no_unit();
/// The descriptions: the systolic array, and the one made up here.
inline constexpr const char* kGemmini = PW_SOURCE_DIR "/targets/descriptions/gemmini.toml";
inline constexpr const char* kMadeUp = PW_SOURCE_DIR "/tests/unit/made_up.toml";
Target machine_of(const char* description);

class UnitMachine : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_unit(); !why.empty()) GTEST_SKIP() << why;
  }
  const Target target_ = machine_of(GetParam());
};

/// The nest of a trace; fails the test where a step or a size is refused.
LoopNest unit_nest(const Program& program, const std::string& trace);
/// What the backend says of the nest; empty: it builds it.
std::string refusal(const LoopNest& nest, const Target& target);
/// Cycles of a call by the model.
double model_cycles(const LoopNest& nest, const Target& target);
/// A product in blocks of `rows` x `columns` sums and parts of `depth`, by the target's first instruction.
std::string unit_trace(const Target& target, int64_t rows, int64_t columns, int64_t depth, int slots);

}  // namespace polyweft::unit_test
