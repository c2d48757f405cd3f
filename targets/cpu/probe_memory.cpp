#include "targets/cpu/probe_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

namespace polyweft::targets {
namespace {

using ProbeClock = std::chrono::steady_clock;
constexpr size_t kSmallPageBytes = 4096, kHugePageBytes = size_t{2} << 20;
constexpr uint64_t kSeedOfOrders = 20260;  ///< orders are the same each time

double ns_from(ProbeClock::time_point start) {
  return std::chrono::duration<double, std::nano>(ProbeClock::now() - start).count();
}

}  // namespace

double least_ns(const std::function<void()>& run, double budget_ms) {
  constexpr int kLeastRuns = 3;
  const auto begin = ProbeClock::now();
  double least = 0;
  for (int k = 0; k < kLeastRuns || ns_from(begin) < budget_ms * 1e6; ++k) {
    const auto start = ProbeClock::now();
    run();
    const double ns = ns_from(start);
    least = k == 0 ? ns : std::min(least, ns);
  }
  return least;
}

size_t last_before_step(const std::vector<double>& latencies) {
  constexpr double kLeastRise = 1.2;
  if (latencies.size() < 2 || latencies.back() < kLeastRise * latencies.front()) return 0;
  const double middle = std::sqrt(latencies.front() * latencies.back());
  size_t last = 0;
  while (last + 1 < latencies.size() && latencies[last + 1] <= middle) ++last;
  return last;
}

void ProbeMemory::Unmap::operator()(char* memory) const {
  munmap(memory, bytes);
}

ProbeMemory::ProbeMemory(const ProbeKernels& kernels, size_t bytes, Pages pages)
    : kernels_(kernels),
      bytes_((bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes),
      memory_(nullptr, Unmap{bytes_}) {
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  madvise(memory, bytes_, pages == Pages::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  memory_.reset(static_cast<char*>(memory));
  std::fill_n(memory_.get(), bytes_, char{1});
}

// The cells of a ring, in the order of `places`: each holds the address of the next one. Runs go on where the one
// before ended: what the ring's making has left in a cache was written last, and what does not fit is met as late again
// as it was written.
double ProbeMemory::chase_ns(const std::vector<size_t>& places, double budget_ms) {
  constexpr int64_t kSteps = 4'096;
  for (size_t k = 0; k < places.size(); ++k)
    *reinterpret_cast<void**>(memory_.get() + places[k]) = memory_.get() + places[(k + 1) % places.size()];
  const ProbeKernel chase = kernels_.chase();
  int64_t at = reinterpret_cast<int64_t>(memory_.get() + places.front());
  return least_ns([&] { at = chase(reinterpret_cast<void*>(at), kSteps); }, budget_ms) / static_cast<double>(kSteps);
}

double ProbeMemory::latency_ns(size_t bytes, size_t line_bytes, double budget_ms) {
  std::mt19937_64 random(kSeedOfOrders);
  const size_t lines = kSmallPageBytes / line_bytes;
  std::vector<size_t> pages(bytes / kSmallPageBytes), order(lines), places;
  std::iota(pages.begin(), pages.end(), size_t{0});
  std::shuffle(pages.begin(), pages.end(), random);
  std::iota(order.begin(), order.end(), size_t{0});
  places.reserve(pages.size() * lines);
  for (const size_t page : pages) {
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t line : order) places.push_back(page * kSmallPageBytes + line * line_bytes);
  }
  return chase_ns(places, budget_ms);
}

std::vector<size_t> ProbeMemory::places_apart(size_t count, size_t bytes_apart, size_t shift_bytes) const {
  std::vector<size_t> places;
  for (size_t k = 0; k < count; ++k) places.push_back(k * bytes_apart + k * shift_bytes % kSmallPageBytes);
  std::mt19937_64 random(kSeedOfOrders);
  std::shuffle(places.begin(), places.end(), random);
  return places;
}

double ProbeMemory::latency_apart_ns(size_t count, size_t bytes_apart, size_t shift_bytes, double budget_ms) {
  return chase_ns(places_apart(count, bytes_apart, shift_bytes), budget_ms);
}

double ProbeMemory::touch_apart_ns(size_t count, size_t bytes_apart, size_t shift_bytes, double budget_ms) {
  constexpr size_t kLeastSteps = 4'096;
  std::vector<void*> addresses;
  for (const size_t place : places_apart(count, bytes_apart, shift_bytes)) addresses.push_back(memory_.get() + place);
  while (addresses.size() < kLeastSteps)
    addresses.insert(addresses.end(), addresses.begin(), addresses.begin() + static_cast<std::ptrdiff_t>(count));
  while (addresses.size() % 4 != 0) addresses.push_back(addresses.back());
  const ProbeKernel touches = kernels_.touches();
  return least_ns([&] { touches(addresses.data(), static_cast<int64_t>(addresses.size())); }, budget_ms) /
         static_cast<double>(addresses.size());
}

double ProbeMemory::read_gb_s(size_t bytes, int vector_bytes, double budget_ms) {
  constexpr size_t kLeastBytes = size_t{1} << 20;
  const size_t step = static_cast<size_t>(vector_bytes) * ProbeKernels::kUnrolled,
               whole = std::max(step, bytes / step * step);
  const auto vectors = static_cast<int64_t>(whole / static_cast<size_t>(vector_bytes));
  const size_t passes = std::max<size_t>(1, kLeastBytes / whole);
  const ProbeKernel reads = kernels_.reads();
  const double ns = least_ns(
      [&] {
        for (size_t pass = 0; pass < passes; ++pass) reads(memory_.get(), vectors);
      },
      budget_ms);
  return static_cast<double>(whole * passes) / ns;
}

}  // namespace polyweft::targets
