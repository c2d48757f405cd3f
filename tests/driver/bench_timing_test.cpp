// How long a peak kernel runs beside a kernel.
#include "driver/bench_timing.h"

#include <gtest/gtest.h>

namespace polyweft {
namespace {

TEST(BenchTiming, a_peak_kernel_runs_as_long_as_the_kernel_within_limits) {
  EXPECT_EQ(peak_kernel_ns(2e6, 1), 2e6);
  EXPECT_EQ(peak_kernel_ns(2e6, 2), 2e6);
  EXPECT_EQ(peak_kernel_ns(100, 1), 20e3) << "the clock costs 40 ns";
  EXPECT_EQ(peak_kernel_ns(100, 2), 100e3) << "a fork costs microseconds";
  EXPECT_EQ(peak_kernel_ns(5e9, 1), 30e6) << "pairs must fit the budget";
}

TEST(BenchTiming, the_peak_of_few_interrupted_pairs_is_that_of_the_calls_that_nobody_interrupted) {
  Timing pairs;
  pairs.samples_ns = {10e6, 20e6, 10e6, 30e6};
  pairs.beside_ns = {16e6, 8e6, 24e6, 16e6};
  pairs.median_ns = 15e6;
  pairs.ratio = 0.625;  // by the medians it would be 24 ms
  EXPECT_DOUBLE_EQ(other_of_pairs_ns(pairs), 12e6) << "8 of 10, as much slowed down as the kernel's median";
  Timing device;
  device.median_ns = 10;
  device.ratio = 2;
  EXPECT_DOUBLE_EQ(other_of_pairs_ns(device), 5) << "no samples";
}

TEST(BenchTiming, what_a_search_would_drop_is_said) {
  const auto of = [](double ns) {
    Timing timing;
    timing.median_ns = ns;
    return timing;
  };
  EXPECT_EQ(slow_warnings("trace", of(2.9e6), of(1e6)), std::vector<std::string>());
  EXPECT_EQ(slow_warnings("trace", of(31.26e6), of(1e6)),
            std::vector<std::string>{"trace takes 31.3 times as long as the base nest"});
  EXPECT_EQ(slow_warnings("trace", of(1e6), of(0)), std::vector<std::string>()) << "no base nest was timed";
}

TEST(BenchTiming, a_kernel_without_a_time_is_wrong_or_was_stopped) {
  RunOutcome outcome;
  outcome.status = RunStatus::slower;
  outcome.detail = "the kernel had not returned after 300 s and was stopped";
  EXPECT_EQ(did_not_run("trace:a", outcome).message,
            "trace:a could not be timed: the kernel had not returned after 300 s and was stopped");
  EXPECT_EQ(did_not_run("trace:a", outcome).notes,
            std::vector<std::string>{"smaller sizes (-p NAME=VALUE) say as much about a schedule and take less time"});
  outcome.status = RunStatus::wrong_result;
  outcome.detail = "C[0] is 1, the reference has 2";
  EXPECT_EQ(did_not_run("the kernel", outcome).message,
            "the kernel did not run correctly: wrong_result: C[0] is 1, the reference has 2");
}

}  // namespace
}  // namespace polyweft
