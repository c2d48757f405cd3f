// Elements of a batch of small problems as lanes: the evaluator's values and tags, proven, for whole blocks and for
// what remains.
#include <gtest/gtest.h>

#include "ir/nests/walk_nest.h"
#include "machines.h"
#include "schedules/bands_harness.h"
#include "schedules/sketches/batches.h"

namespace polyweft::test {
namespace {

struct Case {
  const char* name;
  std::string text;  ///< after `program p(B = n`
};

const Case kCases[] = {
    {"inverse",
     ")\nin A: f32[B, 3, 3]\nlet c[n: B, i: 3, j: 3] = A[n, (i + 1) % 3, (j + 1) % 3] * A[n, (i + 2) % 3, (j + 2) % 3] "
     "- A[n, (i + 1) % 3, (j + 2) % 3] * A[n, (i + 2) % "
     "3, (j + 1) % 3]\nlet d[n: B] = 2.0 + sum[j: 3] A[n, 0, j] * c[n, 0, j]\nout Y[n: B, i: 3, j: 3] = c[n, j, i] * "
     "d[n]\n"},
    {"lu",
     ", N = 4)\nin A: f64[B, N, N]\nlet U[b: B, i: N, j: i..N] = A[b, i, j] - sum[k: 0..i] L[b, i, k] * U[b, k, "
     "j]\nlet L[b: B, i: N, j: 0..i]: f64 = (A[b, i, j] - sum[k: "
     "0..j] L[b, i, k] * U[b, k, j]) * 0.5\nout F[b: B, i: N, j: N] = U[b, i, j] where i <= j else L[b, i, j]\n"},
    {"solve",
     ", N = 5)\nin L: f32[B, N, N]\nin c: f32[B, N]\nlet x[b: B, i: N]: f32 = c[b, i] - sum[j: 0..i] L[b, i, j] * x[b, "
     "j]\nout y[b: B, i: N] = x[b, i]\n"},
    {"quaternions",
     ")\nin a: f32[B, 4]\nin b: f32[B, 4]\nout c[i: B, 0] = a[i, 0] * b[i, 0] - a[i, 1] * b[i, 1]\nout c[i: B, 1] = "
     "a[i, 2] * b[i, 1]\nout c[i: B, 2] = a[i, 3] + b[i, "
     "2]\nout c[i: B, 3] = a[i, 0] - b[i, 3]\n"},
    {"complex",
     ", M = 3, K = 40)\nin A: f32[M, K, 2]\nin X: f32[K, B, 2]\nout C[i: M, j: B, 0] = sum[k: K] (A[i, k, 0] * X[k, j, "
     "0] - A[i, k, 1] * X[k, j, 1])\nout C[i: M, j: B, 1] = "
     "sum[k: K] (A[i, k, 0] * X[k, j, 1] + A[i, k, 1] * X[k, j, 0])\n"},
    {"best of each", ")\nin A: f32[B, 5]\nout k[b: B] = argmax[j: 5] A[b, j]\n"},
    {"a table before and a sum after",
     ")\nin A: f32[B, 3]\nin w: f32[3]\nlet q[j: 3] = w[j] * w[j]\nlet T[b: B, j: 3] = A[b, j] * q[j]\nlet S[b: B] = "
     "sum[j: 3] T[b, j]\nout s = sum[b: B] S[b]\nout Y[b: B, j: 3] "
     "= T[b, j] - S[b]\n"},
    {"half of each part",
     ")\nin x: f32[B, 2, 3]\nlet t[b: B, s: 3] = x[b, 1, s] * 2.0\nout y[b: B, h: 2, s: 3] = x[b, 0, s] + t[b, s] "
     "where h == 0 else x[b, 0, s] - t[b, s]\n"},
    {"a packed table",
     ")\nin A: f32[B, 3]\nconst in w: f32[3, 3]\nlet T[b: B, i: 3] = sum[k: 3] A[b, k] * w[k, i]\nout Y[b: B, i: 3] = "
     "T[b, 2 - i] + T[b, 0]\n"},
    {"a cell that follows the element",
     ", M = 2)\nin A: f32[B]\nlet T[b: B, j: M]: f32 = A[b] + f32(j)\nout Y[b: B] = T[b, b // 8]\n"},
    {"bytes", ")\nin x: u8[B, 3]\nout y[b: B] = (77 * i32(x[b, 0]) + 150 * i32(x[b, 1]) + 29 * i32(x[b, 2])) >> 8\n"},
};

TEST(Batch, values_tags_and_proofs) {
  for (const Case& c : kCases)
    for (const int b : {8, 13, 16}) {
      SCOPED_TRACE(std::string(c.name) + " of " + std::to_string(b));
      const Program program = normalized_program("program p(B = " + std::to_string(b) + c.text);
      for (NumericsClass cls : {NumericsClass::reassoc, NumericsClass::strict}) expect_right(program, "batch 8\n", cls);
      expect_right(program, "batch 4 in 2\n");
    }
}

TEST(Batch, what_an_element_makes_stays_in_registers) {
  const Program program = normalized_program("program p(B = 32" + kCases[0].text);
  auto t = replayed(program, "batch 16\n");
  ASSERT_TRUE(t) << described(t.error());
  auto nest = instantiate(*t, {});
  ASSERT_TRUE(nest);
  size_t in_registers = 0;
  for (const Buffer& b : nest->buffers) in_registers += b.scope == Scope::reg;
  EXPECT_EQ(in_registers, 3u) << print(*nest);  // the cofactors, the determinant and its sum
  ir::walk_nodes(*nest, nest->root, [&](const Node& node) {
    if (const auto* alloc = std::get_if<Alloc>(&node)) EXPECT_EQ(nest->buffers[alloc->buffer].scope, Scope::reg);
    return true;
  });
}

// Lanes that walk long rows would each bring in a line of their own for every element.
TEST(Batch, is_proposed_for_rows_that_stay_in_the_cache) {
  const auto proposed = [](int64_t n) {
    const Program program = normalized_program(
        "program p(R = 64, N = " + std::to_string(n) +
        ")\nin X: f32[R, N]\nlet M[r: R, 0] = X[r, 0]\nlet M[r: R, i: 1..N] = X[r, i] + 0.5 * M[r, i-1]\n"
        "out Y[r: R, i: N] = M[r, i]\n");
    schedules::Isl isl = isl_for(program);
    auto base = poly::base_nest(program, NumericsClass::reassoc);
    if (!base) throw std::runtime_error(base.error().message);
    isl.recurrence_nest = std::make_shared<const LoopNest>(std::move(*base));
    return !schedules::batch_sketches(program, NumericsClass::reassoc, machine_with(), isl).empty();
  };
  EXPECT_TRUE(proposed(64));
  EXPECT_FALSE(proposed(100000));
}

TEST(Batch, elements_that_need_each_other_are_refused) {
  for (const char* text :
       {"program p(B = 20)\nin A: f32[B, 2]\nout T[b: B, j: 2]: f32 = T[b - 1, j] + A[b, j] where b > 0 else 0.0\n",
        "program p(B = 20)\nin A: f32[B]\nlet T[b: B] = 2.0 * A[b]\nout Y[b: B] = T[B - 1 - b]\n",
        "program p(B = 20)\nin A: f32[B]\nout s = sum[b: B] A[b]\n"}) {
    SCOPED_TRACE(text);
    EXPECT_NE(refusal(normalized_program(text), "batch 4\n").find("PW0304"), std::string::npos);
  }
  EXPECT_NE(
      refusal(normalized_program(
                  "program p(B = 20)\nin A: f32[B, B]\nlet T[b: B] = sum[k: 0..b] A[b, k]\nout Y[b: B] = T[b] * 2.0\n"),
              "batch 4\n")
          .find("differ from element"),
      std::string::npos);
  EXPECT_NE(refusal(normalized_program("program p(B = 20)\nin A: f32[B, 30, 30]\nlet T[b: B, i: 30, j: 30] = sum[k: "
                                       "30] A[b, i, k] * A[b, k, j]\n"
                                       "out Y[b: B, i: 30, j: 30] = T[b, j, i] * T[b, i, j]\n"),
                    "batch 4\n")
                .find("unrolled computations"),
            std::string::npos);
}

}  // namespace
}  // namespace polyweft::test
