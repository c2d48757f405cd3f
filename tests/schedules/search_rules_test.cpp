// Rules for searches alone: what they propose, before all judges, and where they propose nothing.
#include <gtest/gtest.h>

#include "machines.h"
#include "schedules/sketch_harness.h"
#include "schedules/sketches/sketches.h"

namespace polyweft::test {
namespace {

constexpr const char* kScaledProduct =
    "program scaled(M = 48, N = 96, K = 40)\n"
    "in A: f32[M, K]\nin B: f32[K, N]\nin D: f32[M, N]\n"
    "out C[i: M, j: N] = D[i, j] + 2 * sum[k: K] A[i, k] * B[k, j]\n";
constexpr const char* kSmallImage =
    "program conv(N = 1)\n"
    "in X: f32[N, 7, 7, 16]\nconst in W: f32[3, 3, 16, 32]\n"
    "out Y[n: N, y: 7, x: 7, f: 32] =\n"
    "  sum[t: 3, r: 3, c: 16 where 0 <= y + t - 1 < 7 and 0 <= x + r - 1 < 7]\n"
    "    X[n, y + t - 1, x + r - 1, c] * W[t, r, c, f]\n";
constexpr const char* kChannelsApart =
    "program depthwise(N = 1)\n"
    "in X: f32[N, 14, 14, 32]\nconst in W: f32[3, 3, 32]\n"
    "out Y[n: N, y: 14, x: 14, f: 32] =\n"
    "  sum[t: 3, r: 3 where 0 <= y + t - 1 < 14 and 0 <= x + r - 1 < 14]\n"
    "    X[n, y + t - 1, x + r - 1, f] * W[t, r, f]\n";
constexpr const char* kSumsOfRows = "program sums(N = 64)\nin A: f32[N, N]\nout s[i: N] = sum[k: N] A[i, k]\n";

constexpr const char* kFactors =
    "program lu(N = 50)\nin A0: f64[N, N]\n"
    "out A[i: N, j: i..N] = A0[i, j] - sum[k: 0..i] A[i, k] * A[k, j]\n"
    "out A[i: N, j: 0..i] = (A0[i, j] - sum[k: 0..j] A[i, k] * A[k, j]) / A[j, j]\n";
/// Values weighted by exponentials of products of rows.
constexpr const char* kWeightedValues =
    "program weighted(B = 2, H = 4, L = 37, S = 41, D = 24)\n"
    "in Q: f32[B, H, L, D]\nin K: f32[B, H, S, D]\nin V: f32[B, H, S, D]\n"
    "let a[b: B, h: H, i: L, j: S] = 0.25 * sum[d: D] Q[b, h, i, d] * K[b, h, j, d]\n"
    "let m[b: B, h: H, i: L] = max[j: S] a[b, h, i, j]\n"
    "let e[b: B, h: H, i: L, j: S] = exp(a[b, h, i, j] - m[b, h, i])\n"
    "let s[b: B, h: H, i: L] = sum[j: S] e[b, h, i, j]\n"
    "out O[b: B, h: H, i: L, d: D] = (sum[j: S] e[b, h, i, j] * V[b, h, j, d]) / s[b, h, i]\n";
/// Parts of rows, each with its sum and its greatest element, folded part by part.
constexpr const char* kFoldedBlocks =
    "program folded(H = 2, L = 19, const B = 3, const W = 16, D = 24)\n"
    "in Q: f32[H, L, D]\nin K: f32[H, B * W, D]\nin V: f32[H, B * W, D]\n"
    "combine both((m, s), (n, t)): (f32, f32) from (-inf, 0) associative commutative = (max(m, n), s + t)\n"
    "let a[h: H, i: L, b: B, j: W] = 0.25 * sum[d: D] Q[h, i, d] * K[h, W * b + j, d]\n"
    "let x[h: H, i: L, b: B] = max[j: W] a[h, i, b, j]\n"
    "let z[h: H, i: L, b: B, d: D] = sum[j: W] a[h, i, b, j] * V[h, W * b + j, d]\n"
    "let (m, o)[h: H, i: L, d: D] = reduce both[b: B] (x[h, i, b], z[h, i, b, d])\n"
    "out O[h: H, i: L, d: D] = o[h, i, d] + m[h, i, d]\n";
/// One row of each of four outer values, two of which share a matrix.
constexpr const char* kSharedRows =
    "program shared(B = 2, const H = 4, const G = 2, S = 41, D = 24)\n"
    "in Q: f32[B, H, 1, D]\nin K: f32[B, G, S, D]\nin V: f32[B, G, S, D]\n"
    "let a[b: B, h: H, i: 1, j: S] = 0.25 * sum[d: D] Q[b, h, i, d] * K[b, h // 2, j, d]\n"
    "let m[b: B, h: H, i: 1] = max[j: S] a[b, h, i, j]\n"
    "let e[b: B, h: H, i: 1, j: S] = exp(a[b, h, i, j] - m[b, h, i])\n"
    "out O[b: B, h: H, i: 1, d: D] = (sum[j: S] e[b, h, i, j] * V[b, h // 2, j, d]) / m[b, h, i]\n";
constexpr const char* kRowsOfTiles =
    "program tiles(B = 1, const H = 4, const G = 2, L = 64, S = 64, D = 32)\n"
    "in Q: bf16[B, H, L, D]\nin K: bf16[B, G, S, D]\nin V: bf16[B, G, S, D]\n"
    "let a[b: B, h: H, i: L, j: S] = 0.25 * sum[d: D] f32(Q[b, h, i, d]) * f32(K[b, h // 2, j, d])\n"
    "let m[b: B, h: H, i: L] = max[j: S] a[b, h, i, j]\n"
    "let e[b: B, h: H, i: L, j: S] = exp(a[b, h, i, j] - m[b, h, i])\n"
    "out O[b: B, h: H, i: L, d: D] = bf16((sum[j: S] e[b, h, i, j] * f32(V[b, h // 2, j, d])) / m[b, h, i])\n";

std::vector<Trace> for_search(const Program& program, const Machine& machine) {
  std::vector<NestTemplate> known;
  if (!schedules::has_recurrence(program)) {
    auto first = schedules::sketch_templates(program, NumericsClass::reassoc, machine);
    EXPECT_TRUE(first.ok());
    known = *std::move(first);
  }
  return schedules::traces_of(
      schedules::search_templates(program, NumericsClass::reassoc, machine, known, isl_for(program)));
}

/// Of the traces that have all of these steps the first is judged.
void expect_one_judged(const Program& program, const std::vector<Trace>& traces,
                       const std::vector<std::string>& steps) {
  for (const Trace& trace : traces) {
    const std::string text = trace.text();
    if (!std::all_of(steps.begin(), steps.end(),
                     [&](const std::string& step) { return text.find(step) != std::string::npos; }))
      continue;
    checked_trace(program, {trace});
    return;
  }
  std::string all;
  for (const Trace& trace : traces) all += trace.text() + "\n";
  FAIL() << "no trace has " << steps.front() << " and the others in\n" << all;
}

TEST(SearchRules, a_reader_follows_each_tile_of_its_sums) {
  const Program program = normalized_program(kScaledProduct);
  const auto traces = for_search(program, machine_with(32, 16, {1 << 10, 8 << 10, 64 << 10}));
  expect_one_judged(program, traces, {"fuse C into C.1 at j.", "unroll C j", "accumulate C.1 at j."});
}

TEST(SearchRules, blocks_of_two_rows_of_a_small_image) {
  const Program program = normalized_program(kSmallImage);
  const auto traces = for_search(program, machine_with(64, 32));
  expect_one_judged(program, traces, {"y: 2", "split Y y.1 at 2, 4, 6", "unroll Y y, x"});
  expect_one_judged(program, traces, {"y: rows", "unroll Y y, x"});
}

TEST(SearchRules, vectors_of_channels_stand_at_three_places) {
  const Program program = normalized_program(kChannelsApart);
  const auto traces = for_search(program, machine_with(32, 16, {1 << 10, 8 << 10, 64 << 10}));
  expect_one_judged(program, traces, {"permute Y [n, f.1, y, x.1,"});
  expect_one_judged(program, traces, {"permute Y [n, y, f.1, x.1,", "stream Y"});
  expect_one_judged(program, traces, {"permute Y [n, y, x.1, f.1,", "prefetch X in Y along x by ahead"});
}

TEST(SearchRules, lanes_run_across_the_rows_of_a_strip) {
  const Program program = normalized_program(kWeightedValues);
  const auto traces = for_search(program, machine_with(32, 16, {1 << 10, 8 << 10, 64 << 10}));
  expect_one_judged(
      program, traces,
      {"compute_at e in O at i.1 heap layout [d0, d1, d3, d2]", "promote Q in a.1 at h heap layout [d0, d1, d3, d2]",
       "vectorize m i 8", "vectorize s i 8", "vectorize e i 8", "vectorize O.1 d 8"});
}

TEST(SearchRules, blocks_are_folded_in_strips_of_rows) {
  const Program program = normalized_program(kFoldedBlocks);
  const auto made =
      schedules::sketch_templates(program, NumericsClass::reassoc, machine_with(32, 16, {1 << 10, 8 << 10, 64 << 10}));
  ASSERT_TRUE(made.ok());
  const auto traces = schedules::traces_of(*made);
  expect_one_judged(program, traces,
                    {"compute_at m in O at i.1 heap", "compute_at z in m at b heap",
                     "compute_at a.1 in m at b heap layout [d0, d2, d3, d1]", "vectorize x i 8"});
  expect_one_judged(program, traces, {"compute_at a.1 in m at b heap\n", "vectorize x j 8"});
}

TEST(SearchRules, rows_that_share_operands_run_together) {
  const Program program = normalized_program(kSharedRows);
  const auto traces = for_search(program, machine_with(32, 16, {1 << 10, 8 << 10, 64 << 10}));
  expect_one_judged(program, traces,
                    {"tile O [h: 2,", "permute a.1 [b, i, j, d.1, h, d]", "unroll a.1 h", "unroll O.1 h"});
}

TEST(SearchRules, strips_in_tiles_where_the_machine_has_them) {
  const Program program = normalized_program(kRowsOfTiles);
  Machine machine = machine_with();
  const std::vector<std::string> steps = {
      "compute_at e in O at i.1 heap layout [d0, d1, d2 / 16, d3 / 32, d2 % 16, d3 % 32]",
      "promote K in a.1 at h.1 heap layout [d2 / 16, d0, d1, d3 / 2, d2 % 16, d3 % 2]",
      "tensorize O.1 i, d, j.2, j by tdpbf16ps_parts"};
  const auto has_tiles = [&](const Trace& trace) { return trace.text().find(steps[0]) != std::string::npos; };
  const auto without = for_search(program, machine);
  EXPECT_TRUE(std::none_of(without.begin(), without.end(), has_tiles));
  machine.units.instructions = {"tdpbf16ps", "tdpbf16ps_parts"};
  expect_one_judged(program, for_search(program, machine), steps);
}

TEST(SearchRules, panels_fit_the_second_cache_and_the_vectors) {
  const Program program = normalized_program(kFactors);
  const auto traces = for_search(program, machine_with(32, 16, {1 << 10, 32 << 10, 1 << 20}));
  ASSERT_EQ(traces.size(), 1U) << "a wider panel would leave fewer than four";
  expect_one_judged(program, traces,
                    {"j: 12, k: 12, i: 12, j: 4, k: 4, i: 4]", "permute A.1.folds.far [i.1, j.1, k, i, j]",
                     "tile A.1.folds.far2 [j: columns_inner, i: rows_inner]", "decide columns_inner = 4"});
  EXPECT_TRUE(for_search(program, machine_with(32, 16, {1 << 10, 2 << 10, 1 << 20})).empty());
}

TEST(SearchRules, a_reader_has_the_conditions_of_its_sums) {
  const Program program = normalized_program(
      "program triangle(N = 40, M = 24)\nin A: f32[N, M]\nin D: f32[N, N]\n"
      "out partial C[i: N, j: 0..i+1] = D[i, j] + 2 * sum[k: M] A[i, k] * A[j, k]\n");
  const auto traces = for_search(program, machine_with(32, 16, {1 << 10, 8 << 10, 64 << 10}));
  expect_one_judged(program, traces, {"fuse C into C.1 at i.1", "promote A in C.1 at root", "unroll C j"});
}

TEST(SearchRules, streams_where_the_last_cache_would_keep_the_output) {
  const Program program = normalized_program("program add(N = 64)\nin A: f32[N, N]\nout B[i: N, j: N] = A[i, j] + 2\n");
  const auto near = for_search(program, machine_with(32, 16, {1 << 10, 8 << 10, 1 << 20}));
  expect_one_judged(program, near, {"stream B"});
  EXPECT_TRUE(for_search(program, machine_with(32, 16, {48 << 10, 2 << 20, 32 << 20})).empty());
}

TEST(SearchRules, nothing_for_sums_along_rows_and_recurrences) {
  EXPECT_TRUE(for_search(normalized_program(kSumsOfRows), machine_with()).empty());
  const Program program = normalized_program(
      "program running(N = 64)\nin x: f32[N]\nlet s[0] = x[0]\nlet s[i: 1..N] = s[i-1] + x[i]\n"
      "out y[i: N] = s[i]\n");
  EXPECT_TRUE(schedules::search_templates(program, NumericsClass::reassoc, machine_with(), {}).empty());
}

}  // namespace
}  // namespace polyweft::test
