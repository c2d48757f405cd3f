// Lines asked for ahead, and stores past the caches: once each, and the bits of the interpreter.
#include <gtest/gtest.h>

#include "targets/count_of.h"
#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

const char* const kRowsShareAVector = R"(nest 1 rows class strict
loops i0, v0, k, i1, v1, i2, v2
buffer A: f32[4, 8] argument align 4
buffer B: f32[8, 32] argument align 4
buffer C: f32[4, 32] argument align 4 output
buffer acc: f32[4, 32] reg align 64
arguments A, B, C
body {
  alloc acc {
    for i0 in 0 .. 4 unroll {
      for v0 in 0 .. 32 vector 32 {
        compute 0(i0, v0) init sum: acc[i0, v0]
      }
    }
    for k in 0 .. 8 {
      for i1 in 0 .. 4 unroll {
        for v1 in 0 .. 32 vector 32 prefetch B[2, 0] {
          compute 0(i1, v1, k) accumulate sum: acc[i1, v1] <- (A[i1, k] * B[k, v1])
        }
      }
    }
    for i2 in 0 .. 4 unroll {
      for v2 in 0 .. 32 vector 32 {
        copy C[i2, v2] <- acc[i2, v2]
      }
    }
  }
}
)";

const char* const kTapsOfEverySecondColumn = R"(nest 1 halves class strict
loops i, x, v
buffer X: f32[8, 256] argument align 4
buffer Y: f32[6, 112] argument align 4 output
arguments X, Y
body {
  for i in 0 .. 6 {
    for x in 0 .. 112 step 16 {
      for v in 0 .. 16 vector 16 prefetch X[2, 0] {
        compute 0(i, x + v) store: Y[i, x + v] <- ((X[i, 2*x + 2*v] + X[i, 2*x + 2*v + 1]) + X[i, 2*x + 2*v + 2])
      }
    }
  }
}
)";

const char* const kSumsPassTheCaches = R"(nest 1 rows class strict
loops i, r0, v0, k, r1, v1, r2, v2
buffer A: f32[6, 8] argument align 4
buffer B: f32[8, 16] argument align 4
buffer C: f32[6, 16] argument align 4 output
buffer acc: f32[2, 16] reg align 64
arguments A, B, C
body {
  for i in 0 .. 6 step 2 {
    alloc acc {
      for r0 in 0 .. 2 unroll {
        for v0 in 0 .. 16 vector 16 {
          compute 0(i + r0, v0) init sum: acc[r0, v0]
        }
      }
      for k in 0 .. 8 {
        for r1 in 0 .. 2 unroll {
          for v1 in 0 .. 16 vector 16 {
            compute 0(i + r1, v1, k) accumulate sum: acc[r1, v1] <- (A[i + r1, k] * B[k, v1])
          }
        }
      }
      for r2 in 0 .. 2 unroll {
        for v2 in 0 .. 16 vector 16 non_temporal {
          copy C[i + r2, v2] <- acc[r2, v2]
        }
      }
    }
  }
}
)";

const char* const kTranspositionPassesTheCaches = R"(nest 1 turned class strict
loops i1, j1, i, j
buffer X: f32[35, 48] argument align 4
buffer Y: f32[48, 48] argument align 4 output
arguments X, Y
body {
  for j1 in 0 .. 35 step 16 {
    for i1 in 0 .. 48 step 16 {
      for i in 0 .. 16 {
        for j in 0 .. min(16, -j1 + 35) serial non_temporal {
          compute 0(i1 + i, j1 + j) store: Y[i1 + i, j1 + j] <- X[j1 + j, i1 + i]
        }
      }
    }
  }
}
)";

TEST(Lines, bits_of_the_interpreter) {
  for (const char* text :
       {kRowsShareAVector, kTapsOfEverySecondColumn, kSumsPassTheCaches, kTranspositionPassesTheCaches}) {
    const LoopNest nest = parsed(text);
    SCOPED_TRACE(nest.name);
    expect_same_bits(nest, 4);
  }
}

// Four rows of a block read the same two lines: each is asked for once, in each of the four iterations that are written
// as one.
TEST(Lines, rows_of_a_block_ask_for_a_line_once) {
  auto code = targets::assembly_text(parsed(kRowsShareAVector), *find_target("x86-64-v4"));
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(count_of("prefetcht0", *code), 8u);
}

// The two lines in which the lanes of three taps lie.
TEST(Lines, taps_of_every_second_column_ask_for_lines_once) {
  auto code = targets::assembly_text(parsed(kTapsOfEverySecondColumn), *find_target("x86-64-v4"));
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(count_of("prefetcht0", *code), 2u) << *code;
}

// Two rows of one line, each as a store past the caches where the output begins on a line and as a plain one where it
// does not.
TEST(Lines, sums_pass_the_caches_behind_their_loop) {
  auto code = targets::assembly_text(parsed(kSumsPassTheCaches), *find_target("x86-64-v4"));
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(count_of("vmovntps", *code), 2u) << *code;
}

}  // namespace
}  // namespace polyweft::targets_test
