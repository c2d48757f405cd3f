// The second judge: the library's interpreter in tag mode. Equal tags say that a scheduled nest computes the program's
// own terms, whatever the data, inlining and lanes included.
#include "harness.h"
#include "ir/oracles/interpreter.h"
#include "machines.h"
#include "schedules/sketches/sketches.h"

namespace polyweft::test {
namespace {

TEST(Tags, sketches_compute_the_programs_terms) {
  const char* kPrograms[] = {
      gemm_text(),
      "program rows(M = 5, N = 37)\nin X: f32[M, N]\nlet s[i: M] = sum[j: N] X[i, j]\nlet e[i: M, j: N] = X[i, j] - "
      "s[i]\nout Y[i: M, j: N] = e[i, j] * e[i, j]\n",
      "program scaled(M = 9, N = 21, K = 7)\nin A: f32[M, K]\nconst in B: f32[K, N]\nin s: f32\nout C[i: M, j: N] = s "
      "* sum[k: K] A[i, k] * B[k, j]\n",
      "program causal(S = 11, D = 6)\nin Q: f32[S, D]\nin V: f32[S, D]\nlet a[i: S, j: 0..i+1] = sum[d: D] Q[i, d] * "
      "Q[j, d]\n"
      "out O[i: S, d: D] = sum[j: 0..i+1] a[i, j] * V[j, d]\n",
  };
  for (const char* text : kPrograms) {
    Program program = normalized_program(text);
    for (auto cls : {NumericsClass::reassoc, NumericsClass::strict}) {
      for (const Trace& trace : schedules::sketches(program, cls, machine_with(32, 16, {1 << 10, 8 << 10}, 2))) {
        auto t = schedules::replay(program, cls, trace);
        ASSERT_TRUE(t.ok()) << described(t.error());
        auto nest = instantiate(*t, values_of(trace));
        ASSERT_TRUE(nest.ok()) << described(nest.error());
        expect_equal_tags(program, *nest, cls, trace.text());
      }
    }
  }
}

}  // namespace
}  // namespace polyweft::test
