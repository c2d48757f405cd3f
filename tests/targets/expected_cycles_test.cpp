// Cycles that code is expected to take: as many more as there is more to do, whatever the compiler makes of the loops;
// chains through registers and memory wait.
#include <gtest/gtest.h>

#include <string>

#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

double cycles_of(const std::string& text, int threads = 1) {
  auto nest = parse_loop_nest(text);
  if (!nest) throw std::runtime_error(nest.error().message + "\n" + text);
  auto cycles = targets::expected_code(*nest, *find_target("x86-64-v3"), threads);
  if (!cycles) throw std::runtime_error(cycles.error().message);
  return cycles->cycles;
}

std::string nest(const std::string& how, const std::string& extents, const std::string& loops) {
  return "nest 1 t class reassoc\n" + how + "loops i, j, k\nbuffer A: f32[" + extents +
         "] argument align 4\nbuffer C: f32[" + extents + "] argument align 4 output\narguments A, C\nbody {\n" +
         loops + "\n}\n";
}
std::string rows(int n, int m, const std::string& statement, const std::string& bounds = "") {
  const std::string hi = std::to_string(m);
  return "for i in 0 .. " + std::to_string(n) + " {\n for j in " + (bounds.empty() ? "0 .. " + hi : bounds) + " {\n " +
         statement + "\n }\n }";
}
const char* const kPlain = "compute 0(i, j) store: C[i, j] <- (A[i, j] * A[i, j])";

class ExpectedCycles : public ::testing::TestWithParam<const char*> {};

TEST_P(ExpectedCycles, grow_with_the_iterations) {
  for (const char* statement : {kPlain, "compute 0(i, j) accumulate sum: C[i, 0] <- A[i, j]",
                                "compute 0(i, j) store: C[i, j] <- sqrt(A[i, j])"}) {
    const double small = cycles_of(nest(GetParam(), "400, 1000", rows(100, 1000, statement)));
    const double taller = cycles_of(nest(GetParam(), "400, 1000", rows(400, 1000, statement)));
    EXPECT_NEAR(taller / small, 4, 0.4) << statement;
    const double wider = cycles_of(nest(GetParam(), "400, 1000", rows(100, 500, statement)));
    EXPECT_NEAR(small / wider, 2, 0.7) << statement;  // what does not fill a vector is left over
  }
}
// Unrolled twice, a loop of an odd count is left in the middle.
TEST_P(ExpectedCycles, see_chains_of_odd_and_even_counts_alike) {
  const auto along = [&](int m) {
    const std::string bounds = "1 .. " + std::to_string(m);
    return cycles_of(
        nest(GetParam(), "400, 1000",
             rows(400, m, "compute 0(i, j) store: C[i, j] <- (A[i, j] / (A[i, j] - C[i, j - 1]))", bounds)));
  };
  EXPECT_NEAR(along(128) / along(129), 1, 0.1);
}
TEST_P(ExpectedCycles, count_half_of_a_square_for_a_triangle) {
  const double square = cycles_of(nest(GetParam(), "800, 800", rows(800, 800, kPlain))),
               triangle = cycles_of(nest(GetParam(), "800, 800", rows(800, 800, kPlain, "0 .. i")));
  EXPECT_NEAR(triangle / square, 0.55, 0.2);
}
TEST_P(ExpectedCycles, count_conditions_by_their_share) {
  const auto guarded = [&](int from) {
    return cycles_of(nest(GetParam(), "800, 800",
                          rows(800, 800,
                               "if i - " + std::to_string(from) +
                                   " >= 0 {\n compute 0(i, j) store: C[i, j] <- sqrt(sqrt(A[i, j]))\n }")));
  };
  EXPECT_NEAR(guarded(600) / guarded(0), 0.25, 0.12);
}
TEST_P(ExpectedCycles, see_chains_from_one_iteration_to_the_next) {
  const double along = cycles_of(
      nest(GetParam(), "400, 1000",
           rows(400, 1000, "compute 0(i, j) store: C[i, j] <- ((C[i, j - 1] * 0.5:f32) + A[i, j])", "1 .. 1000")));
  EXPECT_GT(along, 400 * 999 * 6.0) << "a product and a sum take four cycles each";
  EXPECT_LT(along, 400 * 999 * 24.0);
}
INSTANTIATE_TEST_SUITE_P(Ways, ExpectedCycles, ::testing::Values("", "autovectorize\n"));

TEST(ExpectedCycles, parallel_loops_are_shared_by_the_threads) {
  const std::string text = nest(
      "", "400, 1000", "for i in 0 .. 400 parallel {\n for j in 0 .. 1000 {\n " + std::string(kPlain) + "\n }\n }");
  EXPECT_NEAR(cycles_of(text, 1) / cycles_of(text, 4), 4, 0.6);
}
TEST(ExpectedCycles, vectors_take_less_than_the_same_loop_without) {
  const std::string loops = rows(400, 1000, kPlain);
  EXPECT_GT(cycles_of(nest("", "400, 1000", loops)), 3 * cycles_of(nest("autovectorize\n", "400, 1000", loops)));
}

}  // namespace
}  // namespace polyweft::targets_test
