// Random (program, trace) pairs with loops over blocks and threads on the emulator of AMD's machines:
// PW_RANDOM_PAIRS=300 amdgpu_emulated_tests judges 300 of them, PW_RANDOM_SEED=17 one, with its code.
#include <gtest/gtest.h>

#include "random/grid_pairs.h"

namespace polyweft::emulator_test {
namespace {

TEST(EmulatorPairs, emulator_of_amd_and_interpreter_agree) {
  random_test::expect_grid_pairs_agree({"emulated:gfx942", "emulated:gfx1100"}, 60);
}

}  // namespace
}  // namespace polyweft::emulator_test
