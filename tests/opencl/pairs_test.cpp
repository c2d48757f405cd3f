// Random (program, trace) pairs with loops over blocks and threads on the device: PW_RANDOM_PAIRS=300 opencl_tests
// judges 300 of them, PW_RANDOM_SEED=17 one, with its code.
#include <gtest/gtest.h>

#include "opencl/device.h"
#include "random/grid_pairs.h"

namespace polyweft::opencl_test {
namespace {

TEST(OpenClPairs, device_and_interpreter_agree) {
  if (const std::string why = why_no_device(); !why.empty()) GTEST_SKIP() << why;
  random_test::expect_grid_pairs_agree({"opencl"}, 40);
}

}  // namespace
}  // namespace polyweft::opencl_test
