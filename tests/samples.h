// What takes minutes is sampled by the suites and taken whole by scripts/soak.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace polyweft::test {

/// PW_ALL_CASES is set: `scripts/soak --only suites`.
inline bool takes_all_cases() {
  return std::getenv("PW_ALL_CASES") != nullptr;
}

/// Of the cases that nested loops make, one of so many, each of them in the soak. Where the number divides none of the
/// loops' lengths, every value of each is met.
class Sample {
 public:
  explicit Sample(int64_t one_of) : one_of_(one_of) {}
  bool takes() { return number_++ % one_of_ == 0 || takes_all_cases(); }

 private:
  int64_t one_of_, number_ = 0;
};

}  // namespace polyweft::test
