#include "targets/cpu/calibrate.h"

#include <immintrin.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace polyweft::targets {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kIterations = 20'000;
constexpr int kChains = 12;  // latency 4 x 2 ports needs 8

// Each hands its sums to an empty asm: the compiler must not see that they are never used.

__attribute__((target("avx512f"))) double flops_512() {
  __m512 sum[kChains];
  for (auto& s : sum) s = _mm512_set1_ps(1);
  const __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
  for (int i = 0; i < kIterations; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sum[c] = _mm512_fmadd_ps(sum[c], a, b);
  }
  for (auto& s : sum) asm volatile("" : : "v"(s));
  return 2.0 * 16 * kChains * kIterations;
}

__attribute__((target("avx2,fma"))) double flops_256() {
  __m256 sum[kChains];
  for (auto& s : sum) s = _mm256_set1_ps(1);
  const __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
  for (int i = 0; i < kIterations; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sum[c] = _mm256_fmadd_ps(sum[c], a, b);
  }
  for (auto& s : sum) asm volatile("" : : "x"(s));
  return 2.0 * 8 * kChains * kIterations;
}

double flops_128() {
  __m128 sum[kChains];
  for (auto& s : sum) s = _mm_set1_ps(1);
  const __m128 a = _mm_set1_ps(0.999f), b = _mm_set1_ps(0.001f);
  for (int i = 0; i < kIterations; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sum[c] = _mm_add_ps(_mm_mul_ps(sum[c], a), b);
  }
  for (auto& s : sum) asm volatile("" : : "x"(s));
  return 2.0 * 4 * kChains * kIterations;
}

/// A stretch is as long as a kernel of some size: for one loop alone the clock is higher than any kernel keeps it.
double best_rate(double (*loop)(), std::chrono::milliseconds budget) {
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

// memchr is libc's widest loop of loads; nothing it looks for is there.
double best_read_rate(int passes) {
  constexpr size_t kBytes = size_t{64} << 20;
  const std::vector<char> bytes(kBytes, 1);
  double best = 0;
  for (int pass = 0; pass < passes; ++pass) {
    const auto start = Clock::now();
    const void* found = std::memchr(bytes.data(), 2, kBytes);
    asm volatile("" : : "r"(found));
    best = std::max(best, static_cast<double>(kBytes) / std::chrono::duration<double, std::nano>(Clock::now() - start).count());
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
  return (target.has("avx512f") ? flops_512 : target.has("fma") ? flops_256 : flops_128)();
}

double measured_fma_peak_gflops(const Target& target, int threads) {
  const auto loop = target.has("avx512f") ? flops_512 : target.has("fma") ? flops_256 : flops_128;
  return sum_over_threads(threads, [&] { return best_rate(loop, std::chrono::milliseconds(50)); });
}

double measured_memory_gb_s(int threads) {
  return sum_over_threads(threads, [] { return best_read_rate(3); });
}

}  // namespace polyweft::targets
