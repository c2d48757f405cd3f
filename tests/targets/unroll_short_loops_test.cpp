// Several iterations of a register block's loop as one: the bits of the interpreter for every number of iterations, and
// fewer jumps back.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "targets/count_of.h"
#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

/// Y[x, v] <- sum over c of X[x, c] * W[c, v] in registers, hints for W and X ahead where asked for.
LoopNest block(int64_t rows, int64_t vectors, int64_t depth, const std::string& hint = "", int64_t step = 1,
               int64_t lanes = 16) {
  const auto t = [](int64_t k) { return std::to_string(k); };
  const std::string columns = t(lanes * vectors), l = t(lanes);
  const auto each = [&](const std::string& n, const std::string& mark) {
    return "for x" + n + " in 0 .. " + t(rows) + " unroll { for u" + n + " in 0 .. " + t(vectors) + " unroll { for v" +
           n + " in 0 .. " + l + " vector " + l + " " + mark + " { ";
  };
  return parsed("nest 1 c class reassoc\nloops i, c, x1, u1, v1, x2, u2, v2, x3, u3, v3\nbuffer X: f32[3, " + t(rows) +
                ", " + t(depth) + "] argument align 4\nbuffer W: f32[" + t(depth) + ", " + columns +
                "] argument align 4\nbuffer A: f32[" + t(rows) + ", " + columns + "] reg align 64\nbuffer Y: f32[3, " +
                t(rows) + ", " + columns +
                "] argument align 4 output\narguments X, W, Y\nbody {\nfor i in 0 .. 3 { alloc A { seq {\n" +
                each("1", "") + "compute 0(i, x1, " + l + "*u1 + v1) init sum: A[x1, " + l +
                "*u1 + v1] } } }\nfor c in 0 .. " + t(depth) + (step > 1 ? " step " + t(step) : "") + " { " +
                each("2", hint) + "compute 0(i, x2, " + l + "*u2 + v2, c) accumulate sum fused: A[x2, " + l +
                "*u2 + v2] <- (X[i, x2, c] * W[c, " + l + "*u2 + v2]) } } } }\n" + each("3", "") + "copy Y[i, x3, " +
                l + "*u3 + v3] <- A[x3, " + l + "*u3 + v3] else 0:f32 } } }\n} } } }\n");
}

TEST(IterationsAtOnce, the_same_bits) {
  for (int64_t depth : {1, 2, 3, 4, 5, 6, 8, 9, 31})
    for (auto [rows, vectors] : {std::pair<int64_t, int64_t>{1, 4}, {2, 1}, {6, 4}}) {
      SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(vectors) + " vectors, depth " +
                   std::to_string(depth));
      expect_same_bits(block(rows, vectors, depth), 1);
    }
}

TEST(IterationsAtOnce, the_same_bits_in_steps_and_with_hints) {
  for (int64_t depth : {7, 8, 11, 24}) {
    for (int64_t step : {2, 3, 5}) expect_same_bits(block(4, 2, depth, "", step), 1);
    expect_same_bits(block(4, 2, depth, "prefetch W[8, 0]"), 1);
    expect_same_bits(block(4, 2, depth, "prefetch X[0, 0, 64]"), 1);
  }
}

Assembly marked(const LoopNest& nest) {
  const Target target = *find_target("x86-64-v4");
  auto text = targets::assembly_text(nest, target);
  EXPECT_TRUE(text.ok()) << (text.ok() ? "" : text.error().message);
  auto out = targets::marked_assembly(text.ok() ? *text : "", target);
  EXPECT_TRUE(out.ok());
  return out.ok() ? *out : Assembly{};
}

/// The loop with the most multiply-adds.
LoopCost hottest(const LoopNest& nest) {
  LoopCost out;
  for (const LoopCost& loop : marked(nest).loops)
    if (loop.fmas > out.fmas) out = loop;
  return out;
}

TEST(IterationsAtOnce, a_jump_for_four_three_or_two) {
  struct Case {
    int64_t depth, times;
  };
  for (const Case& c : {Case{64, 4}, Case{27, 3}, Case{34, 2}, Case{31, 1}}) {
    const LoopCost loop = hottest(block(6, 4, c.depth));
    EXPECT_EQ(loop.fmas, 24 * c.times) << c.depth;
    EXPECT_EQ(loop.loads, 10 * c.times) << c.depth;
    EXPECT_LE(loop.instructions, 34 * c.times + 8) << c.depth;
    EXPECT_EQ(loop.spills, 0) << c.depth;
  }
}

// Rows of W of 32 bytes: of two hints one would name the line of the other.
TEST(IterationsAtOnce, a_hint_for_each_line_is_given_once) {
  EXPECT_EQ(count_of("prefetch", marked(block(6, 4, 64, "prefetch W[8, 0]")).text), 16U);
  EXPECT_EQ(count_of("prefetch", marked(block(4, 1, 64, "prefetch W[8, 0]", 1, 8)).text), 2U);
}

}  // namespace
}  // namespace polyweft::targets_test
