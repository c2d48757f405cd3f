// Random (program, trace) pairs with loops over blocks and threads on the device: PW_RANDOM_PAIRS=300 opencl_tests
// judges 300 of them, PW_RANDOM_SEED=17 one, with its code.
#include "random/pairs.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "opencl/device.h"
#include "random/settings.h"

namespace polyweft::opencl_test {
namespace {

using namespace random_test;

TEST(OpenClPairs, device_and_interpreter_agree) {
  if (const std::string why = why_no_device(); !why.empty()) GTEST_SKIP() << why;
  const int one = number_of("PW_RANDOM_SEED", 0), pairs = number_of("PW_RANDOM_PAIRS", 40);
  int agreed = 0, with_axes = 0, recurrences = 0;
  for (int seed = one ? one : 1; seed < (one ? one + 1 : 1 + pairs); ++seed) {
    Pair pair = random_grid_pair(static_cast<uint64_t>(seed), "opencl");
    pair.show_code = one != 0;
    const Judgement judgement = judge(pair);
    agreed += judgement.outcome == Outcome::agreed;
    recurrences += judgement.outcome == Outcome::agreed && judgement.recurrence;
    for (const Step& step : pair.trace.steps)
      if (std::holds_alternative<BindStep>(step) && judgement.outcome == Outcome::agreed) {
        ++with_axes;
        break;
      }
    if (judgement.outcome != Outcome::disagreement) continue;
    ADD_FAILURE() << "seed " << seed << ": " << judgement.kind << ": " << judgement.message << "\n" << described(pair);
  }
  std::printf("pairs: %d, %d agreed, of these %d with loops over axes, %d recurrences\n", pairs, agreed, with_axes,
              recurrences);
  if (one) return;
  EXPECT_GT(agreed * 10, pairs * 6);
  EXPECT_GT(with_axes * 3, pairs);
}

}  // namespace
}  // namespace polyweft::opencl_test
