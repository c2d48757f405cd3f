// 2,000 random (program, trace) pairs: text, replay, instantiate, verify, run, compare with the evaluator. A failure
// prints its seed and a trace from which no step can be dropped.
#include "random_pairs.h"

namespace polyweft::test {
namespace {

void run_seeds(uint64_t first, uint64_t last, NumericsClass cls) {
  int refused = 0, with_steps = 0;
  for (uint64_t seed = first; seed < last; ++seed) {
    Rng rng(seed);
    std::string text = random_program(rng);
    Program program = normalized_program(text);
    Trace trace = random_trace(rng, program, cls);
    with_steps += !trace.steps.empty();
    std::string verdict = verdict_on(program, trace, cls, &refused);
    if (verdict.empty()) continue;
    Trace least = shrunk(program, trace, cls);
    ADD_FAILURE() << "seed " << seed << " class " << name_of(cls) << "\n"
                  << text << least.text() << verdict_on(program, least, cls);
    if (testing::Test::HasFailure() && seed > first + 400) return;
  }
  EXPECT_GT(with_steps * 10, static_cast<int>(last - first) * 9);
  EXPECT_LT(refused * 3, static_cast<int>(last - first)) << "too many pairs do not reach the comparison";
}

TEST(RandomPairs, reassoc_agrees_with_the_evaluator) {
  run_seeds(1, 1201, NumericsClass::reassoc);
}
TEST(RandomPairs, contract_agrees_with_the_evaluator) {
  run_seeds(5001, 5401, NumericsClass::contract);
}
TEST(RandomPairs, strict_agrees_with_the_evaluator) {
  run_seeds(9001, 9401, NumericsClass::strict);
}

// Found by scripts/soak: a constant lower limit moved the origin of a range, and the upper limit of its loop was
// counted from the old one.
TEST(RandomPairs, limits_are_counted_from_the_same_origin) {
  const Program program = normalized_program(
      "program p(K = 2)\nin X: f64[16]\nout partial T[i: 4, j: i + 1, k: K]: f64 = sum[l: j] X[i + k + l]\n");
  for (auto cls : {NumericsClass::strict, NumericsClass::reassoc})
    for (const char* size : {"1", "2", "5"})
      EXPECT_EQ(check_trace(program, std::string("trace 1\n  tile T [l: ") + size + "]\n", cls), "") << size;
}

}  // namespace
}  // namespace polyweft::test
