// Corners of bands that random traces found (tests/random): steps that were refused without a reason, or took what the
// checker then refuted.
#include "bands_harness.h"

namespace polyweft::test {
namespace {

const char* kDown =
    "program down(N = 9)\nin X: f64[N]\nlet A[i: N]: f64 = X[i] + (A[i + 2] where i + 2 < N else 0.0) + (A[i + 1] "
    "where i + 1 < N else 0.0)\nout Y = A[0]\n";

TEST(BandCorners, a_fold_takes_the_direction_that_the_order_has) {
  const Program program = normalized_program(kDown);
  for (const char* fold : {"fold A d0 mod 3\n", "fold A d0 mod 3 down\n"})
    expect_right(program, std::string("band b [i] of A: [-i]\n") + fold);
  EXPECT_NE(refusal(program, "band b [i] of A: [-i]\nfold A d0 mod 1\n").find("PW03"), std::string::npos);
}

const char* kSkewless =
    "program s(N = 4, M = 5)\nin X: f64[M]\nlet A[0, i: M] = X[i]\nlet A[t: 1..N, i: M]: f64 = X[i] + (A[t-1, i+1] "
    "where i + 1 < M else 0.0)\nout Y[i: M] = A[N-1, i]\n";

/// A[0] is needed by both sweeps and A[1] needs them: a tensor that is read before and made after, by equations of its
/// own.
TEST(BandCorners, planes_of_a_tensor_stand_before_and_after_a_band) {
  const Program program = normalized_program(
      "program p(N = 12)\nin X: f64[N]\nlet A[0, i: N] = 2.0 * X[i]\nlet u[i: N]: f64 = A[0, i] + (u[i-1] where i >= 1 "
      "else 0)"
      "\nlet d[i: N]: f64 = A[0, i] + (d[i+1] where i < N - 1 else 0)\nlet A[1, i: N] = u[i] + d[i]\nout Y[i: N] = "
      "A[1, i]\n");
  const std::string sweeps = "band up [i] of u: [i]\nband down [i] of d: [-i]\n";
  expect_right(program, sweeps);
  EXPECT_NE(refusal(program, "band up [i] of u: [i]\nfold u d0 mod 2\nband down [i] of d: [-i]\n")
                .find("is read after the band"),
            std::string::npos);
  expect_right(program,
               "band all [s, i] of A@1: [0, i], u: [0, i], d: [1, N - i], A@2: [1, N - i + 1]\nfold A d0 mod 1\nfold d "
               "d0 mod 2 down\nstore A in Y\n");
}

/// What is in a band has an equation of its own; readers of its elements still come after it when another band is made.
/// A1 where 2*i >= 5 has no element, so that only a test by equations sees an order (seed 26 of RandomRecurrences).
TEST(BandCorners, readers_of_a_band_stay_behind_it) {
  const Program program = normalized_program(
      "program r(N = 3)\n"
      "in X: i32[N]\n"
      "let A0[i: N]: i32 where i == 2*(i // 2) = clamp(min[q: i where q >= 0 and N > q and i + q == 2*((i + q) // 2)] "
      "A0[q], -9, 9)\n"
      "let A0[i: N]: i32 where i == 2*(i // 2) + 1 = X[i]\n"
      "let A1[i: N]: i32 where 2*i < 5 = X[i] + (A1[0] where i > 0 and N > 0 else -3) - (A2[0] where i > 0 and N > 0 "
      "else -1)\n"
      "let A1[i: N]: i32 where 2*i >= 5 = max(X[i], clamp(min[q: i where q >= 0 and N > q and i + q == 2*((i + q) // "
      "2)] A2[q], -9, 9) where 2*i == 3*((2*i) // 3) + 1 "
      "else -3) + ((A1[i - 1] where i > 0 and N >= i else -1) where i != 3 else 2)\n"
      "let A2[i: N]: i32 = X[i] + (A2[i - 3] where i >= 3 and N + 2 >= i else 1) - (A1[i // 2] where i > 0 and i // 2 "
      ">= 0 and N > i // 2 else 3) - (A2[i - 3] where i "
      ">= 3 and N + 2 >= i else 5)\n"
      "out Y[i: N]: i32 = A2[i]\n"
      "out Z[i: N]: i32 = A0[i]\n");
  expect_right(program,
               "band band1 [i] of A1@1: [i], A2: [i]\nband band2 [q, i, sum] of A0@2: [i, i, i], A0.1: [q, i, i], "
               "A0@1: [i, i, i]\n",
               NumericsClass::strict);
}

/// Parts of a statement that stands before a band's frame: the band's numbers of stages move, whatever comes between.
TEST(BandCorners, statements_before_a_band_are_split) {
  const Program program = normalized_program(
      "program p(N = 9)\nin X: f64[N]\nout Z[j: 2*N] = X[j // 2]\nlet A[i: N]: f64 = Z[2*i] + (A[i-1] where i >= 1 "
      "else 0)\nout Y[i: N] = A[i]\n"
      "out B[i: N]: f64 = X[i] + (B[i-1] where i >= 1 else 1)\n");
  const std::string bands = "band a [i] of A: [i]\nband b [i] of B: [i]\n";
  for (const char* split :
       {"index_set_split Z j mod 2\n", "index_set_split Z j mod 3\n", "index_set_split Z j at 4, 7\n"}) {
    expect_right(program, bands + split);
    expect_right(program, bands + split + "tile a [i: 4]\nunroll Y i\ntile b [i: 2]\nfold A d0 mod 9\n");
    expect_right(program, "band b [i] of B: [i]\n" + std::string(split) + "band a [i] of A: [i]\ntile b [i: 2]\n");
  }
}

/// The relation of A runs backwards along i, which one tile of all its values does not change.
TEST(BandCorners, a_tile_of_all_values_reorders_nothing) {
  const Program program = normalized_program(kSkewless);
  const std::string band = "band s [t, i] of A@2: [t, i]\n";
  expect_right(program, band + "tile s [t: 2, i: 5]\n");
  expect_right(program, band + "tile s [i: 8]\npermute s [i.1, t, i]\n");
  EXPECT_NE(refusal(program, band + "tile s [t: 2, i: 4]\n").find("PW0305"), std::string::npos);
}

/// Tiles of 2 around tiles of 3 are rounded up to tiles of 3: rows at distance 2 may be in one of them.
TEST(BandCorners, a_loop_carries_what_its_rounded_step_does) {
  const Program program = normalized_program(
      "program s(N = 9)\nin X: f64[N]\nlet A[i: N]: f64 = X[i] + (A[i - 2] where i >= 2 else 0.0)\nout Y[i: N] = "
      "A[i]\n");
  EXPECT_NE(refusal(program, "band b [i] of A: [i]\ntile b [i: 2]\nparallel b i\ntile b [i: 3]\n").find("PW0306"),
            std::string::npos);
  expect_right(program, "band b [i] of A: [i]\ntile b [i: 2]\nparallel b i\n");
}

/// i == 0 folds nothing, and its sum is 0 all the same.
TEST(BandCorners, elements_of_a_piece_that_folds_nothing_have_a_first_value) {
  const Program program = normalized_program(
      "program p(N = 5)\nin X: f64[N]\nlet A[i: N]: f64 = X[i] + (B[i - 1] where i > 0 else 1.0)\nlet B[i: N]: f64 = "
      "(sum[q: 0..i] A[q]) where i != 1 else 4.0\nout Y[i: "
      "N] = B[i]\n");
  expect_right(program, "band b [q, i] of A: [i, i], B.1: [q, i], B: [i, i]\n");
}

const char* kHalf =
    "program half(N = 6)\nin X: f64[N, N]\nlet A[j: N, i: N]: f64 = X[j, i] + (A[j // 2, (i + 1) % 6] where j > 0 else "
    "0.0)\nout Y[j: N, i: N] = A[j, i]\n";

/// At j == 0 nothing is read of row 0.
TEST(BandCorners, a_read_under_a_condition_meets_nobody_elsewhere) {
  const Program program = normalized_program(kHalf);
  expect_right(program, "band h [j, i] of A: [j, i]\nparallel h i\n");
  expect_right(program, "band h [j, i] of A: [j, i]\ndistribute h at j\nvectorize A i 4\n");
  EXPECT_NE(refusal(program, "band h [j, i] of A: [j, i]\nparallel h j\n").find("PW0306"), std::string::npos);
}

/// The box of what a triangle reads holds elements that are made later: the copy moves what nobody has written, and
/// nobody reads.
TEST(BandCorners, a_footprint_may_hold_what_is_not_made_yet) {
  const Program program = normalized_program(
      "program f(N = 6)\nin X: f64[N]\nlet A[i: N]: f64 = X[i] + sum[q: i + 1..N] A[q]\nout Y[i: N] = A[i]\n");
  expect_right(program, "band b [i] of A.1: [-i], A: [-i]\npromote A in A.1 at i heap\n");
}

/// Tiles in which a statement runs alone keep the loops around them.
TEST(BandCorners, loops_around_isolated_tiles_stay) {
  const Program program = normalized_program(kDown);
  const std::string isolated = "band b [i] of A: [-i]\ntile b [i: 3]\nisolate A in b at i where i + 6\n";
  EXPECT_NE(refusal(program, isolated + "distribute b at i.1\n").find("PW0304"), std::string::npos)
      << refusal(program, isolated + "distribute b at i.1\n");
}

/// Parts of an index are results of their own for rfactor alone, even where one value is all there is.
TEST(BandCorners, a_reduced_index_of_one_value_has_no_parallel_parts) {
  const Program program =
      normalized_program("program p(M = 3, K = 1)\nin A: f32[M, K]\nout y[i: M] = sum[k: K] A[i, k]\n");
  const auto nest = nest_of(program, "trace 1\naccumulate y at i heap\nrfactor y k in 4\nparallel y k in 2\n");
  ASSERT_FALSE(nest);
  EXPECT_EQ(nest.error().code, "PW0304");
}

TEST(BandCorners, what_has_no_elements_does_nothing_inside_another_nest) {
  const Program program = normalized_program(
      "program p(M = 2, N = 0) assume N >= 0\nin X: f32[M, N]\nout s[i: M]: f32 = sum[j: N] X[i, j]\nout Y[i: M, j: "
      "N]: f32 = X[i, j]\n");
  EXPECT_EQ(check_trace(program, "trace 1\nfuse Y into s at i\n"), "");
}

}  // namespace
}  // namespace polyweft::test
