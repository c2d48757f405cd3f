#include "targets/cpu/calibrate.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "targets/cpu/probe_kernels.h"

namespace polyweft::targets {
namespace {

using Clock = std::chrono::steady_clock;

/// Compiled once a process and target; null where that does not work.
const ProbeKernels* kernels_for(const Target& target) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<ProbeKernels>> known;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace(fingerprint(target));
  if (is_new)
    if (auto made = ProbeKernels::compiled_for(target))
      at->second = std::make_unique<ProbeKernels>(std::move(made).value());
  return at->second.get();
}

double run_fma_loop(const ProbeKernels& kernels) {
  constexpr int64_t kCount = 20'000 * ProbeKernels::kChains;
  kernels.multiply_adds(kernels.widths().back())(nullptr, kCount);
  return 2.0 * kernels.widths().back() / 32 * kCount;
}

/// A stretch is as long as a kernel of some size: for one loop alone the clock is higher than any kernel keeps it.
double best_rate(const std::function<double()>& loop, std::chrono::milliseconds budget) {
  constexpr std::chrono::milliseconds kStretch(5);
  double best = 0;
  const auto end = Clock::now() + budget;
  while (Clock::now() < end) {
    const auto start = Clock::now();
    double flops = 0;
    do flops += loop();
    while (Clock::now() < start + kStretch);
    best = std::max(best, flops / std::chrono::duration<double, std::nano>(Clock::now() - start).count());
  }
  return best;
}

double best_read_rate(const ProbeKernels& kernels, int passes) {
  constexpr size_t kBytes = size_t{64} << 20;
  std::vector<char> bytes(kBytes, 1);
  double best = 0;
  for (int pass = 0; pass < passes; ++pass) {
    const auto start = Clock::now();
    kernels.reads()(bytes.data(), static_cast<int64_t>(kBytes) * 8 / kernels.widths().back());
    best = std::max(
        best, static_cast<double>(kBytes) / std::chrono::duration<double, std::nano>(Clock::now() - start).count());
  }
  return best;
}

double sum_over_threads(int threads, const std::function<double()>& rate) {
  std::vector<double> rates(static_cast<size_t>(std::max(1, threads)));
  std::vector<std::jthread> others;
  for (size_t t = 1; t < rates.size(); ++t) others.emplace_back([&, t] { rates[t] = rate(); });
  rates[0] = rate();
  others.clear();
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace

double run_fma_loop(const Target& target) {
  const ProbeKernels* kernels = kernels_for(target);
  return kernels ? run_fma_loop(*kernels) : 0;
}

double measured_fma_peak_gflops(const Target& target, int threads) {
  const ProbeKernels* kernels = kernels_for(target);
  if (!kernels) return 0;
  return sum_over_threads(
      threads, [&] { return best_rate([&] { return run_fma_loop(*kernels); }, std::chrono::milliseconds(50)); });
}

double measured_memory_gb_s(const Target& target, int threads) {
  const ProbeKernels* kernels = kernels_for(target);
  return kernels ? sum_over_threads(threads, [&] { return best_read_rate(*kernels, 3); }) : 0;
}

}  // namespace polyweft::targets
