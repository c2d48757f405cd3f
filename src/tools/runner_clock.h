// The supervisor's clock.
#pragma once

#include <ctime>

namespace polyweft::runner {

/// CLOCK_MONOTONIC, which candidates' processes read, too.
inline double now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

}  // namespace polyweft::runner
