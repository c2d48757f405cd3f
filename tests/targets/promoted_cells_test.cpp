// Cells that an innermost loop does not move stay in registers while it runs: the bits of the interpreter, and no
// stores inside where nothing else looks at the buffer.
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/passes/passes.h"
#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

/// X -> A, in place by `body`, -> Y.
LoopNest in_place(const std::string& body, const std::string& type = "f64") {
  const std::string of = ": " + type + "[12, 40] ";
  return parsed(
      "nest 1 p class strict\nloops a, b, c, d, i, j, k, r, v\nbuffer X" + of + "argument align " +
      (type == "f64" ? "8" : "4") + "\nbuffer A" + of + "heap align 64\nbuffer Y" + of + "argument align " +
      (type == "f64" ? "8" : "4") +
      " output\narguments X, Y\nbody { alloc A {\nfor a in 0 .. 12 { for b in 0 .. 40 { copy A[a, b] <- X[a, b] } }\n" +
      body + "\nfor c in 0 .. 12 { for d in 0 .. 40 { copy Y[c, d] <- A[c, d] } }\n} }\n");
}

bool keeps(const LoopNest& nest) {
  const LoopNest made = ir::run_passes(nest, {});
  return std::any_of(made.buffers.begin(), made.buffers.end(),
                     [](const Buffer& buffer) { return buffer.scope == Scope::reg; });
}

void expect(const std::string& body, bool kept, const std::string& type = "f64") {
  SCOPED_TRACE(body);
  const LoopNest nest = in_place(body, type);
  expect_same_bits(nest);
  EXPECT_EQ(keeps(nest), kept);
}

TEST(PromotedCells, vectors_rows_and_scalars_that_the_loop_does_not_move) {
  expect(
      "for i in 0 .. 12 { for k in 0 .. 30 { for v in 0 .. 8 vector 8 { compute 0(i, v) store: A[i, v] <- (A[i, v] + "
      "X[i, k]) } } }",
      true);
  expect(
      "for i in 0 .. 12 step 3 { for k in 0 .. 30 { for r in 0 .. 3 unroll { for v in 8 .. 16 vector 8 { compute 0(i, "
      "v) store: A[i + r, v] <- min(A[i + r, v], "
      "(X[i + r, k] + X[i, k + 1])) } } } }",
      true, "i32");
  expect(
      "for i in 0 .. 12 { for j in 0 .. 40 { for k in 0 .. 30 { compute 0(i, j) store: A[i, j] <- ((A[i, j] * 0.5:f64) "
      "+ X[i, k]) } } }",
      true);
}

TEST(PromotedCells, loops_that_may_not_run_leave_memory_alone) {
  expect(
      "for i in 0 .. 12 { for j in 0 .. 40 { for k in 5 .. i { compute 0(i, j) store: A[i, j] <- (A[i, j] + X[i, k]) } "
      "} }",
      true);
}

TEST(PromotedCells, cells_that_follow_each_other_and_two_stores_to_one) {
  expect(
      "for i in 0 .. 11 { for k in 0 .. 7 { for v in 0 .. 8 vector 8 { compute 0(i, v) store: A[i, v] <- (A[i, v] + "
      "A[i + 1, v])\ncompute 1(i, v) store: A[i + 1, v] <- "
      "(A[i + 1, v] - "
      "X[i, k]) } } }",
      true);
  expect(
      "for i in 0 .. 11 { for j in 0 .. 20 { for k in 0 .. 7 { compute 0(i, j) store: A[i, j] <- A[i, j + 20]\ncompute "
      "1(i, j) store: A[i, j + 20] <- (X[i, k] - X[i, "
      "j]) } } }",
      false);  // one is not read
}

TEST(PromotedCells, what_meets_others_stays_in_memory) {
  expect(
      "for i in 0 .. 12 { for k in 0 .. 30 { for r in 0 .. 2 unroll { for v in 0 .. 8 vector 8 { compute 0(i, v) "
      "store: A[i, 4*r + v] <- (A[i, 4*r + v] + X[i, k]) } } } "
      "}",
      false);
  expect(
      "for i in 0 .. 12 { for k in 0 .. 30 { for v in 0 .. 8 vector 8 { compute 0(i, v) store: A[i, v] <- (A[i, v] + "
      "A[i, k + 8]) } } }",
      false);
  expect(
      "for i in 0 .. 12 { for k in 0 .. 30 { for v in 0 .. min(8, i) vector 8 { compute 0(i, v) store: A[i, v] <- "
      "(A[i, v] + X[i, k]) } } }",
      false);
}

}  // namespace
}  // namespace polyweft::targets_test
