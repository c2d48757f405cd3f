// The supervisor's clock.
#pragma once

#include <algorithm>
#include <ctime>

namespace polyweft::runner {

/// CLOCK_MONOTONIC, which candidates' processes read, too.
inline double now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

/// The least that two readings differ by where they differ: of a counter of 24 MHz 41 ns. An interruption between two
/// readings is no step, so the least of many counts.
inline double clock_step_ns() {
  constexpr int kReadings = 64;
  double step = 1e9;
  for (int k = 0; k < kReadings; ++k) {
    const double before = now_ns();
    double after = now_ns();
    while (after <= before) after = now_ns();
    step = std::min(step, after - before);
  }
  return step;
}

}  // namespace polyweft::runner
