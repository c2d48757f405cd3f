#include "support/turns.h"

#include <algorithm>
#include <cmath>

#include "polyweft/result.h"

namespace polyweft {
namespace {

constexpr uint32_t kMostSamplesAtOnce = 256;
constexpr size_t kFirstSamples = 3;
constexpr double kShortestNs = 20e3;  // reading a clock takes some 40 ns
constexpr double kStepsOfASample = 500;
constexpr double kMaybeCold = 50;  // of a first call, page faults and all: a millisecond may become microseconds
constexpr uint32_t kMostRepeat = 1 << 24;
constexpr double kVerySlowNs = 1e9;

bool is_long_enough(const FirstCalls& first, uint32_t slot, double shortest_ns) {
  return first.repeat[slot] >= kMostRepeat || first.sample_ns(slot) >= shortest_ns;
}

/// A first call is cold and may be shorter than the clock's step, so that what it took says little of the next ones.
uint32_t longer(const FirstCalls& first, uint32_t slot, double shortest_ns) {
  constexpr double kMargin = 1.2, kMostGrowth = 64;
  const double growth = std::min(kMostGrowth, kMargin * shortest_ns / std::max(first.sample_ns(slot), 1e-3));
  return static_cast<uint32_t>(std::clamp<double>(std::ceil(growth * first.repeat[slot]), 1, kMostRepeat));
}

uint32_t affordable(const TimedCalls& calls, size_t wanted, double each_ns) {
  const double fits = calls.budget_left_ns() / std::max(each_ns, 1.0);
  return static_cast<uint32_t>(
      std::clamp(fits, 1.0, static_cast<double>(std::clamp<size_t>(wanted, 1, kMostSamplesAtOnce))));
}

bool take_first(TimedCalls& calls, FirstCalls& first) {
  const auto taken = calls.take({first.pairs, 0, 1, first.repeat});
  if (!taken) return false;
  for (uint32_t slot = 0; slot < (first.pairs ? 2u : 1u); ++slot) first.ns[slot] = (*taken)[slot].at(0);
  return true;
}

/// The order of a race: who is first changes, so that neither profits from being next after the pause.
class Pairing {
 public:
  Pairing(TimedCalls& calls, const FirstCalls& first, const TurnsOptions& options)
      : calls_(calls), first_(first), options_(options), race_(race_options()) {
    wanted_ = options.to_the_end ? std::min(kFirstSamples, options.most_samples) : kFirstSamples;
  }

  std::optional<PairsResult> result() {
    if (calls_.clock().is_exact || is_steady()) add(first_.ns[0], first_.ns[1]);
    if (calls_.clock().is_exact) return PairsResult{race_};
    if (is_spent_by_first()) {
      add(first_.ns[0], first_.ns[1]);
      return PairsResult{race_};
    }
    if (is_steady()) wanted_ = 1;  // the first calls are as good as any
    bool is_slower = is_steady() && race_.hopeless();
    while (!is_slower) {
      if (!take()) return std::nullopt;
      is_slower = !options_.to_the_end && race_.hopeless();
      wanted_ = next();
      if (is_decided() || race_.is_about_even() || calls_.budget_left_ns() <= 0) break;
    }
    return PairsResult{race_, is_slower};
  }

 private:
  bool is_steady() const { return !options_.to_the_end && std::min(first_.ns[0], first_.ns[1]) > options_.steady_ns; }
  /// One call of each took the whole budget, and was long enough to be one sample.
  bool is_spent_by_first() const {
    return options_.to_the_end && std::max(first_.ns[0], first_.ns[1]) > kVerySlowNs && calls_.budget_left_ns() <= 0;
  }
  RaceOptions race_options() const {
    RaceOptions out{.drop_ratio = options_.drop_ratio, .max_pairs = options_.most_samples, .is_steady = is_steady()};
    if (is_steady()) out.confidence = 0.95, out.first_look = 6;
    out.step = first_.step[0] + first_.step[1];
    out.is_exact = calls_.clock().is_exact;
    return out;
  }
  // What passes by the caches leaves the other without its data: beside it a kernel of 39 us took 97, and 91 won.
  uint32_t untimed() const { return first_.ns[0] + first_.ns[1] < options_.long_pair_ns ? 1 : 0; }
  double pair_ns() const {
    double out = 0;
    for (uint32_t slot = 0; slot < 2; ++slot) out += first_.sample_ns(slot) + first_.ns[slot] * untimed();
    return out;
  }

