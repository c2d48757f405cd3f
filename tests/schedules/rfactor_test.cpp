// Reductions in parts: every point once, a tree that depends on the number of parts only, and no part where the order
// counts.
#include <cmath>

#include "harness.h"
#include "poly/check/checker.h"
#include "proofs.h"

namespace polyweft::test {
namespace {

struct FactorCase {
  const char* program;
  const char* steps;
};
const FactorCase kFactorCases[] = {
    {"program total(N = 103)\nin X: f32[N]\nout s = sum[i: N] X[i]\n", "accumulate s at root reg\n rfactor s i in 7"},
    {"program total(N = 103)\nin X: f32[N]\nout s = max[i: N] X[i]\n",
     "tile s [i: 16]\n accumulate s at root reg\n vectorize s i 8\n rfactor s i in 3\n parallel s i.p"},
    {"program rows(M = 5, N = 70)\nin X: f32[M, N]\nout s[i: M] = sum[j: N] X[i, j] * X[i, j]\n",
     "tile s [j: 8]\n permute s [i, j.1, j]\n accumulate s at i reg\n vectorize s j 4\n rfactor s j in 5\n parallel s "
     "i"},
    {"program norm(B = 2, M = 9, N = 33)\nin X: f32[B, M, N]\nout s[b: B] = sum[i: M, j: N] X[b, i, j]\n",
     "tile s [j: 8]\n permute s [b, i, j.1, j]\n accumulate s at b reg\n vectorize s j 8\n rfactor s i in 4"},
    {"program columns(M = 61, N = 37)\nin X: f32[M, N]\nout s[j: N] = sum[i: M] X[i, j]\n",
     "tile s [j: 16]\n accumulate s at j.1 reg\n vectorize s j 16\n rfactor s i in 6"},
    {"program gemm(M = 20, N = 40, K = 50)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * "
     "B[k, j]\n",
     "tile C [j: 16, i: 4]\n accumulate C at i.1 reg\n unroll C i\n vectorize C j 16\n rfactor C k in 4\n parallel C "
     "k.p"},
    {"program triangle(N = 23)\nin X: f32[N, N]\nout s[i: N] = sum[j: 0..i+1] X[i, j]\n",
     "accumulate s at i reg\n rfactor s j in 4"},
};

TEST(Rfactor, computes_the_sum_and_is_proven) {
  for (const FactorCase& c : kFactorCases) {
    const Program program = normalized_program(c.program);
    auto nest = nest_of(program, std::string("trace 1\n ") + c.steps + "\n");
    ASSERT_TRUE(nest.ok()) << c.steps << "\n" << described(nest.error());
    EXPECT_EQ(difference(program, *nest, 3), "") << print(*nest);
    EXPECT_EQ(difference(program, *nest, 4, ir::DataKind::random), "") << print(*nest);
    EXPECT_EQ(proved(program, *nest), "") << print(*nest);
  }
}

TEST(Rfactor, is_refused_where_the_order_counts_with_a_pair) {
  const Program program = normalized_program(kFactorCases[0].program);
  for (NumericsClass cls : {NumericsClass::strict, NumericsClass::contract}) {
    auto nest = nest_of(program, "trace 1\n accumulate s at root reg\n rfactor s i in 7\n", cls);
    ASSERT_FALSE(nest.ok());
    EXPECT_EQ(nest.error().code, "PW0307");
    EXPECT_NE(described(nest.error()).find("s[i=0] comes before s[i=1]"), std::string::npos) << described(nest.error());
  }
  // The greatest element is the same in any order.
  EXPECT_EQ(check_trace(normalized_program(kFactorCases[1].program),
                        "trace 1\n accumulate s at root reg\n rfactor s i in 7\n", NumericsClass::strict),
            "");
}

TEST(Rfactor, refuses_what_it_cannot_part) {
  const Program program = normalized_program(kFactorCases[2].program);
  const std::pair<const char*, const char*> refusals[] = {
      {"rfactor s j in 4", "PW0308"},
      {"accumulate s at i reg\n rfactor s i in 4", "PW0308"},
      {"accumulate s at i reg\n rfactor s j in 0", "PW0304"},
      {"accumulate s at i reg\n rfactor s j in 4\n rfactor s j in 2", "PW0304"},
      {"accumulate s at i reg\n rfactor s j in 4\n tile s [j: 2]", "PW0304"},
      {"accumulate s at i reg\n rfactor s j in 4\n permute s [j.p, i]", "PW0304"},
      {"tile s [j: 8]\n permute s [j.1, i]\n accumulate s at i reg\n rfactor s j in 4", "PW0304"}};
  for (const auto& [steps, code] : refusals) {
    auto nest = nest_of(program, std::string("trace 1\n ") + steps + "\n");
    ASSERT_FALSE(nest.ok()) << steps;
    EXPECT_EQ(nest.error().code, code) << steps << "\n" << described(nest.error());
  }
}

// Two parts swapped, or one left out, is not a tree over all of them: the checker must see it.
TEST(Rfactor, a_part_left_out_is_refuted) {
  const Program program = normalized_program(kFactorCases[0].program);
  auto nest = nest_of(program, "trace 1\n accumulate s at root reg\n rfactor s i in 4\n");
  ASSERT_TRUE(nest.ok());
  int refuted = 0, changed = 0;
  for (Node& node : nest->nodes) {
    auto* loop = std::get_if<Loop>(&node);
    if (!loop || !std::holds_alternative<Compute>(nest->nodes[loop->body]) ||
        std::get<Compute>(nest->nodes[loop->body]).how != Write::merge)
      continue;
    const Bound hi = loop->hi;
    loop->hi.of[0].constant -= 1;
    ++changed;
    refuted += poly::check_nest(program, *nest).verdict == Verdict::refuted;
    loop->hi = hi;
  }
  EXPECT_EQ(changed, 2);
  EXPECT_EQ(refuted, 2);
}

/// A million squares, one after the other and in parts: the parts lose a few units in the last place at most.
TEST(Rfactor, long_sums_are_exact_to_the_last_places) {
  constexpr int64_t kCount = 1 << 18;
  const Program program = normalized_program("program norm(N = 262144)\nin X: f32[N]\nout s = sum[i: N] X[i] * X[i]\n");
  const auto inputs = ir::seeded_inputs(program, 5, ir::DataKind::random);
  double exact = 0;
  for (int64_t k = 0; k < kCount; ++k) exact += ir::as_double(inputs[0].at(k)) * ir::as_double(inputs[0].at(k));
  auto nest =
      nest_of(program, "trace 1\n tile s [i: 64]\n accumulate s at root reg\n vectorize s i 16\n rfactor s i in 64\n");
  ASSERT_TRUE(nest.ok()) << described(nest.error());
  PlainRun run(*nest, inputs);
  const double got = ir::as_double(run.outputs()[0].at(0));
  EXPECT_LE(std::abs(got - exact) / exact, 4 * std::ldexp(1.0, -24)) << got << " " << exact;
}

}  // namespace
}  // namespace polyweft::test
