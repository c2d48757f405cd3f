// What `bench` measures of one kernel: its time, and the rate that it is a share of.
#pragma once

#include <chrono>

#include "driver/workshop.h"
#include "polyweft/runner.h"
#include "polyweft/tuner.h"

namespace polyweft {

/// How long a yardstick runs beside a kernel that takes so long: as long as the kernel, but no shorter than what is surely more than the clock and a fork
/// cost, and no longer than lets some dozen pairs fit a second. Nanoseconds.
double yardstick_ns(double kernel_ns, int threads);

/// Fills report.kernel, peak_gflops and peak_of; report.flops must be there. The runner has begun the kernel's task. PW0651 where the kernel does not run correctly.
Status time_kernel(Runner& runner, const Workshop& workshop, const LoopNest& nest, const LoadableKernel& kernel, int threads, std::chrono::milliseconds budget,
                   BenchReport& report);

}  // namespace polyweft
