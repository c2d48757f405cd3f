// Memory as one thread sees it: latencies and rates by size, and what they say of caches and look-aside buffers.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "targets/cpu/probe_kernels.h"

namespace polyweft::targets {

/// Nanoseconds of a call of `run`: the least of some repetitions, which take `budget_ms` or three calls together.
double least_ns(const std::function<void()>& run, double budget_ms);

/// The largest of the sizes whose latency is nearer to the first one's than to the last one's, by their ratio:
/// `latencies` rise. 0 where they do not rise by a fifth.
size_t last_before_step(const std::vector<double>& latencies);

enum class Pages : uint8_t { small, huge };  ///< huge: where the system has any

/// Memory that is not in use for anything else.
class ProbeMemory {
 public:
  ProbeMemory(const ProbeKernels& kernels, size_t bytes, Pages pages);
  /// False where the system gives none.
  bool is_there() const { return memory_ != nullptr; }
  size_t bytes() const { return bytes_; }

  /// Nanoseconds from load to load of lines in the first so many bytes, all of them, each once, in an order that no
  /// prefetcher knows. Pages follow one another whole.
  double latency_ns(size_t bytes, size_t line_bytes, double budget_ms);
  /// The same of `count` places, that many bytes apart (less where they are shifted within their lines).
  double latency_apart_ns(size_t count, size_t bytes_apart, size_t shift_bytes, double budget_ms);
  /// Nanoseconds of a load of the same places, where loads do not wait for one another.
  double touch_apart_ns(size_t count, size_t bytes_apart, size_t shift_bytes, double budget_ms);
  /// GB/s of reading the first so many bytes one after the other.
  double read_gb_s(size_t bytes, int vector_bytes, double budget_ms);

 private:
  struct Unmap {
    size_t bytes;
    void operator()(char* memory) const;
  };
  std::vector<size_t> places_apart(size_t count, size_t bytes_apart, size_t shift_bytes) const;
  double chase_ns(const std::vector<size_t>& places, double budget_ms);

  const ProbeKernels& kernels_;
  size_t bytes_;
  std::unique_ptr<char, Unmap> memory_;
};

}  // namespace polyweft::targets
