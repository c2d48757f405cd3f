#include "poly/show.h"

#include "corpus.h"
#include "poly/witness.h"

namespace polyweft::poly_test {

TEST(Show, prints_scop_dependences_and_schedule_of_every_program) {
  for (const Program& program : corpus()) {
    auto scop = poly::show_scop(normalize(program));
    auto dependences = poly::show_dependences(normalize(program));
    auto schedule = poly::show_schedule(normalize(polyweft::bind(program, *make_binding(program, {}))));
    ASSERT_TRUE(scop.ok()) << program.name << ": " << scop.error().message;
    ASSERT_TRUE(dependences.ok()) << program.name << ": " << dependences.error().message;
    ASSERT_TRUE(schedule.ok()) << program.name << ": " << schedule.error().message;
  }
}

TEST(Show, is_readable) {
  Program program = parsed(
      "program gemm(M = 4, N = 5, K = 6)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * "
      "B[k, j]");
  EXPECT_EQ(*poly::show_scop(normalize(program)),
            "C: sum\n"
            "  instances  [M, N, K] -> { C[i, j, k] : M > 0 and N > 0 and K > 0 and 0 <= i < M and 0 <= j < N and 0 <= "
            "k < K }\n"
            "  writes     [M, N, K] -> { C[i, j, k] -> C[i, j] }\n"
            "  reads      [M, N, K] -> { C[i, j, k] -> A[i, k] }\n"
            "  reads      [M, N, K] -> { C[i, j, k] -> B[k, j] }\n");
  EXPECT_EQ(*poly::show_dependences(normalize(program)), "order of sum in C: lexicographic in [k]\n");
}

TEST(Show, prints_bands_with_their_distances) {
  Program program = parsed(
      "program p(N = 5)\nin X: f32[N, N]\nlet A[0, j: N] = X[0, j]\nlet A[i: 1..N, j: N] = A[i-1, j] + (A[i-1, j+1] "
      "where j+1 < N else 0)\nout R[j: N] = A[N-1, j]");
  std::string text = *poly::show_schedule(normalize(polyweft::bind(program, *make_binding(program, {}))));
  EXPECT_EQ(text.substr(text.find("band")),
            "band band1 [i, j] of A@2: [i, -j]\n"
            "  no distance is negative along i j\n"
            "  A@2: [i, -j], in (1..4, -4..0)\n"
            "  flow A@2 -> A@2 (1, 0)\n"
            "  flow A@2 -> A@2 (1, 1)\n");
}

TEST(Witness, says_when_it_is_only_an_example) {
  Program program = parsed("program p(M = 4, N = 5)\nin A: f32[M, N]\nout C[i: M, j: N] = A[i, j]");
  EXPECT_EQ(poly::sizes_text(program, {false, {3, 7}, {}}), "for example with M = 3, N = 7");
  EXPECT_EQ(poly::sizes_text(program, {true, {3, 7}, {}}), "with M = 3, N = 7");
}

}  // namespace polyweft::poly_test
