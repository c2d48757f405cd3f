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

std::vector<Trace> for_search(const Program& program, const Machine& machine) {
  const auto known = schedules::sketch_templates(program, NumericsClass::reassoc, machine);
  EXPECT_TRUE(known.ok());
  return schedules::traces_of(schedules::search_templates(program, NumericsClass::reassoc, machine, *known));
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