  bool take() {
    const uint32_t count = affordable(calls_, wanted_, pair_ns());
    const auto taken = calls_.take({true, who_is_first_, count, first_.repeat, untimed()});
    if (!taken) return false;
    who_is_first_ = 1 - who_is_first_;
    for (uint32_t i = 0; i < count; ++i) add((*taken)[0].at(i), (*taken)[1].at(i));
    return true;
  }
  void add(double candidate, double incumbent) { race_.add(std::max(candidate, 1e-3), std::max(incumbent, 1e-3)); }

  bool is_decided() {
    return options_.to_the_end ? race_.pairs() >= options_.most_samples : race_.look() != RaceVerdict::undecided;
  }
  size_t next() const {
    if (is_steady() && race_.pairs() <= kFirstSamples) return 1;
    if (!options_.to_the_end) return race_.wanted();
    const size_t left = options_.most_samples - std::min(options_.most_samples, race_.pairs());
    return std::min(std::max<size_t>(6, race_.pairs() / 2), left);
  }

  TimedCalls& calls_;
  const FirstCalls& first_;
  const TurnsOptions& options_;
  PairRace race_;
  uint32_t who_is_first_ = 0;
  size_t wanted_ = kFirstSamples;
};

}  // namespace

double shortest_sample_ns(const ClockFacts& clock) {
  return std::max(kShortestNs, kStepsOfASample * clock.step_ns);
}

std::optional<FirstCalls> first_calls(TimedCalls& calls, bool pairs) {
  FirstCalls first;
  first.pairs = pairs;
  if (!take_first(calls, first)) return std::nullopt;
  if (calls.clock().is_exact) return first;
  const uint32_t slots = pairs ? 2 : 1;
  const double shortest_ns = shortest_sample_ns(calls.clock());
  const double least_ns = pairs ? std::min(first.ns[0], first.ns[1]) : first.ns[0];
  if (least_ns < kMaybeCold * shortest_ns && !take_first(calls, first)) return std::nullopt;
  const auto are_long = [&] {
    return is_long_enough(first, 0, shortest_ns) && (slots == 1 || is_long_enough(first, 1, shortest_ns));
  };
  while (!are_long()) {
    for (uint32_t slot = 0; slot < slots; ++slot)
      if (!is_long_enough(first, slot, shortest_ns)) first.repeat[slot] = longer(first, slot, shortest_ns);
    if (!take_first(calls, first)) return std::nullopt;
  }
  for (uint32_t slot = 0; slot < slots; ++slot)
    first.step[slot] = calls.clock().step_ns / std::max(first.sample_ns(slot), calls.clock().step_ns + 1e-3);
  return first;
}

double relative_half_width(const std::vector<double>& samples, double step) {
  const Interval interval = median_interval(samples, 0.95);
  if (samples.size() < 2 || interval.estimate <= 0) return 0;
  const auto [lo, hi] = std::minmax_element(samples.begin(), samples.end());
  const double width = std::isfinite(interval.hi) ? interval.hi - interval.lo : *hi - *lo;
  return std::max(width / 2 / interval.estimate, step);
}

std::optional<AloneResult> time_alone(TimedCalls& calls, const FirstCalls& first, const TurnsOptions& options) {
  AloneResult out;
  if (calls.clock().is_exact) {
    out.samples.push_back(first.ns[0]);
    return out;
  }
  size_t wanted = kFirstSamples;
  const auto is_known = [&] {
    return out.samples.size() >= 9 && relative_half_width(out.samples, 0) <= options.good_enough;
  };
  do {
    const uint32_t count = affordable(calls, wanted, first.sample_ns(0));
    const auto taken = calls.take({false, 0, count, first.repeat});
    if (!taken) return std::nullopt;
    out.samples.insert(out.samples.end(), (*taken)[0].begin(), (*taken)[0].end());
    const double fastest = *std::min_element(out.samples.begin(), out.samples.end());
    out.is_slower = options.incumbent_ns > 0 && fastest > options.drop_ratio * options.incumbent_ns;
    wanted = std::max<size_t>(6, out.samples.size() / 2);
  } while (!out.is_slower && calls.budget_left_ns() > 0 && out.samples.size() < options.most_samples && !is_known());
  return out;
}

std::optional<PairsResult> time_pairs(TimedCalls& calls, const FirstCalls& first, const TurnsOptions& options) {
  return Pairing(calls, first, options).result();
}

}  // namespace polyweft
