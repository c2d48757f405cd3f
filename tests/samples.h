// What takes minutes is sampled by the suites and taken whole by scripts/soak.
#pragma once

#include <cstdlib>

namespace polyweft::test {

/// PW_ALL_CASES is set: `scripts/soak --only suites`.
inline bool takes_all_cases() {
  return std::getenv("PW_ALL_CASES") != nullptr;
}

}  // namespace polyweft::test
