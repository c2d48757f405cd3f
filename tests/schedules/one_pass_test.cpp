// Rule 13: sums over one large matrix share a pass over it, in every way in which they may need each other; what they
// compute is right and proven.
#include "schedules/sketches/one_pass.h"

#include <fstream>
#include <sstream>

#include "machines.h"
#include "sketch_harness.h"

namespace polyweft::test {
namespace {

const Machine kSmallCaches = machine_with(64, 32, {1 << 10, 16 << 10, 64 << 20});

std::vector<Trace> pass_sketches(const Program& program, NumericsClass cls = NumericsClass::reassoc) {
  return schedules::traces_of(schedules::one_pass_sketches(program, cls, kSmallCaches, isl_for(program)));
}

Program polybench_program(const std::string& name, const std::map<std::string, int64_t>& sizes) {
  std::ifstream in(std::string(PW_SOURCE_DIR) + "/examples/polybench/" + name + ".weft");
  return normalized_program(std::string{std::istreambuf_iterator<char>(in), {}}, sizes);
}

std::string checked_pass(const Program& program) {
  return checked_trace(program, pass_sketches(program));
}

TEST(OnePassSketches, a_product_and_one_with_the_transposed_matrix_share_blocks_of_rows) {
  expect_steps(checked_pass(polybench_program("bicg", {{"N", 37}, {"M", 101}})),
               {"band band1 [i, j] of s.first: [0, j], q.first: [i, 0], s.folds: [i, j], q.folds: [i, j]",
                "distribute band1 at j.1", "accumulate q.folds at root reg"});
  expect_steps(checked_pass(polybench_program("mvt", {{"N", 67}})),
               {"x1.1.folds: [i, j], x2.1.folds: [j, i]", "vectorize x1 i"});
}

TEST(OnePassSketches, what_needs_a_row_s_sum_comes_after_the_row) {
  expect_steps(checked_pass(polybench_program("atax", {{"M", 37}, {"N", 101}})),
               {"tmp.folds: [i, 0, j], y.folds: [i, 1, j]", "distribute band1 at s",
                "prefetch A in y.folds along i by rows_band1"});
}

// The step of a logistic regression: what is made of a row's sum has a turn of its own.
TEST(OnePassSketches, elementwise_statements_run_between) {
  const Program program = normalized_program(
      "program step(M = 55, N = 83)\nin X: f32[M, N]\nin w: f32[N]\nin l: f32[M]\nlet z[i: M] = sum[j: N] X[i, j] * "
      "w[j]\nlet e[i: M] = sigmoid(z[i]) - l[i]\n"
      "out g[j: N] = sum[i: M] X[i, j] * e[i]\nout loss[i: M] = e[i] * e[i]\n");
  expect_steps(checked_pass(program), {"z.folds: [i, 0, j], e: [i, 1, 0], g.folds: [i, 2, j]", "vectorize e i 16"});
}

TEST(OnePassSketches, several_vectors_and_one_result_that_another_sum_needs_whole) {
  const Program several = normalized_program(
      "program several(M = 55, N = 83)\nin X: f32[M, N]\nin a: f32[N]\nin b: f32[N]\nout p[i: M] = sum[j: N] X[i, j] * "
      "a[j]\nout q[i: M] = max[j: N] (X[i, j] + b[j])\n");
  expect_steps(checked_pass(several), {"p.folds: [i, j], q.folds: [i, j]"});
  // t is needed whole by the second pair, which has a pass of its own.
  const Program twice = normalized_program(
      "program twice(N = 67)\nin X: f32[N, N]\nin a: f32[N]\nlet s[i: N] = sum[j: N] X[i, j] * a[j]\nlet t[j: N] = "
      "sum[i: N] X[i, j] * a[i]\n"
      "out p[i: N] = sum[j: N] X[i, j] * t[j]\nout q[j: N] = sum[i: N] X[i, j] * s[i]\n");
  const std::string text = checked_pass(twice);
  expect_steps(text, {"s.folds: [i, 0, j], t.folds: [i, 0, j], q.folds: [i, 1, j]", "tile p "});
}

TEST(OnePassSketches, a_changed_matrix_is_computed_where_it_is_read) {
  expect_steps(checked_pass(polybench_program("gemver", {{"N", 67}})),
               {"inline A", "band band1 [i, j] of x.1.first: [0, i], x.1.folds: [j, i]", "tile w.1 [i: 8, j: 8]"});
}

TEST(OnePassSketches, are_not_made_where_nothing_is_shared_or_the_order_counts) {
  EXPECT_TRUE(pass_sketches(polybench_program("gesummv", {{"N", 67}})).empty());
  EXPECT_TRUE(pass_sketches(polybench_program("bicg", {{"N", 17}, {"M", 70}})).empty())
      << "9,520 bytes stay in the second cache";
  EXPECT_TRUE(pass_sketches(polybench_program("bicg", {{"N", 37}, {"M", 101}}), NumericsClass::strict).empty());
  EXPECT_TRUE(
      pass_sketches(normalized_program(
                        "program p(N = 67)\nin X: f64[N, N]\nin a: f64[N]\nout s[j: N] = sum[i: N] X[i, j] * a[i]\n"))
          .empty());
}

// Two threads have a product each, or equal parts of one.
TEST(OnePassSketches, share_nothing_among_threads) {
  const Machine two = on_cores(kSmallCaches, 2);
  const Program pair = polybench_program("bicg", {{"N", 37}, {"M", 101}}),
                changed = polybench_program("gemver", {{"N", 367}});
  EXPECT_TRUE(schedules::one_pass_sketches(pair, NumericsClass::reassoc, two, isl_for(pair)).empty());
  const auto traces =
      schedules::traces_of(schedules::one_pass_sketches(changed, NumericsClass::reassoc, two, isl_for(changed)));
  ASSERT_EQ(traces.size(), 1u);
  expect_steps(traces[0].text(), {"inline A", "parallel x.1 i in 2", "parallel w.1 i in 2"});
  EXPECT_EQ(traces[0].text().find("band"), std::string::npos) << traces[0].text();
}

}  // namespace
}  // namespace polyweft::test
