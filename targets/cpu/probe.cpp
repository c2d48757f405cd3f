#include "targets/cpu/probe.h"

#include <algorithm>
#include <cmath>

#include "targets/cpu/probe_memory.h"

namespace polyweft::targets {
namespace {

constexpr size_t kMostProbedBytes = size_t{96}
                                    << 20;  ///< that are chased and read: past any cache that a thread counts on
constexpr double kShortMs = 4, kLatencyMs = 12, kLargeMs = 30;

/// Rates and latencies are whole or half numbers, measured with some noise.
double snapped(double value, double unit) {
  constexpr double kNear = 0.12;
  const double whole = std::round(value / unit) * unit;
  return std::abs(value - whole) <= kNear * unit * 2 ? whole : std::round(value * 100) / 100;
}

Figure<double> probed(double value) {
  return {value, FigureOrigin::probed};
}

struct LatencyCurve {
  std::vector<size_t> bytes;       ///< of the ring that is chased, rising
  std::vector<double> latency_ns;  ///< the least so far; 0: none yet
};

constexpr size_t kLarge = 4 << 20;

/// Four steps an octave, two where sizes are large.
LatencyCurve sizes_up_to(size_t most) {
  constexpr size_t kSmallest = 8 << 10;
  LatencyCurve out;
  for (size_t octave = kSmallest; octave <= most; octave *= 2)
    for (const size_t eighths : {8, 10, 12, 14})
      if (const size_t size = octave / 8 * eighths;
          size <= most && size % 4096 == 0 && (octave < kLarge || eighths % 4 == 0))
        out.bytes.push_back(size);
  out.latency_ns.assign(out.bytes.size(), 0);
  return out;
}

class Probe {
 public:
  Probe(const Target& target, const ProbeKernels& kernels)
      : machine_(target.machine), kernels_(kernels), vector_bytes_(static_cast<int>(machine_.vector_bytes())) {}

  Result<Machine> run() {
    measure_clock();
    measure_arithmetic();
    measure_accesses();
    measure_forks();
    ProbeMemory memory(kernels_, kMostProbedBytes, Pages::huge);
    if (!memory.is_there()) return machine_;
    LatencyCurve curve = sizes_up_to(memory.bytes());
    measure_latencies(memory, curve);
    measure_ways(memory);
    measure_latencies(memory, curve);
    measure_look_aside_buffers();
    measure_latencies(memory, curve);
    measure_caches(curve);
    measure_rates(memory);
    return machine_;
  }

 private:
  double cycles(double ns) const { return ns * machine_.clock_ghz.value; }
  double cycles_each(ProbeKernel kernel, void* data, int64_t count) const {
    return cycles(least_ns([&] { kernel(data, count); }, kShortMs)) / static_cast<double>(count);
  }

  void measure_clock() {
    constexpr int64_t kCount = 64'000;
    const ProbeKernel additions = kernels_.additions();
    const double ns = least_ns([&] { additions(nullptr, kCount); }, kLatencyMs);
    machine_.clock_ghz = probed(std::round(static_cast<double>(kCount) / ns * 1000) / 1000);
  }
  void measure_arithmetic() {
    constexpr int64_t kCount = 2'000 * ProbeKernels::kChains;
    const int bits = kernels_.widths().back();
    machine_.units.multiply_adds_per_cycle =
        probed(snapped(1 / cycles_each(kernels_.multiply_adds(bits), nullptr, kCount), 0.5));
    machine_.units.multiply_add_latency_cycles =
        probed(snapped(cycles_each(kernels_.dependent_multiply_adds(bits), nullptr, kCount), 0.5));
  }
  void measure_accesses() {
    constexpr int64_t kCount = 1'000 * ProbeKernels::kUnrolled;
    std::vector<char> cells(static_cast<size_t>(vector_bytes_) * (ProbeKernels::kUnrolled + 1));
    char* aligned = cells.data() + (vector_bytes_ - static_cast<int>(reinterpret_cast<uintptr_t>(cells.data()) %
                                                                     static_cast<uintptr_t>(vector_bytes_)));
    machine_.units.loads_per_cycle = probed(snapped(1 / cycles_each(kernels_.loads(), aligned, kCount), 0.5));
    machine_.units.stores_per_cycle = probed(snapped(1 / cycles_each(kernels_.stores(), aligned, kCount), 0.5));
  }
  void measure_forks() {
    constexpr int64_t kForks = 5;
    if (machine_.cores() < 2) return;
    const ProbeKernel forks = kernels_.forks(), additions = kernels_.additions();
    const double together = least_ns([&] { forks(nullptr, kForks); }, kLargeMs) / kForks,
                 alone = least_ns([&] { additions(nullptr, ProbeKernels::kAdditionsOfTask); }, kShortMs);
    if (together > alone && together < 2 * alone) machine_.fork_join_ns = probed(std::round(together - alone));
  }

  size_t line_bytes() const { return static_cast<size_t>(machine_.memories.front().line_bytes.value); }

  /// Once more: the least at each size counts. Others that use the cache for a moment, or a neighbour that reads memory
  /// in bursts, then do not make it small; one that does so all the time leaves this thread its share.
  void measure_latencies(ProbeMemory& memory, LatencyCurve& curve) {
    for (size_t k = 0; k < curve.bytes.size(); ++k) {
      double& least = curve.latency_ns[k];
      const size_t bytes = curve.bytes[k];
      if (least > 0 && bytes <= static_cast<size_t>(machine_.memories.front().bytes.value)) continue;
      const double now = memory.latency_ns(bytes, line_bytes(), bytes > kLarge ? kLatencyMs : kShortMs);
      least = least > 0 ? std::min(least, now) : now;
    }
  }

