// Extents of outputs: against enumeration of the domains, at sizes where only arithmetic ends, and where it gives up.
#include "ir/values/output_extents.h"

#include <gtest/gtest.h>

#include "ir/values/domain.h"
#include "lang/parser.h"
#include "support/rng.h"

namespace polyweft {
namespace {

Program bound_output(const std::string& text) {
  auto parsed = lang::parse(text, "test.weft");
  EXPECT_TRUE(parsed) << parsed.error().diagnostics.at(0).text << "\n" << text;
  const Program& program = parsed->programs.at(0);
  return polyweft::bind(program, make_binding(program, {}).value());
}

std::vector<int64_t> extents(const std::string& sizes, const std::string& slots) {
  const Program program = bound_output("program p(" + sizes + ")\nin A: f32\nout partial P" + slots + " = A");
  auto found = ir::output_extents(program, program.outputs()[0]);
  EXPECT_TRUE(found) << found.error().message;
  return found ? *found : std::vector<int64_t>{};
}

using Extents = std::vector<int64_t>;

TEST(OutputExtents, are_the_bound_of_the_range_or_one_more_than_the_largest_value) {
  EXPECT_EQ(extents("N = 5", "[i: N, j: 0..i+1]: f32 where j % 2 == 1"), (Extents{5, 4}));
  EXPECT_EQ(extents("N = 5", "[i: N, j: N]: f32 where j % 2 == 1 and j < i"), (Extents{5, 5}));
  EXPECT_EQ(extents("N = 5", "[i: N, j: i..2*i]: f32"), (Extents{5, 8}));
  EXPECT_EQ(extents("N = 5", "[i: N, 3*i + 1]: f32 where i % 2 == 1"), (Extents{5, 11}));
  EXPECT_EQ(extents("N = 5", "[i: N, j: i//2..i]: f32 where i + j == 7"), (Extents{5, 4}));
  EXPECT_EQ(extents("N = 1", "[i: N, j: 0..i]: f32"), (Extents{1, 0}));
  EXPECT_EQ(extents("N = 9", "[i: N, j: 0..i+1]: f32 where 2*i == 3*j + 1"), (Extents{9, 6}));
}

TEST(OutputExtents, of_several_equations_are_the_largest) {
  const Program program = bound_output(
      "program p(N = 6)\nin A: f32\nout partial P[i: N, j: 0..i]: f32 where i < 3 = A\nout partial P[5, 9]: f32 = A");
  EXPECT_EQ(*ir::output_extents(program, program.outputs()[0]), (Extents{6, 10}));
}

TEST(OutputExtents, take_no_time_where_sizes_are_large) {
  EXPECT_EQ(extents("N = 1_000_000", "[i: N, j: 0..i+1, k: 0..j+1]: f32 where (i + k) % 3 == 1 and j % 2 == 0"),
            (Extents{1'000'000, 999'999, 999'999}));
  EXPECT_EQ(extents("N = 1_000_000", "[i: N, j: 0..i+1]: f32 where 2*i + 4*j == 7"), (Extents{1'000'000, 0}));
  EXPECT_EQ(extents("N = 1_000_000", "[i: N, j: 0..i+1]: f32 where 3*i == 5*j and not (j % 7 == 3)"),
            (Extents{1'000'000, 599'998}));
}

TEST(OutputExtents, are_refused_where_they_hide) {
  const Program program = bound_output(
      "program p(N = 1_000_000)\nin A: f32\nout partial P[i: N, j: 0..i+1]: f32 where (i + j) % 2 == 0 and i % 2 == 0 "
      "and j % 2 == 1 = A");
  auto found = ir::output_extents(program, program.outputs()[0]);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, "PW0838");
  EXPECT_EQ(found.error().message,
            "p: the extents of P are not found: the largest value of j is not decided within 50000 boxes");
  EXPECT_EQ(found.error().notes,
            std::vector<std::string>{"give the slot a range whose upper bound is a sum of parameters"});
}

TEST(OutputExtents, are_those_of_enumeration) {
  Rng rng(1);
  const auto n = [&](int64_t lo, int64_t hi) { return std::to_string(rng.between(lo, hi)); };
  const auto one_of = [&](const std::vector<std::string>& texts) { return texts[rng.below(texts.size())]; };
  for (int k = 0; k < 1500; ++k) {
    const std::string m = n(2, 4), j = one_of({"j: 0..i+1", "j: i..N", "j: i//2..2*i", "j: i%3..i+" + n(1, 4),
                                               "i + " + n(0, 3), "2*i", "N - i", "i % " + m, "j: 0..clamp(i, 1, 4)"});
    const std::string v = j[0] == 'j' ? "j" : "i", c = n(0, 6);
    const auto condition = [&] {
      return one_of({v + " % " + m + " == 1", "(i + " + v + ") % " + m + " == 0", "i != " + v, "i + " + v + " == " + c,
                     "i + 2*" + v + " < " + c + " + N", "not (" + v + " % " + m + " == 0)",
                     "(i < " + c + " or " + v + " > 2)", v + " // 2 == i // " + m, "3*i >= 2*" + v});
    };
    const std::string text = "program p(N = " + n(1, 9) + ")\nin A: f32\nout partial P[i: N, " + j + "]: f32 where " +
                             condition() + (rng.chance(0.5) ? " and " + condition() : "") + " = A";
    const Program program = bound_output(text);
    auto found = ir::output_extents(program, program.outputs()[0]);
    ASSERT_TRUE(found) << text;
    EXPECT_EQ(*found, ir::boxes(program)[program.outputs()[0]].hi) << text;
  }
}

}  // namespace
}  // namespace polyweft
