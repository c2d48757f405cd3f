// Random (program, trace) pairs: interpreter, evaluator, tags, machine code and checker agree. `PW_RANDOM_PAIRS=2000
// random_tests` judges 2,000 of them, `PW_RANDOM_SEED=17` one, with its code. A failure prints its seed and the
// smallest pair that shows the same disagreement.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "random/pairs.h"
#include "random/settings.h"

namespace polyweft::random_test {
namespace {

struct Counts {
  int agreed = 0, refused = 0, no_program = 0, disagreements = 0;
  int tiny = 0, recurrences = 0, parallel = 0, vector = 0, packed = 0, several_steps = 0, auto_vectorized = 0,
      batch = 0;
  int asked = 0, not_decided = 0;
  std::map<std::string, int> why;
};

void count(const Pair& pair, const Judgement& judgement, Counts& counts) {
  counts.agreed += judgement.outcome == Outcome::agreed;
  counts.refused += judgement.outcome == Outcome::refused;
  counts.no_program += judgement.outcome == Outcome::no_program;
  counts.disagreements += judgement.outcome == Outcome::disagreement;
  if (judgement.outcome != Outcome::agreed) return;
  counts.tiny += judgement.tiny;
  counts.recurrences += judgement.recurrence;
  counts.parallel += judgement.parallel && pair.threads > 1;
  counts.vector += judgement.vector;
  counts.packed += judgement.packed;
  counts.auto_vectorized += judgement.auto_vectorized;
  counts.batch += judgement.batch;
  counts.several_steps += pair.trace.steps.size() >= 3;
  counts.asked += judgement.asked_checker;
  counts.not_decided += judgement.not_decided;
  if (judgement.not_decided) ++counts.why[judgement.undecided_why.substr(0, 60)];
}

void report(uint64_t seed, const Pair& pair, const Judgement& judgement) {
  Pair least = pair;
  least.show_code = false;
  least = shrunk(least, judgement.kind);
  ADD_FAILURE() << "seed " << seed << ": " << judgement.kind << ": " << judgement.message << "\n"
                << described(pair) << "\nsmallest:\n"
                << described(least) << judge(least).kind << ": " << judge(least).message;
}

void print_counts(const Counts& c) {
  std::printf("pairs: %d agreed, %d refused by their sizes, %d no program, %d disagreements\n", c.agreed, c.refused,
              c.no_program, c.disagreements);
  std::printf(
      "of those that agreed: %d with an extent of 0 or 1, %d recurrences, %d parallel, %d vectors, %d packed, %d with "
      "three steps or more, %d left to the compiler, %d with a batch as lanes\n",
      c.tiny, c.recurrences, c.parallel, c.vector, c.packed, c.several_steps, c.auto_vectorized, c.batch);
  std::printf("checker: asked %d, not decided %d\n", c.asked, c.not_decided);
  for (const auto& [why, times] : c.why) std::printf("  not decided %d times: %s\n", times, why.c_str());
}

TEST(RandomPairs, all_judges_agree) {
  int one = number_of("PW_RANDOM_SEED", 0), pairs = number_of("PW_RANDOM_PAIRS", 200),
      first = number_of("PW_RANDOM_FIRST", 1);
  Counts counts;
  for (int seed = one ? one : first; seed < (one ? one + 1 : first + pairs); ++seed) {
    Pair pair = random_pair(static_cast<uint64_t>(seed));
    pair.show_code = one != 0;
    if (one) std::printf("%s", described(pair).c_str());
    Judgement judgement = judge(pair);
    count(pair, judgement, counts);
    if (judgement.outcome == Outcome::disagreement) report(static_cast<uint64_t>(seed), pair, judgement);
    if (counts.disagreements > 40) break;
  }
  print_counts(counts);
  if (one) return;
  EXPECT_GT(counts.agreed * 10, pairs * 6) << "too few pairs reach the comparison";
  EXPECT_GT(counts.several_steps * 4, pairs);
  EXPECT_GT(counts.parallel * 20, pairs);
  EXPECT_GT(counts.vector * 10, pairs);
  EXPECT_GT(counts.recurrences * 50, pairs);
  EXPECT_GT(counts.auto_vectorized * 10, pairs);
  EXPECT_GT(counts.batch * 50, pairs);
  EXPECT_GT(counts.asked * 50, pairs);
}

/// Sums of exponentials of whole numbers are none themselves: in lanes they are right within their bound.
TEST(RandomPairs, sums_of_functions_are_judged_by_their_bound) {
  const Judgement judgement = judge(random_pair(1000477));
  EXPECT_EQ(judgement.outcome, Outcome::agreed) << judgement.message;
}

}  // namespace
}  // namespace polyweft::random_test
