// How long a yardstick runs beside a kernel.
#include "driver/bench_timing.h"

#include <gtest/gtest.h>

namespace polyweft {
namespace {

TEST(BenchTiming, a_yardstick_runs_as_long_as_the_kernel_within_limits) {
  EXPECT_EQ(yardstick_ns(2e6, 1), 2e6);
  EXPECT_EQ(yardstick_ns(2e6, 2), 2e6);
  EXPECT_EQ(yardstick_ns(100, 1), 20e3) << "the clock costs 40 ns";
  EXPECT_EQ(yardstick_ns(100, 2), 100e3) << "a fork costs microseconds";
  EXPECT_EQ(yardstick_ns(5e9, 1), 30e6) << "pairs must fit the budget";
}

}  // namespace
}  // namespace polyweft
