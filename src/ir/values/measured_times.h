// What a clock can have told of a call. Times come from elsewhere (results of a batch, rows of a database, lines of an
// export, a runner's answer), and one that is 0, infinite or 1e308 would win or lose for ever: nothing later is faster
// than 0, and a ratio told beside it stays 0. So each place where times enter asks here.
#pragma once

#include <cstdio>
#include <string>
#include <utility>

#include "polyweft/runner.h"

namespace polyweft {

/// Of one call: a millionth of the fastest clock's tick to thirty years.
constexpr double kShortestNs = 1e-3, kLongestNs = 1e18;
/// Of two such times in pairs, and what is written for an interval without an upper end.
constexpr double kMostRatio = 1e12;

inline bool is_time(double ns) {
  return ns >= kShortestNs && ns <= kLongestNs;
}

inline std::string text_of_ns(double ns) {
  char out[40];
  std::snprintf(out, sizeof out, "%g ns", ns);
  return out;
}

/// The first figure that no clock tells: "a median of 5e-324 ns". Empty: all may be, those that are 0 as not known.
inline std::string impossible_time(const Timing& timing) {
  const auto is_known_or_time = [](double ns) { return ns == 0 || is_time(ns); };
  const std::pair<const char*, double> times[] = {
      {"a median", timing.median_ns}, {"a minimum", timing.min_ns}, {"cold calls", timing.cold_ns}};
  for (const auto& [name, ns] : times)
    if (!is_known_or_time(ns)) return std::string(name) + " of " + text_of_ns(ns);
  for (const auto* samples : {&timing.samples_ns, &timing.beside_ns})
    for (const float ns : *samples)
      if (!(ns >= 0 && ns <= kLongestNs)) return "a sample of " + text_of_ns(ns);
  const bool is_ratio = timing.ratio >= 0 && timing.ratio <= kMostRatio && timing.ratio_lo >= 0 &&
                        timing.ratio_lo <= kMostRatio && timing.ratio_hi >= 0 && timing.ratio_hi <= kMostRatio;
  if (!is_ratio || (timing.ratio > 0 && timing.ratio < 1 / kMostRatio)) return "a ratio out of bounds";
  if (!(timing.ci_rel >= 0 && timing.ci_rel <= kMostRatio)) return "an interval out of bounds";
  const bool is_clock = timing.clock_mhz_lo >= 0 && timing.clock_mhz_hi >= 0 && timing.clock_mhz_hi <= kLongestNs;
  return is_clock ? "" : "a clock out of bounds";
}

/// Of a kernel that ran and was timed.
inline std::string impossible_median(const Timing& timing) {
  std::string found = impossible_time(timing);
  return found.empty() && !is_time(timing.median_ns) ? "a median of " + text_of_ns(timing.median_ns) : found;
}

}  // namespace polyweft
