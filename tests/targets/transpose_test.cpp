// Copies across the order of memory run by squares in registers: the bits of the interpreter for every type, size, tail
// and order of loops.
#include <gtest/gtest.h>

#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

struct PackingShape {
  const char* type = "f32";
  int64_t rows = 37, columns = 53, panel = 14;
  bool rows_outside = true;
  int64_t first_column = 0;
};

/// P[r / panel, c, r % panel] = A[r, c + first], as packing for a matrix product writes it; Y reads it back by panels.
LoopNest packing(const PackingShape& s) {
  const std::string rows = std::to_string(s.rows), columns = std::to_string(s.columns), panel = std::to_string(s.panel);
  const std::string wide = std::to_string(s.columns + s.first_column),
                    panels = std::to_string((s.rows + s.panel - 1) / s.panel);
  const std::string row_loop = "for r in 0 .. min(" + panel + ", -t + " + rows + ") {\n",
                    column_loop = "for c in 0 .. " + columns + " {\n";
  const std::string a = std::string(s.type) + "[" + rows + ", " + wide + "] argument",
                    y = std::string(s.type) + "[" + rows + ", " + columns + "]";
  const std::string bytes = s.type == std::string("f64")                                   ? "8"
                            : s.type == std::string("f32") || s.type == std::string("i32") ? "4"
                            : s.type == std::string("u8")                                  ? "1"
                                                                                           : "2";
  std::string zero = s.type;
  return parsed("nest 1 turn class strict\nloops t, r, c, i, j\nbuffer A: " + a + " align " + bytes +
                "\nbuffer Y: " + y + " argument align " + bytes + " output\nbuffer P: " + y +
                " heap layout [0:" + panels + ", 1:" + columns + ", 0:" + panel +
                "] align 64\narguments A, Y\nbody {\n  alloc P {\n" + "for t in 0 .. " + rows + " step " + panel +
                " {\n" + (s.rows_outside ? row_loop + column_loop : column_loop + row_loop) +
                "copy P[t + r, c] <- A[t + r, c + " + std::to_string(s.first_column) + "] else 0:" + zero +
                "\n}\n}\n}\nfor i in 0 .. " + rows + " {\nfor j in 0 .. " + columns +
                " {\ncopy Y[i, j] <- P[i, j] else 0:" + zero + "\n}\n}\n}\n}\n");
}

TEST(Transposes, every_type_size_tail_and_order_gives_the_same_bits) {
  const auto check = [](const PackingShape& s) {
    SCOPED_TRACE(std::string(s.type) + " " + std::to_string(s.rows) + "x" + std::to_string(s.columns) + " by " +
                 std::to_string(s.panel) + (s.rows_outside ? "" : " columns outside"));
    expect_same_bits(packing(s), 1);
  };
  for (const auto& [rows, columns, panel] : {std::tuple<int64_t, int64_t, int64_t>{37, 53, 14},
                                             {32, 64, 16},
                                             {5, 4, 5},
                                             {64, 17, 32},
                                             {7, 31, 4},
                                             {40, 16, 20},
                                             {3, 9, 3}})
    for (bool rows_outside : {true, false}) check({"f32", rows, columns, panel, rows_outside, rows % 3});
  for (const char* type : {"f64", "i32", "f16", "bf16", "u8"}) {
    check({type, 37, 53, 14, true, 1});
    check({type, 40, 33, 20, false, 0});
  }
}

/// Groups of `group` neighbours stay together: P[.., c / group, r, c % group] = A[r, c], as a tile instruction wants
/// its transposed operand.
LoopNest groups(const std::string& type, int64_t group, int64_t rows, int64_t columns) {
  const std::string r = std::to_string(rows), c = std::to_string(columns), g = std::to_string(group),
                    a = type + "[" + r + ", " + c + "] argument align 1";
  return parsed(
      "nest 1 groups class strict\nloops t, c, r, q, i, j\nbuffer A: " + a + "\nbuffer Y: " + a +
      " output\nbuffer P: " + type + "[" + r + ", " + c + "] heap layout [0:" + std::to_string((rows + 15) / 16) +
      ", 1:" + std::to_string((columns + group - 1) / group) + ", 0:16, 1:" + g +
      "] align 64\narguments A, Y\nbody {\n  alloc P {\nfor t in 0 .. " + r + " step 16 {\nfor c in 0 .. " + c +
      " step " + g + " {\nfor r in 0 .. min(16, -t + " + r + ") {\nfor q in 0 .. min(" + g + ", -c + " + c +
      ") vector 16 {\ncopy P[t + r, c + q] <- A[t + r, c + q] else 0:" + type + "\n}\n}\n}\n}\nfor i in 0 .. " + r +
      " {\nfor j in 0 .. " + c + " {\ncopy Y[i, j] <- P[i, j] else 0:" + type + "\n}\n}\n}\n}\n");
}

TEST(Transposes, groups_of_neighbours_turn_as_one) {
  for (const auto& [type, group] : {std::pair<const char*, int64_t>{"bf16", 2}, {"i8", 4}, {"u8", 4}, {"f16", 2}})
    for (const auto& [rows, columns] :
         {std::pair<int64_t, int64_t>{16, 64}, {32, 128}, {48, 192}, {17, 64}, {16, 70}, {5, 3}}) {
      SCOPED_TRACE(std::string(type) + " " + std::to_string(rows) + "x" + std::to_string(columns));
      expect_same_bits(groups(type, group, rows, columns), 1);
    }
}

TEST(Transposes, rows_are_transposed_by_shuffles) {
  for (bool rows_outside : {true, false}) {
    auto text = targets::llvm_text(packing({.rows_outside = rows_outside}), runnable_targets().front(), "turn");
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_NE(text->find("shufflevector"), std::string::npos);
  }
}

TEST(Transposes, copies_along_the_order_of_memory_are_left_alone) {
  // The result's dense index is the source's too.
  const LoopNest nest = parsed(R"(nest 1 straight class strict
loops r, c
buffer A: f32[16, 16] argument align 4
buffer Y: f32[16, 16] argument align 4 output
arguments A, Y
body {
  for r in 0 .. 16 {
    for c in 0 .. 16 {
      copy Y[r, c] <- A[r, c] else 0:f32
    }
  }
}
)");
  auto text = targets::llvm_text(nest, runnable_targets().front(), "straight");
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(text->find("shufflevector"), std::string::npos);
  expect_same_bits(nest, 1);
}

TEST(Transposes, overlapping_results_keep_their_order) {
  // Y[3 * c + r] is written by several iterations: the last one counts.
  expect_same_bits(parsed(R"(nest 1 overlapping class strict
loops r, c
buffer A: f32[8, 20] argument align 4
buffer Y: f32[65] argument align 4 output
arguments A, Y
body {
  for r in 0 .. 8 {
    for c in 0 .. 20 {
      copy Y[3*c + r] <- A[r, c] else 0:f32
    }
  }
}
)"),
                   2);
}

}  // namespace
}  // namespace polyweft::targets_test
