// The checker on recurrences in folded storage, tiled in skewed time: nests as schedules for PolyBench's LARGE sizes
// make them, and what is wrong by one.
#include <fstream>
#include <span>
#include <sstream>

#include "harness.h"
#include "poly/check/checker.h"
#include "samples.h"

namespace polyweft::test {
namespace {

std::string contents(const std::string& path) {
  std::stringstream out;
  out << std::ifstream(std::string(PW_SOURCE_DIR) + "/" + path).rdbuf();
  return out.str();
}
std::string nest_text(const std::string& name) {
  return contents("tests/schedules/nests/" + name + ".nest");
}
Program polybench(const std::string& name, const std::map<std::string, int64_t>& sizes) {
  return normalized_program(contents("examples/polybench/" + name + ".weft"), sizes);
}
Program seidel(int64_t steps, int64_t n) {
  return normalized_program(contents("tests/schedules/nests/seidel_2d.weft"), {{"TSTEPS", steps}, {"N", n}});
}
poly::NestCheck check(const Program& program, const std::string& text) {
  auto nest = parse_loop_nest(text);
  if (!nest) return {Verdict::not_proven, nest.error().code, nest.error().message, 0, 0};
  return poly::check_nest(program, *nest);
}

TEST(CheckerOfTimeTiles, proves_jacobi_in_two_planes_at_large) {
  const poly::NestCheck found =
      check(polybench("jacobi_2d", {{"TSTEPS", 500}, {"N", 1300}}), nest_text("jacobi_2d_large"));
  EXPECT_EQ(found.verdict, Verdict::proven) << found.message;
  EXPECT_LT(found.isl_operations, 2'000'000u);  // isl's dataflow takes 6,600,000
}

// First choices of PolyBench at MEDIUM: two dozen statements that band tiles are cut into, and the blocks on a diagonal
// that one output is read from.
TEST(CheckerOfTimeTiles, proves_many_pieces_in_few_questions) {
  const poly::NestCheck syrk = check(polybench("syrk", {{"M", 200}, {"N", 240}}), nest_text("syrk_medium"));
  EXPECT_EQ(syrk.verdict, Verdict::proven) << syrk.message;
  EXPECT_LT(syrk.isl_operations,
            2'000'000u);  // 1,400,000; three times as many where the branches are taken from the last one on
  if (!takes_all_cases()) return;
  const poly::NestCheck heat = check(polybench("heat_3d", {{"TSTEPS", 100}, {"N", 40}}), nest_text("heat_3d_medium"));
  EXPECT_EQ(heat.verdict, Verdict::proven) << heat.message;
  EXPECT_LT(heat.isl_operations, 4'000'000u);  // 3,100,000; each pair of pieces by itself takes twice as many
}

TEST(CheckerOfTimeTiles, proves_seidel_and_cholesky_at_large) {
  EXPECT_EQ(check(seidel(500, 2000), nest_text("seidel_2d_large")).verdict, Verdict::proven);
  EXPECT_EQ(check(polybench("cholesky", {{"N", 2000}}), nest_text("cholesky_large")).verdict, Verdict::proven);
}

TEST(CheckerOfTimeTiles, proves_rows_as_lanes_in_skewed_storage) {
  const poly::NestCheck found = check(seidel(500, 2000), nest_text("seidel_2d_lanes_large"));
  EXPECT_EQ(found.verdict, Verdict::proven) << found.message;
  const std::string text = nest_text("seidel_2d_lanes_small");
  const Program program = seidel(8, 48);
  EXPECT_EQ(check(program, text).verdict, Verdict::proven);
  auto nest = parse_loop_nest(text);
  ASSERT_TRUE(nest.ok());
  EXPECT_EQ(difference(program, *nest, 4, ir::DataKind::random), "");
}

// No interval knows that the steps of a wave's tiles come after the first values: isl is asked about these pairs, and
// not for all the flow.
TEST(CheckerOfTimeTiles, proves_waves_of_tiles_with_time_among_them) {
  const poly::NestCheck found = check(seidel(500, 2000), nest_text("seidel_2d_waves_large"));
  EXPECT_EQ(found.verdict, Verdict::proven) << found.message;
  EXPECT_LT(found.isl_operations, 2'000'000u);  // isl's dataflow takes 9,200,000
  const std::string text = nest_text("seidel_2d_waves_small");
  const Program program = seidel(8, 48);
  EXPECT_EQ(check(program, text).verdict, Verdict::proven);
  auto nest = parse_loop_nest(text);
  ASSERT_TRUE(nest.ok());
  EXPECT_EQ(difference(program, *nest, 4, ir::DataKind::random), "");
  const std::pair<const char*, const char*> mutants[] = {
      {"for wave in 0 ..", "for wave in 1 .."},
      {"for i@2 in 0 ..", "for i@2 in 1 .."},
      {"store: A[0, 2*i@2 + j@3, i@2]", "store: A[1, 2*i@2 + j@3, i@2]"},  // the first values in the first step's cells
      {"for i.1 in max(0, wave - 12,", "for i.1 in max(0, wave - 11,"},
      {"for t in max(0, -3*wave", "for t in max(1, -3*wave"},
  };
  const size_t count = takes_all_cases() ? std::size(mutants) : 2;
  for (const auto& [from, to] : std::span(mutants).first(count)) {
    const poly::NestCheck wrong = check(program, with(text, from, to));
    EXPECT_EQ(wrong.verdict, Verdict::refuted) << from << " -> " << to << ": " << wrong.code << " " << wrong.message;
  }
}

TEST(CheckerOfTimeTiles, refutes_what_is_wrong_by_one) {
  const std::string text = nest_text("jacobi_2d_small");
  const Program program = polybench("jacobi_2d", {{"TSTEPS", 7}, {"N", 45}});
  EXPECT_EQ(check(program, text).verdict, Verdict::proven);
  const std::pair<const char*, const char*> mutants[] = {
      {"min(xl0 + 8, 44)", "min(xl0 + 7, 44)"},        // a lane less
      {"for t in max(tt,", "for t in max(tt + 1,"},    // a step less
      {"for ib in 2*tt ..", "for ib in 2*tt + 1 .."},  // rows one late
      {"max(jt - 16*t - 8, 8)", "max(jt - 16*t, 8)"},  // columns of A less skewed than their tile
      {"A[t - 1, ib - 2*t - 0 + r1, v1 - 1]", "A[t - 1, ib - 2*t - 0 + r1, v1 - 2]"},
  };
  for (const auto& [from, to] : mutants) {
    const poly::NestCheck found = check(program, with(text, from, to));
    EXPECT_EQ(found.verdict, Verdict::refuted) << from << " -> " << to << ": " << found.code << " " << found.message;
  }
}

TEST(CheckerOfTimeTiles, the_small_one_computes_what_the_program_means) {
  const Program program = polybench("jacobi_2d", {{"TSTEPS", 7}, {"N", 45}});
  auto nest = parse_loop_nest(nest_text("jacobi_2d_small"));
  ASSERT_TRUE(nest.ok());
  EXPECT_EQ(difference(program, *nest, 4, ir::DataKind::random), "");
}

}  // namespace
}  // namespace polyweft::test
