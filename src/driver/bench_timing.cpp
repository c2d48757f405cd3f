#include "driver/bench_timing.h"

#include <algorithm>
#include <cmath>

namespace polyweft {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstLook{20};
constexpr double kGuessedRate = 0.2;  // instructions a nanosecond: some 16 cycles of a tile unit, a tenth of what vectors do

Result<Timing> timing_of(Runner& runner, const RunRequest& request) {
  auto outcome = runner.run(request);
  if (!outcome) return outcome.error();
  if (outcome->status != RunStatus::ok) return fail("PW0651", std::string("the kernel did not run correctly: ") + name_of(outcome->status) + ": " + outcome->detail);
  return outcome->timing;
}

/// The kernel in turns with so many instructions; none where the yardstick cannot be made. `ratio` is of one call of each.
Result<std::optional<Timing>> in_turns(Runner& runner, RunRequest request, const std::optional<Workshop::Yardstick>& yardstick) {
  if (!yardstick) return std::optional<Timing>();
  if (auto set = runner.set_incumbent(yardstick->kernel); !set) return set.error();
  request.pair_with_incumbent = request.pair_to_the_end = true;
  auto timing = timing_of(runner, request);
  if (!timing) return timing.error();
  return timing->ratio > 0 && timing->median_ns > 0 ? std::optional(*timing) : std::nullopt;
}

}  // namespace

double yardstick_ns(double kernel_ns, int threads) {
  constexpr double kAlone = 20e3, kTogether = 100e3, kLongest = 30e6;
  return std::clamp(kernel_ns, threads > 1 ? kTogether : kAlone, kLongest);
}

Status time_kernel(Runner& runner, const Workshop& workshop, const LoopNest& nest, const LoadableKernel& kernel, int threads, milliseconds budget, BenchReport& report) {
  RunRequest request;
  request.candidate = kernel;
  const bool has_peak = report.flops > 0 && workshop.target().is_host && workshop.yardstick(nest, threads, 1).has_value();
  request.time_budget = has_peak ? std::min(budget, kFirstLook) : budget;
  auto alone = timing_of(runner, request);
  if (!alone) return alone.error();
  report.kernel = *alone;
  if (!has_peak) return Ok{};
  // Twice: the first time says how many instructions take as long as the kernel.
  const double wanted_ns = yardstick_ns(alone->median_ns, threads);
  double instructions = std::max(1.0, wanted_ns * kGuessedRate);
  for (const milliseconds time : {std::min(budget, kFirstLook), budget}) {
    const auto yardstick = workshop.yardstick(nest, threads, std::llround(instructions));
    request.time_budget = time;
    auto pairs = in_turns(runner, request, yardstick);
    if (!pairs) return pairs.error();
    if (!*pairs) return Ok{};
    const double yardstick_took_ns = (*pairs)->median_ns / (*pairs)->ratio;
    instructions = std::max(1.0, instructions * wanted_ns / yardstick_took_ns);
    report.kernel = **pairs;
    report.kernel.ratio = report.kernel.ratio_lo = report.kernel.ratio_hi = 0;
    report.peak_gflops = yardstick->operations / yardstick_took_ns;
    report.peak_of = yardstick->unit;
  }
  return Ok{};
}

}  // namespace polyweft
