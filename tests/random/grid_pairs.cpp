#include "random/grid_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "random/pairs.h"
#include "random/settings.h"

namespace polyweft::random_test {
namespace {

bool has_axes(const Pair& pair) {
  return std::any_of(pair.trace.steps.begin(), pair.trace.steps.end(),
                     [](const Step& step) { return std::holds_alternative<BindStep>(step); });
}

}  // namespace

void expect_grid_pairs_agree(const std::vector<std::string>& targets, int pairs) {
  const int one = number_of("PW_RANDOM_SEED", 0);
  pairs = number_of("PW_RANDOM_PAIRS", pairs);
  int agreed = 0, with_axes = 0, recurrences = 0;
  for (int seed = one ? one : 1; seed < (one ? one + 1 : 1 + pairs); ++seed) {
    Pair pair = random_grid_pair(static_cast<uint64_t>(seed), targets[static_cast<size_t>(seed) % targets.size()]);
    pair.show_code = one != 0;
    const Judgement judgement = judge(pair);
    if (judgement.outcome == Outcome::disagreement)
      ADD_FAILURE() << "seed " << seed << ": " << judgement.kind << ": " << judgement.message << "\n"
                    << described(pair);
    if (judgement.outcome != Outcome::agreed) continue;
    ++agreed;
    recurrences += judgement.recurrence;
    with_axes += has_axes(pair);
  }
  std::printf("pairs: %d, %d agreed, of these %d with loops over axes, %d recurrences\n", pairs, agreed, with_axes,
              recurrences);
  if (one) return;
  EXPECT_GT(agreed * 10, pairs * 6);
  EXPECT_GT(with_axes * 3, pairs);
}

}  // namespace polyweft::random_test
