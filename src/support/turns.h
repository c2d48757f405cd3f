// Two kernels, or one alone, timed by a clock with steps: how many calls a sample needs, in which order samples are
// taken, when enough is known. Free of processes and of real clocks, so that tests give it false ones.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "support/stats.h"

namespace polyweft {

/// What a clock can tell.
struct ClockFacts {
  double step_ns = 0;     ///< its readings are multiples of this
  bool is_exact = false;  ///< it counts: a call takes the same each time, and one sample says all
};

/// What times the calls. The candidate is number 0, the incumbent number 1.
class TimedCalls {
 public:
  struct Wanted {
    bool pairs = false;  ///< both, alternating; else number 0 alone
    uint32_t first = 0;  ///< of pairs
    uint32_t samples = 1;
    std::array<uint32_t, 2> repeat = {1, 1};  ///< calls in a row in a sample of each
    uint32_t untimed = 0;                     ///< calls before each sample of a pair
  };
  /// Nanoseconds of a call.
  using Samples = std::array<std::vector<double>, 2>;

  virtual ~TimedCalls() = default;
  virtual ClockFacts clock() const = 0;
  /// Nothing: a kernel failed. Whoever times knows how.
  virtual std::optional<Samples> take(const Wanted& wanted) = 0;
  virtual double budget_left_ns() const = 0;
};

/// The first calls of a timing, which touch the memory and say how long samples must be.
struct FirstCalls {
  bool pairs = false;
  std::array<double, 2> ns = {0, 0};        ///< of a call; of the incumbent 0 without pairs
  std::array<uint32_t, 2> repeat = {1, 1};  ///< calls in a row that are long enough for the clock
  std::array<double, 2> step = {0, 0};      ///< of the clock in a sample, relative to the sample
  double sample_ns(uint32_t slot) const { return ns[slot] * repeat[slot]; }
};
/// A sample is some hundred of the clock's steps, so that its own error is within what counts as a tie.
double shortest_sample_ns(const ClockFacts& clock);
std::optional<FirstCalls> first_calls(TimedCalls& calls, bool pairs);

struct TurnsOptions {
  size_t most_samples = 200;
  double drop_ratio = 1.25;    ///< over this the candidate is clearly slower, and the timing ends
  double incumbent_ns = 0;     ///< timed alone: known from before; 0: none
  bool to_the_end = false;     ///< pairs until the budget is spent or there are `most_samples`, whoever is faster
  double steady_ns = 10e6;     ///< of a call: from here on interruptions are little of it, and a pair says much
  double long_pair_ns = 4e6;   ///< from here on what a call finds in the caches is little of what it takes
  double good_enough = 0.005;  ///< relative half width of the interval at which sampling alone ends
};
/// One kernel's samples.
struct AloneResult {
  std::vector<double> samples;
  bool is_slower = false;  ///< it ended early for that
};
std::optional<AloneResult> time_alone(TimedCalls& calls, const FirstCalls& first, const TurnsOptions& options);
/// Half of the 95 % interval of the median, relative to it; half of the range where the samples are too few, but never
/// less than the clock's step (`step`, relative). 0 of one sample: there is no interval.
double relative_half_width(const std::vector<double>& samples, double step);

/// Pairs of both.
struct PairsResult {
  PairRace race;
  bool is_slower = false;  ///< it ended early for that
};
std::optional<PairsResult> time_pairs(TimedCalls& calls, const FirstCalls& first, const TurnsOptions& options);

}  // namespace polyweft
