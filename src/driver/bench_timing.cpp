#include "driver/bench_timing.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace polyweft {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstLook{20};
constexpr double kGuessedRate =
    0.2;  // instructions a nanosecond: some 16 cycles of a tile unit, a tenth of what vectors do
constexpr double kSlowKernelNs = 1e9;  // a kernel that takes longer is not run once more than needed

Result<Timing> timing_of(Runner& runner, const RunRequest& request) {
  auto outcome = runner.run(request);
  if (!outcome) return outcome.error();
  if (outcome->status != RunStatus::ok) return did_not_run("the kernel", *outcome);
  return outcome->timing;
}

/// The kernel in turns with so many instructions; none where the peak kernel cannot be made. `ratio` is of one call of
/// each.
Result<std::optional<Timing>> in_turns(Runner& runner, RunRequest request,
                                       const std::optional<CompileService::PeakKernel>& peak_kernel) {
  if (!peak_kernel) return std::optional<Timing>();
  if (auto set = runner.set_incumbent(peak_kernel->kernel); !set) return set.error();
  request.pair_with_incumbent = request.pair_to_the_end = true;
  auto timing = timing_of(runner, request);
  if (!timing) return timing.error();
  return timing->ratio > 0 && timing->median_ns > 0 ? std::optional(*timing) : std::nullopt;
}

// A first look says how many instructions take as long as the kernel.
std::vector<milliseconds> looks(double kernel_ns, milliseconds budget) {
  if (kernel_ns > kSlowKernelNs) return {budget};
  return {std::min(budget, kFirstLook), budget};
}

}  // namespace

double peak_kernel_ns(double kernel_ns, int threads) {
  constexpr double kAlone = 20e3, kTogether = 100e3, kLongest = 30e6;
  return std::clamp(kernel_ns, threads > 1 ? kTogether : kAlone, kLongest);
}

double other_of_pairs_ns(const Timing& pairs) {
  const auto least = [](const std::vector<float>& samples) {
    return samples.empty() ? 0.0 : static_cast<double>(*std::min_element(samples.begin(), samples.end()));
  };
  const double own = least(pairs.samples_ns), other = least(pairs.beside_ns);
  return pairs.median_ns * (own > 0 && other > 0 ? other / own : 1 / pairs.ratio);
}

int pairs_of_rival(const Timing& kernel) {
  constexpr double kShortNs = 1e6;
  constexpr int kEnough = 50;
  return std::max(kernel.samples, kernel.median_ns < kShortNs ? kEnough : 1);
}

Error did_not_run(const std::string& who, const RunOutcome& outcome) {
  if (outcome.status == RunStatus::slower || outcome.status == RunStatus::timed_out)
    return fail("PW0651", who + " could not be timed: " + outcome.detail,
                {"smaller sizes (-p NAME=VALUE) say as much about a schedule and take less time"});
  return fail("PW0651", who + " did not run correctly: " + name_of(outcome.status) + ": " + outcome.detail);
}

std::vector<std::string> slow_warnings(const std::string& who, const Timing& timing, const Timing& reference) {
  constexpr double kFarSlower = 3;
  if (reference.median_ns <= 0 || timing.median_ns < kFarSlower * reference.median_ns) return {};
  char text[40];
  std::snprintf(text, sizeof text, "%.1f", timing.median_ns / reference.median_ns);
  return {who + " takes " + text + " times as long as the base nest"};
}

Result<KernelTiming> time_kernel(Runner& runner, const CompileService& compiler, const TimedKernel& kernel,
                                 milliseconds budget) {
  RunRequest request;
  request.candidate = kernel.kernel;
  request.deadline = kBenchDeadline;
  request.with_cold_calls = !compiler.has_reference_of_its_kind();
  const bool has_peak = compiler.kernels_run_here() && compiler.peak_kernel(kernel.nest, kernel.threads, 1).has_value();
  request.time_budget = has_peak ? std::min(budget, kFirstLook) : budget;
  auto alone = timing_of(runner, request);
  if (!alone) return alone.error();
  KernelTiming out{*alone, 0, ""};
  if (!has_peak) return out;
  const double wanted_ns = peak_kernel_ns(alone->median_ns, kernel.threads);
  double instructions = std::max(1.0, wanted_ns * kGuessedRate);
  for (const milliseconds time : looks(alone->median_ns, budget)) {
    const auto peak_kernel = compiler.peak_kernel(kernel.nest, kernel.threads, std::llround(instructions));
    request.time_budget = time;
    auto pairs = in_turns(runner, request, peak_kernel);
    if (!pairs) return pairs.error();
    if (!*pairs) break;
    const double peak_kernel_took_ns = other_of_pairs_ns(**pairs);
    instructions = std::max(1.0, instructions * wanted_ns / peak_kernel_took_ns);
    out = {**pairs, peak_kernel->operations / peak_kernel_took_ns, peak_kernel->unit};
    out.timing.ratio = out.timing.ratio_lo = out.timing.ratio_hi = 0;
  }
  return out;
}

}  // namespace polyweft