  /// Latencies by size rise where a cache ends. Each step lies between a size at which the cache before does not count
  /// any more and twice the described one (beyond that the next cache may end, busy as it is); of the last one all
  /// sizes count, and where other cores or other virtual machines use it what is found is the share of this thread.
  /// Caches of one core are as described where the step is near: pages that lie anywhere in it leave it early.
  void measure_caches(const LatencyCurve& curve) {
    constexpr double kEarly = 0.4, kLate = 1.3;
    const std::vector<size_t>& sizes = curve.bytes;
    const std::vector<double>& latencies = curve.latency_ns;
    size_t from = 0;
    for (size_t cache = 0; cache < machine_.caches(); ++cache) {
      const bool is_last = cache + 1 == machine_.caches();
      const auto about = static_cast<double>(machine_.memories[cache].bytes.value);
      size_t end = sizes.size();
      while (!is_last && end > from + 2 && static_cast<double>(sizes[end - 1]) > 2 * about) --end;
      const std::vector<double> part(latencies.begin() + static_cast<std::ptrdiff_t>(from),
                                     latencies.begin() + static_cast<std::ptrdiff_t>(end));
      const size_t last = from + last_before_step(part);
      if (last == from) continue;
      const double share = static_cast<double>(sizes[last]) / about;
      const bool is_as_described =
          machine_.memories[cache].scope != machine_.levels.front().name && share >= kEarly && share <= kLate;
      if (!is_as_described) machine_.memories[cache].bytes = {static_cast<int64_t>(sizes[last]), FigureOrigin::probed};
      const double size = is_as_described ? about : static_cast<double>(sizes[last]);
      while (from + 1 < sizes.size() && static_cast<double>(sizes[from]) < 1.5 * size) ++from;
    }
  }
  /// Of what is read from each level, halfway between the one before and its own capacity.
  void measure_rates(ProbeMemory& memory) {
    for (size_t level = 1; level < machine_.memories.size(); ++level) {
      const auto before = static_cast<double>(machine_.cache_bytes(level - 1));
      const double bytes = level < machine_.caches()
                               ? std::sqrt(before * static_cast<double>(machine_.cache_bytes(level)))
                               : static_cast<double>(memory.bytes());
      const double rate = memory.read_gb_s(static_cast<size_t>(bytes), vector_bytes_, kLargeMs);
      machine_.memories[level].bytes_per_cycle = probed(std::round(rate / machine_.clock_ghz.value * 10) / 10);
    }
  }
  /// Of the first cache: places so far apart that they lie in one set, until they drive each other out.
  void measure_ways(ProbeMemory& memory) {
    constexpr size_t kMostWays = 24, kApart = 64 << 10;
    std::vector<double> latencies;
    for (size_t count = 1; count <= kMostWays; ++count)
      latencies.push_back(memory.latency_apart_ns(count, kApart, 0, kShortMs / 4));
    if (const size_t last = last_before_step(latencies); last > 0)
      machine_.memories.front().ways = {static_cast<int64_t>(last) + 1, FigureOrigin::probed};
  }

  /// A line of each of so many pages, beside as many lines that follow one another: what the pages cost.
  struct OfPages {
    double latency = 0, touch = 0;  ///< cycles a load
  };
  OfPages cost_of(ProbeMemory& memory, size_t pages) const {
    const auto page = static_cast<size_t>(machine_.page_bytes.value);
    const auto above = [&](double apart, double together) { return std::max(0.0, cycles(apart - together)); };
    return {above(memory.latency_apart_ns(pages, page, line_bytes(), kShortMs),
                  memory.latency_apart_ns(pages, line_bytes(), 0, kShortMs)),
            above(memory.touch_apart_ns(pages, page, line_bytes(), kShortMs),
                  memory.touch_apart_ns(pages, line_bytes(), 0, kShortMs))};
  }
  /// Where the cost of a page rises for the first time and by much: entries of the first level; where it rises again:
  /// of the second.
  void measure_look_aside_buffers() {
    constexpr double kFirstRise = 2.5, kSecondRise = 8;
    constexpr size_t kMostPages = 8'192;
    ProbeMemory memory(kernels_, (kMostPages + 1) * static_cast<size_t>(machine_.page_bytes.value), Pages::small);
    if (!memory.is_there() || machine_.tlbs.size() != 2) return;
    std::vector<size_t> counts;
    std::vector<OfPages> costs;
    for (size_t octave = 16; octave < kMostPages; octave *= 2)
      for (const size_t count : {octave, octave * 3 / 2})
        counts.push_back(count), costs.push_back(cost_of(memory, count));
    size_t first = 0;
    while (first < costs.size() && costs[first].latency < kFirstRise) ++first;
    if (first == 0 || first + 2 >= costs.size()) return;
    size_t second = first + 1;
    const OfPages level = costs[std::min(first + 2, costs.size() - 1)];
    while (second < costs.size() && costs[second].latency < level.latency + kSecondRise) ++second;
    machine_.tlbs[0] = {{static_cast<int64_t>(counts[first - 1]), FigureOrigin::probed},
                        probed(std::round(level.touch * 10) / 10)};
    if (second == costs.size()) return;
    machine_.tlbs[1] = {{static_cast<int64_t>(counts[second - 1]), FigureOrigin::probed},
                        probed(std::round(std::max(0.0, costs.back().touch - level.touch) * 10) / 10)};
  }

  Machine machine_;
  const ProbeKernels& kernels_;
  int vector_bytes_;
};

}  // namespace

Result<Machine> probed_machine(const Target& target) {
  auto kernels = ProbeKernels::compiled_for(target);
  if (!kernels) return kernels.error();
  return Probe(target, *kernels).run();
}

}  // namespace polyweft::targets
