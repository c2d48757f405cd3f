// What one kernel takes, and the peak that its rate is a share of: measured in turns, since a clock that is high for 50
// us, and what other attached stages take of a core, are then the same for both. `bench` and `tune` tell the same
// figures because both get them here.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "driver/compile_service.h"
#include "polyweft/runner.h"
#include "polyweft/tuner.h"

namespace polyweft {

/// How long a peak kernel runs beside a kernel that takes so long: as long as the kernel, but no shorter than what is
/// surely more than the clock and a fork cost, and no longer than lets some dozen pairs fit a second. Nanoseconds.
double peak_kernel_ns(double kernel_ns, int threads);

/// Who asks for a kernel by name waits for it: one run may take as long as one of the reference.
inline constexpr std::chrono::milliseconds kBenchDeadline{300'000};
/// What the kernel in turns with this one takes where this one takes its median: by the least of each, since whatever
/// interrupts them only adds. With medians of few pairs a peak came out as low as 0.6 of itself on a busy machine.
double other_of_pairs_ns(const Timing& pairs);
/// How many pairs a rival gets: as many as the kernel has samples, and of a short kernel enough for an interval that an
/// interruption does not reach.
int pairs_of_rival(const Timing& kernel);
/// Of a base nest on the CPU beside a device: what would take longer has another reference.
inline constexpr double kLongestBaseNs = 2e9;
/// Of a base nest, one thread of a device with many slow ones: what nobody needs is not waited for.
inline constexpr std::chrono::milliseconds kOneThreadDeadline{2'000};
/// PW0651 for an outcome without a time: what was wrong, or that the deadline was too short.
Error did_not_run(const std::string& who, const RunOutcome& outcome);
/// What a search would have dropped `who` for: that it takes far longer than the base nest.
std::vector<std::string> slow_warnings(const std::string& who, const Timing& timing, const Timing& reference);

/// A kernel and what its peak kernel is made from.
struct TimedKernel {
  const LoopNest& nest;
  const LoadableKernel& kernel;
  int threads = 1;
};
/// A kernel's time and the peak, in turns.
struct KernelTiming {
  Timing timing;
  double peak_gflops = 0;  ///< 0: no peak is known
  std::string peak_of;     ///< as BenchReport::peak_of
};
/// The runner has begun the kernel's task; its incumbent is another afterwards. The peak is left out where the target
/// is not this machine or no unit is known. PW0651 where the kernel does not run correctly.
Result<KernelTiming> time_kernel(Runner& runner, const CompileService& compiler, const TimedKernel& kernel,
                                 std::chrono::milliseconds budget);

}  // namespace polyweft
