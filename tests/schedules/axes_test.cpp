// Loops over blocks and threads: a product whose operands go through memory shared by a block, barriers around it,
// judged by the interpreter (two orders of threads, terms included) and by the checker; then the same nest with each
// thing that makes it right taken away.
#include "bands_harness.h"
#include "harness.h"
#include "ir/oracles/interpreter.h"
#include "opencl/axis_nests.h"
#include "poly/check/checker.h"

namespace polyweft::test {
namespace {

const char* kProduct =
    "program gemm(M = 6, N = 10, K = 7)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * "
    "B[k, j]\n";

const std::string kShared = opencl_test::axis_nest("product through shared tiles");

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kShared;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

LoopNest nest_from(const std::string& text) {
  auto nest = parse_loop_nest(text);
  if (!nest) ADD_FAILURE() << described(nest.error());
  return nest ? *nest : LoopNest{};
}

std::string product_verdict(const std::string& text) {
  auto nest = parse_loop_nest(text);
  if (!nest) return described(nest.error());
  poly::NestCheck check = poly::check_nest(normalized_program(kProduct), *nest);
  return std::string(name_of(check.verdict)) + " " + check.code + " " + check.message;
}

ir::NestRun run(const LoopNest& nest, bool last_thread_first) {
  ir::InterpreterOptions options;
  options.with_tags = true;
  options.last_thread_first = last_thread_first;
  auto got = ir::interpret(nest, ir::seeded_inputs(normalized_program(kProduct), 3, ir::DataKind::integers), options);
  if (!got) ADD_FAILURE() << described(got.error());
  return got ? *got : ir::NestRun{};
}

ir::Evaluation wanted() {
  ir::EvaluateOptions options;
  options.tags = NumericsClass::reassoc;
  return *ir::evaluate(normalized_program(kProduct),
                       ir::seeded_inputs(normalized_program(kProduct), 3, ir::DataKind::integers), options);
}

TEST(Axes, threads_of_a_block_share_tiles_between_barriers) {
  EXPECT_EQ(product_verdict(kShared), "proven  ");
  for (bool last_first : {false, true}) {
    ir::NestRun got = run(nest_from(kShared), last_first);
    EXPECT_EQ(got.tags, wanted().tags);
    EXPECT_EQ(got.written, wanted().written);
  }
}

TEST(Axes, the_text_of_the_nest_comes_back) {
  auto again = parse_loop_nest(print(nest_from(kShared)));
  ASSERT_TRUE(again) << described(again.error());
  EXPECT_EQ(print(*again), print(nest_from(kShared)));
}

TEST(Axes, without_a_barrier_two_threads_meet_in_a_cell) {
  for (const char* barrier : {"sync block 0\n", "sync block 1\n"}) {
    std::string verdict = product_verdict(changed(barrier, "\n"));
    EXPECT_EQ(verdict.substr(0, 14), "refuted PW0405") << verdict;
  }
  ir::InterpreterOptions options;
  auto early = ir::interpret(nest_from(changed("sync block 0\n", "\n")),
                             ir::seeded_inputs(normalized_program(kProduct), 3, ir::DataKind::integers), options);
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.error().code, "PW0492") << "the first thread reads what the others have yet to copy";
}

TEST(Axes, mistakes_beside_barriers_are_refuted) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"As[ti, k0 + k] * Bs[k0 + k, tj]", "As[tj, k0 + k] * Bs[k0 + k, tj]"},      // another row
      {"copy Bs[k0 + ti, tj] <- B[k0 + ti", "copy Bs[k0 + ti, tj] <- B[k0 + tj"},  // another element in the cell
      {"for k in 0 .. min(4, -k0 + 7)", "for k in 0 .. min(3, -k0 + 7)"},          // a point forgotten
      {"copy As[ti, k0 + tj] <- A[bi + ti, k0 + tj]",
       "copy As[tj, k0 + tj] <- A[bi + tj, k0 + tj]"},     // the diagonal alone, by all of a column at once
      {"for tj in 0 .. 4 axis", "for tj in 0 .. 3 axis"},  // a thread too few
  };
  for (const auto& [from, to] : mistakes) {
    std::string verdict = product_verdict(changed(from, to));
    EXPECT_EQ(verdict.substr(0, 7), "refuted") << to << ": " << verdict;
  }
}

