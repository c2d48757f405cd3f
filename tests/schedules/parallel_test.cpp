// Parts of an index for threads: equal to within a register tile, every point once, copies outside shared.
#include "harness.h"
#include "machines.h"
#include "poly/check/checker.h"
#include "polyweft/cost_model.h"
#include "proofs.h"
#include "schedules/sketches/sketches.h"

namespace polyweft::test {
namespace {

/// The step of the outermost loop of this name.
int64_t step_of(const LoopNest& nest, MarkKind mark) {
  for (const Node& node : nest.nodes)
    if (const auto* loop = std::get_if<Loop>(&node); loop && loop->mark.kind == mark) return loop->step;
  return 0;
}

const Machine kTwoThreads = machine_with(64, 32, {48 << 10, 2 << 20, 32 << 20}, 2);

bool is_parallel(const Trace& trace) {
  return trace.text().find(" in 2\n") != std::string::npos;
}

TEST(Parts, are_whole_register_tiles_whatever_the_cache_tiles) {
  const Program program = normalized_program(
      "program gemm(M = 61, N = 47, K = 24)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * "
      "B[k, j]\n");
  const std::string steps =
      "trace 1\n tile C [k: 8, i: 12, j: 16, i: 4]\n permute C [k.1, i.1, j.1, i.2, k, i, j]\n promote A in C at i.1 "
      "heap layout [d0 / 4, d1, d0 % 4]\n"
      " promote B in C at root heap layout [d1 / 16, d0, d1 % 16]\n accumulate C at i.2 reg\n unroll C i\n vectorize C "
      "j 16\n";
  for (int64_t parts : {1, 2, 3, 5, 61, 100}) {
    auto nest = nest_of(program, steps + " parallel C i in " + std::to_string(parts) + "\n");
    ASSERT_TRUE(nest.ok()) << described(nest.error());
    EXPECT_EQ(difference(program, *nest, 3), "") << parts;
    EXPECT_EQ(proved(program, *nest), "") << parts;
    const int64_t part = (61 + parts - 1) / parts;
    const std::string loop = "for i.p in 0 .. 61 step " + std::to_string((part + 3) / 4 * 4) + " parallel";
    if (parts > 1) {
      EXPECT_NE(print(*nest).find(loop), std::string::npos) << loop << "\n" << print(*nest);
    }
  }
}

// One copy of B for all threads, made by all of them, before the fork.
/// Y has all x of a row in each iteration of y: parts of Q's x around both would hand it rows of which other parts make
/// a piece.
TEST(Parts, do_not_go_around_what_runs_inside_with_the_whole_index) {
  Program program = normalized_program(
      "program p(M = 6, N = 13)\nin X: i32[M, N]\nlet Q[y: M, x: N]: i32 = X[y, x] + 1\nout Y[y: M, x: N]: i32 = Q[y, "
      "x] - X[y, x]\n");
  auto nest = nest_of(program, "trace 1\nfuse Y into Q at y\nparallel Q x in 4\n");
  ASSERT_FALSE(nest.ok());
  EXPECT_NE(described(nest.error()).find("PW0304 parallel Q x in 4: Y runs inside it and has all of x"),
            std::string::npos)
      << described(nest.error());
  auto shared = nest_of(program, "trace 1\nfuse Y into Q at y\nparallel Q y in 4\n");
  ASSERT_TRUE(shared.ok()) << described(shared.error());
  EXPECT_EQ(difference(program, *shared, 7), "");
}

TEST(Parts, share_copies_made_outside) {
  const Program program = normalized_program(gemm_text());
  auto nest = nest_of(program,
                      "trace 1\n tile C [j: 16, i: 4]\n promote B at root heap layout [d1 / 16, d0, d1 % 16]\n "
                      "accumulate C at i.1 reg\n unroll C i\n vectorize C j 16\n "
                      "parallel C i in 2\n");
  ASSERT_TRUE(nest.ok()) << described(nest.error());
  const std::string text = print(*nest);
  const size_t copy = text.find("copy B.p"), fork = text.find("for i.p in 0 .. 20 step 12 parallel");
  ASSERT_NE(fork, std::string::npos) << text;
  EXPECT_LT(copy, fork) << text;
  EXPECT_LT(text.find(" parallel"), copy) << text;
  EXPECT_EQ(difference(program, *nest, 3), "") << text;
  EXPECT_EQ(proved(program, *nest), "") << text;
}

// What runs inside a strip is not repeated by cutting the strip across.
TEST(Parts, sketches_for_two_threads_fork_once_a_nest_and_never_inside) {
  const char* programs[] = {
      "program gemm(M = 60, N = 70, K = 33)\nin A: f32[M, K]\nconst in B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] "
      "A[i, k] * B[k, j]\n",
      "program softmax(R = 130, C = 160)\nin X: f32[R, C]\nlet m[i: R] = max[j: C] X[i, j]\nlet e[i: R, j: C] = "
      "exp(X[i, j] - m[i])\nlet s[i: R] = sum[j: C] e[i, j]\n"
      "out O[i: R, j: C] = e[i, j] / s[i]\n",
      "program conv(N = 1)\nin X: f32[N, 14, 6, 8]\nin W: f32[3, 3, 8, 16]\nout Y[n: N, y: 14, x: 6, f: 16] =\n"
      "  sum[p: 3, t: 3, c: 8 where 0 <= y + p - 1 < 14 and 0 <= x + t - 1 < 6] X[n, y + p - 1, x + t - 1, c] * W[p, "
      "t, c, f]\n"};
  for (const char* text : programs) {
    const Program program = normalized_program(text);
    size_t forking = 0;
    for (const Trace& trace : schedules::sketches(program, NumericsClass::reassoc, kTwoThreads)) {
      auto t = schedules::replay(program, NumericsClass::reassoc, trace);
      ASSERT_TRUE(t.ok()) << trace.text();
      auto nest = instantiate(*t, values_of(t->trace));
      ASSERT_TRUE(nest.ok()) << trace.text();
      if (!is_parallel(trace)) {
        EXPECT_GT(forking, 0u) << "those in parts come first";
        EXPECT_EQ(step_of(*nest, MarkKind::parallel), 0) << print(*nest);
        continue;
      }
      ++forking;
      EXPECT_GT(step_of(*nest, MarkKind::parallel), 0) << print(*nest);
      EXPECT_EQ(difference(program, *nest, 7, ir::DataKind::random), "") << trace.text();
    }
    EXPECT_GT(forking, 0u) << text;
  }
}

struct Offer {
  size_t serial = 0, parallel = 0;
  bool first_choice_forks = false;
};

/// The sketches for two threads of a product of n x n matrices, and which kind the model takes.
Offer offer_for_product(int64_t n) {
  const std::string extent = std::to_string(n);
  const Program program =
      normalized_program("program gemm(M = " + extent + ", N = " + extent + ", K = " + extent +
                         ")\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * B[k, j]\n");
  const auto model = analytic_model(machine_with(64, 32, {32 << 10, 1 << 20, 8 << 20}, 2));
  Offer out;
  double least = 1e300;
  for (const Trace& trace : schedules::sketches(program, NumericsClass::reassoc, kTwoThreads)) {
    ++(is_parallel(trace) ? out.parallel : out.serial);
    auto t = schedules::replay(program, NumericsClass::reassoc, trace);
    auto nest = t ? instantiate(*t, values_of(t->trace)) : t.error();
    EXPECT_TRUE(nest.ok()) << trace.text();
    if (!nest) continue;
    const double ns = model->predict_ns(*nest);
    if (ns < least) least = ns, out.first_choice_forks = is_parallel(trace);
  }
  return out;
}

// A fork of a microsecond or two is worth it for a large product and not for a small one; in between the model has both
// to choose from.
TEST(Parts, the_model_forks_where_a_fork_pays) {
  for (int64_t n : {16, 32}) {
    const Offer small = offer_for_product(n);
    EXPECT_GT(small.serial, 0u) << n;
    EXPECT_GT(small.parallel, 0u) << n;
    EXPECT_FALSE(small.first_choice_forks) << n;
  }
  const Offer middle = offer_for_product(128);
  EXPECT_GT(middle.serial, 0u);
  EXPECT_TRUE(middle.first_choice_forks);
  const Offer large = offer_for_product(512);
  EXPECT_GT(large.parallel, 0u);
  EXPECT_TRUE(large.first_choice_forks);
}

// A padded depthwise stencil of few taps, and a product of stride 2: rows in one piece, not columns or channels across
// all of them.
TEST(Parts, of_stencils_are_rows_in_one_piece) {
  const char* programs[] = {
      "program depthwise()\nin P: f32[114, 114, 32]\nin K: f32[3, 3, 32]\nout Y[y: 112, x: 112, f: 32] = sum[r: 3, s: "
      "3] P[y + r, x + s, f] * K[r, s, f]\n",
      "program few()\nin P: f32[16, 16, 512]\nin K: f32[3, 3, 512]\nout Y[y: 14, x: 14, f: 512] = sum[r: 3, s: 3] P[y "
      "+ r, x + s, f] * K[r, s, f]\n",
      "program strided()\nin P: f32[57, 57, 128]\nin K: f32[3, 3, 128, 128]\n"
      "out Y[y: 28, x: 28, f: 128] = sum[r: 3, s: 3, c: 128] P[2 * y + r, 2 * x + s, c] * K[r, s, c, f]\n"};
  for (const char* text : programs)
    EXPECT_NE(schedules::sketches(normalized_program(text), NumericsClass::reassoc, kTwoThreads)[0].text().find(
                  "parallel Y y in 2\n"),
              std::string::npos)
        << text;
}

}  // namespace
}  // namespace polyweft::test