TEST(Axes, a_private_buffer_between_two_axes_belongs_to_its_row_of_threads) {
  const char* program = "program rows(M = 4, N = 8)\nin X: f32[M, N]\nout Y[i: M, j: N] = X[i, j] * 2\n";
  const std::string text = opencl_test::axis_nest("rows of threads");
  Program rows = normalized_program(program);
  auto nest = parse_loop_nest(text);
  ASSERT_TRUE(nest) << described(nest.error());
  poly::NestCheck check = poly::check_nest(rows, *nest);
  EXPECT_EQ(check.verdict, Verdict::proven) << check.message;
  auto inputs = ir::seeded_inputs(rows, 3, ir::DataKind::integers);
  auto got = ir::interpret(*nest, inputs);
  ASSERT_TRUE(got) << described(got.error());
  EXPECT_EQ(got->tensors[0].bytes, ir::evaluate(rows, inputs)->tensors[0].bytes);
}

/// The loops of a band's frame are around those of its statements; loops that only the statements have are asked as
/// `parallel` asks.
TEST(Axes, loops_of_bands_are_bound_with_what_is_inside) {
  const Program program = test::normalized_program(
      "program p(T = 4, N = 9)\nin X: f64[N]\nlet A[0, i: N] = X[i]\nlet A[t: 1..T+1, i: N] = 0.5 * (A[t-1, i] + "
      "(A[t-1, i-1] where i >= 1 else 0.0))\nout R[i: N] = A[T, i]\n");
  const std::string band = "band steps [t, i] of A@2: [t, i]\n";
  const auto made = replayed(program, band + "distribute steps at t\nbind A@2 i to thread_x\n");
  EXPECT_TRUE(made) << described(made.error());
  const auto says = [&](const std::string& steps, const std::string& what) {
    const std::string why = refusal(program, band + steps);
    EXPECT_NE(why.find(what), std::string::npos) << steps << why;
  };
  says("tile steps [i: 3]\ndistribute steps at t\nbind A@2 i to thread_x\nbind steps t to block_x\n", "PW0306");
  says("bind A@2 i to block_x\n", "shares this loop");
  says("tile steps [i: 3]\ndistribute steps at i.1\nbind A@2 t to block_x\n", "PW0306");
  says("tile steps [i: 16]\ndistribute steps at i.1\nbind A@2 i to thread_x\nbind steps i.1 to thread_x\n",
       "is bound to thread_x already");
}

TEST(Axes, what_no_launch_could_do_is_refused) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"\"thread_y\"", "\"thread_w\"", "unknown; known are"},
      {"\"thread_y\"", "\"thread_x\"", "inside another loop over it"},
      {"\"thread_x\"", "\"block_z\"", "inside a loop over threads"},
      {"axis \"block_y\"", "parallel", "inside a vector or parallel loop"},
      {"for tj in 0 .. 4", "for tj in 0 .. 2*bi", "the launch has no size"},
      {"sync block 1", "sync warp 1", "only block, async_commit and async_wait"},
      {"sync block 1", "if 2 - ti >= 0 { sync block 1 }", "some would never reach it"},
      {"for k0 in 0 .. 7 step 4", "for k0 in 0 .. ti step 4", "some would never reach it"},
  };
  for (const auto& [from, to, reason] : cases) {
    Status status = verify(nest_from(changed(from, to)));
    ASSERT_FALSE(status.ok()) << to;
    EXPECT_EQ(status.error().code, "PW0414");
    EXPECT_NE(status.error().message.find(reason), std::string::npos) << status.error().message;
  }
  std::string late = kShared;
  late = late.replace(late.rfind("sync block 1"), 12, " ");
  late.insert(late.rfind("}\n"), "sync block 0\n");
  EXPECT_NE(described(verify(nest_from(late)).error()).find("no loop over threads around it"), std::string::npos);
}

TEST(Axes, bound_loops_of_a_trace_are_proven_and_compute_the_terms) {
  Program program = normalized_program(kProduct);
  auto nest = nest_of(program,
                      "trace 1\n tile C [i: 4, j: 8]\n promote A at j.1 heap\n accumulate C at j stack\n"
                      " bind C i.1 to block_y\n bind C j.1 to block_x\n bind C i to thread_y\n bind C j to thread_x\n");
  ASSERT_TRUE(nest) << described(nest.error());
  EXPECT_NE(print(*nest).find("axis \"thread_x\""), std::string::npos) << print(*nest);
  ASSERT_TRUE(verify(*nest)) << described(verify(*nest).error()) << print(*nest);
  EXPECT_EQ(product_verdict(print(*nest)), "proven  ");
  for (bool last_first : {false, true}) EXPECT_EQ(run(*nest, last_first).tags, wanted().tags);
}

}  // namespace
}  // namespace polyweft::test
