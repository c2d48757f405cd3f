// Bands: recurrences in skewed, tiled, folded, distributed loops, before all judges: evaluator, interpreter, tags,
// checker.
#include "bands_harness.h"
#include "schedules/queries.h"
#include "schedules/steps.h"

namespace polyweft::test {
namespace {

std::string heat(int steps, int cells) {
  return "program heat(T = " + std::to_string(steps) + ", N = " + std::to_string(cells) +
         ")\nin X: f32[N]\nlet A[0, i: N] = X[i]\nlet A[t: 1..T+1, i: 1..N-1] = 0.5 * A[t-1, i] + 0.25 * (A[t-1, i-1] "
         "+ A[t-1, i+1])\n"
         "let A[t: 1..T+1, i: N] where i == 0 or i == N-1 = 0.5 * A[t-1, i] + X[i]\nout Y[i: N] = A[T, i]\n";
}
const char* kHeat = "band heat [t, i] of A@2: [t, i + t], A@3: [t, i + t]\n";

TEST(Bands, a_skewed_band_is_right_at_every_size) {
  for (int steps : {1, 4})
    for (int cells : {1, 3, 4, 13}) {
      Program program = normalized_program(heat(steps, cells));
      expect_right(program, kHeat);
      expect_right(program, std::string(kHeat) + "tile heat [t: 2, i: 4]\n");
      expect_right(program, std::string(kHeat) + "fold A d0 mod 2\ntile heat [t: 3, i: 5]\n");
      expect_right(program, std::string(kHeat) +
                                "fold A d0 mod 2\ntile heat [t: 3, i: 8]\ndistribute heat at t\nvectorize A@2 i 4\n");
    }
}

TEST(Bands, skew_shift_and_reverse_make_the_same_band) {
  Program program = normalized_program(heat(4, 12));
  expect_right(program, "band heat [t, i] of A@2: [t, i], A@3: [t, i]\nskew heat i by t\ntile heat [t: 2, i: 4]\n");
  expect_right(
      program,
      "band heat [t, i] of A@2: [t, i], A@3: [t, i]\nreverse heat i\nskew heat i by 2*t\ntile heat [t: 2, i: 4]\n");
  expect_right(program, "band heat [t, i] of A@2: [t, i], A@3: [t, i]\nshift A@3.p1 i by 3\nskew heat i by 5*t\n");
}

TEST(Bands, what_reverses_a_relation_is_refused_with_its_distances) {
  Program program = normalized_program(heat(4, 12));
  EXPECT_NE(refusal(program, "band heat [i, t] of A@2: [i, t], A@3: [i, t]\n").find("PW0305"), std::string::npos);
  EXPECT_NE(refusal(program, "band heat [t, i] of A@2: [t, i], A@3: [t, i]\ntile heat [t: 2, i: 4]\n").find("PW0305"),
            std::string::npos);
  EXPECT_NE(refusal(program, std::string(kHeat) + "tile heat [t: 2, i: 4]\nparallel heat i.1\n").find("PW0306"),
            std::string::npos);
  EXPECT_NE(refusal(program, std::string(kHeat) + "fold A d0 mod 1\ntile heat [t: 2, i: 4]\n").find("PW0305"),
            std::string::npos);
  EXPECT_NE(refusal(program, "tile A@2 [t: 2]\n").find("PW0321"), std::string::npos);
}

const char* kJacobi =
    "program jacobi(T = 5, N = 11)\nin A0: f64[N, N]\nin B0: f64[N, N]\nlet A[0, i: N, j: N] = A0[i, j]\n"
    "let B[t: 1..T+1, i: 1..N-1, j: 1..N-1] = 0.2 * (A[t-1, i, j] + A[t-1, i, j-1] + A[t-1, i, j+1] + A[t-1, i+1, j] + "
    "A[t-1, i-1, j])\n"
    "let B[t: 1..T+1, i: N, j: N] where i == 0 or i == N-1 or j == 0 or j == N-1 = B0[i, j]\n"
    "let A[t: 1..T+1, i: 1..N-1, j: 1..N-1] = 0.2 * (B[t, i, j] + B[t, i, j-1] + B[t, i, j+1] + B[t, i+1, j] + B[t, "
    "i-1, j])\n"
    "let A[t: 1..T+1, i: N, j: N] where i == 0 or i == N-1 or j == 0 or j == N-1 = A0[i, j]\n"
    "out A_out[i: N, j: N] = A[T, i, j]\n";
const char* kJacobiBand =
    "band jacobi [t, i, j] of B: [t, i + 2*t, j + 2*t], A@2: [t, i + 2*t + 1, j + 2*t + 1], A@3: [t, i + 2*t + 1, j + "
    "2*t + 1]\n"
    "fold A d0 mod 1\nfold B d0 mod 1\n";

TEST(Bands, jacobi_in_two_planes_and_time_tiles) {
  Program program = normalized_program(kJacobi);
  expect_right(program, kJacobiBand);
  expect_right(program, std::string(kJacobiBand) +
                            "tile jacobi [t: 2, j: 8]\npermute jacobi [i, t]\ndistribute jacobi at t\nvectorize B@1 j "
                            "4\nvectorize A@2 j 4\n");
  expect_right(program, std::string(kJacobiBand) +
                            "tile jacobi [t: 3, j: 8, i: 2]\npermute jacobi [t.1, j.1, i.1, t]\ndistribute jacobi at "
                            "t\nvectorize B@1 j 4\nvectorize A@2 j 4\n"
                            "permute B@1 [j, i]\npermute A@2 [j, i]\nunroll B@1 i\nunroll A@2 i\n");
}

// Statements whose conditions were cut into pieces: no border has an instance where a row, at one time, lies inside.
TEST(Bands, rows_without_borders_are_apart_at_each_time_of_a_tile) {
  Program program = normalized_program(kJacobi);
  const std::string tiles =
      std::string(kJacobiBand) + "tile jacobi [t: 3, j: 4, i: 2]\npermute jacobi [t.1, j.1, i.1, t]\n";
  const std::string inside =
      "isolate B@1, A@2 in jacobi at t where i - 2*t - 2, 9 - i + 2*t, j - 2*t - 2, 9 - j + 2*t\n";
  expect_right(program, tiles + inside +
                            "distribute jacobi at t\nvectorize B@1 j 4\nvectorize A@2 j 4\npermute B@1.far [j, "
                            "i]\nvectorize B@1.far j 4\nunroll B@1.far i\n"
                            "permute A@2.far [j, i]\nvectorize A@2.far j 4\nunroll A@2.far i\n");
  const auto by_parameter = replayed(
      program,
      tiles + "isolate B@1, A@2 in jacobi at t where i - 2*t - 2, N - 2 - i + 2*t, j - 2*t - 2, N - 2 - j + 2*t\n");
  const auto by_number = replayed(program, tiles + inside);
  ASSERT_TRUE(by_parameter.ok() && by_number.ok()) << described(by_parameter.error());
  EXPECT_EQ(print(*instantiate(*by_parameter, {})), print(*instantiate(*by_number, {})));
  EXPECT_NE(refusal(program, tiles + "isolate B@1, A@2 in jacobi at t where M - i\n").find("PW0303"),
            std::string::npos);
  EXPECT_NE(
      refusal(program,
              tiles + "isolate B@1, A@2 in jacobi at t where i - 2*t - 1, 9 - i + 2*t, j - 2*t - 2, 9 - j + 2*t\n")
          .find("A@3.p1 may have instances"),
      std::string::npos);
}

// Rows of vectors begin on lines of the cache, also where their member is skewed by whole lines.
TEST(Bands, skewed_rows_begin_on_lines) {
  std::string text = kJacobi;
  text.replace(text.find("N = 11"), 6, "N = 70");
  Program program = normalized_program(text);
  auto t = replayed(program,
                    "band jacobi [t, i, j] of B: [t, i + 2*t, j + 16*t], A@2: [t, i + 2*t + 1, j + 16*t + 8], A@3: [t, "
                    "i + 2*t + 1, j + 16*t + 8]\n"
                    "fold A d0 mod 1\nfold B d0 mod 1\ndistribute jacobi at i\nvectorize B@1 j 8\nvectorize A@2 j 8\n");
  ASSERT_TRUE(t.ok()) << described(t.error());
  auto nest = instantiate(*t, values_of(t->trace));
  ASSERT_TRUE(nest.ok()) << described(nest.error());
  for (const Buffer& buffer : nest->buffers)
    if (buffer.name == "A" || buffer.name == "B") {
      EXPECT_EQ(buffer.element.back(), Affine::variable(kCellVar + 2) + Affine::of(-7))
          << print(*nest);  // column 1 is the eighth cell
    }
}

const char* kSeidel =
    "program seidel(T = 5, N = 14)\nin A0: f64[N, N]\nlet A[0, i: N, j: N] = A0[i, j]\n"
    "let A[t: 1..T+1, i: 1..N-1, j: 1..N-1] = (A[t, i-1, j-1] + A[t, i-1, j] + A[t, i-1, j+1] + A[t, i, j-1] + A[t-1, "
    "i, j]\n"
    "  + A[t-1, i, j+1] + A[t-1, i+1, j-1] + A[t-1, i+1, j] + A[t-1, i+1, j+1]) / 9.0\n"
    "let A[t: 1..T+1, i: N, j: N] where i == 0 or i == N-1 or j == 0 or j == N-1 = A[t-1, i, j]\nout A_out[i: N, j: N] "
    "= A[T, i, j]\n";

TEST(Bands, seidel_runs_lanes_along_skewed_rows_in_skewed_cells) {
  Program program = normalized_program(kSeidel);
  const std::string band =
      "band seidel [t, j, i] of A@2: [t, j + 2*i + 3*t, i], A@3: [t, j + 2*i + 3*t, i]\nfold A d0 mod 1\n";
  expect_right(program, band +
                            "store A [d0, d2 + 2*d1, d1]\ntile seidel [t: 3]\npermute seidel [j, t]\ndistribute seidel "
                            "at t\nvectorize A@2 i 4\n");
  expect_right(program,
               "band seidel [t, i, j] of A@2: [t, i + t, j + i + 2*t], A@3: [t, i + t, j + i + 2*t]\nfold A d0 mod "
               "1\ntile seidel [t: 2, i: 4, j: 8]\n");
  EXPECT_NE(refusal(program, "store A [d0, 2*d1, d2]\n").find("PW0308"), std::string::npos);
  EXPECT_NE(refusal(program, "store A [d0 + d1, d1, d2]\n" + band).find("PW0308"), std::string::npos);
}

// Two rows of blocks of four: a column of a block lies beside the next column of that block.
TEST(Bands, skewed_cells_lie_in_blocks_of_rows) {
  Program program = normalized_program(kSeidel);
  const std::string band =
      "band seidel [t, j, i] of A@2: [t, j + 2*i + 4*t, i + 4*t], A@3: [t, j + 2*i + 4*t, i + 4*t]\nfold A d0 mod 1\n";
  const std::string store = "store A [d0, d2 + 2*d1, d1] layout [c0, c2 / 4, c1, c2 % 4]\n";
  expect_right(program, band + store +
                            "tile seidel [t: 2, i: 4, j: 8]\npermute seidel [t.1, i.1, j.1, j, t]\ndistribute seidel "
                            "at t\nvectorize A@2 i 4\n");
  auto t = replayed(program, band + store);
  ASSERT_TRUE(t.ok()) << described(t.error());
  auto nest = instantiate(*t, values_of(t->trace));
  ASSERT_TRUE(nest.ok()) << described(nest.error());
  EXPECT_NE(print(*nest).find("layout [0:1, 2:4, 1:40, 2:4]"), std::string::npos) << print(*nest);
  auto ahead = replayed(program, band + store +
                                     "tile seidel [t: 2, i: 4, j: 8]\npermute seidel [t.1, i.1, j.1, j, t]\ndistribute "
                                     "seidel at t\nvectorize A@2 i 4\nprefetch A in A@2 along j by 3\n");
  ASSERT_TRUE(ahead.ok()) << described(ahead.error());
  nest = instantiate(*ahead, values_of(ahead->trace));
  ASSERT_TRUE(nest.ok()) << described(nest.error());
  EXPECT_NE(print(*nest).find("prefetch A[0, 3, 0]"), std::string::npos) << print(*nest);  // in cells
  EXPECT_NE(refusal(program, "store A [d0, d2 + 2*d1, d1] layout [c0, c2 / 4, c1]\n").find("PW0308"),
            std::string::npos);
  EXPECT_NE(refusal(program, "store A [d0, d2 + 2*d1, d1] layout [c0, c2 / 4, c1, c2 % 8]\n").find("PW0308"),
            std::string::npos);
  EXPECT_NE(refusal(program, "store A [d0, d2 + 2*d1, d1] layout [c0, d1, c2]\n").find("PW0303"), std::string::npos);
}

// The rows of Pascal's triangle along anti-diagonals: three of them are kept, in cells that are skewed alike.
TEST(Bands, folds_along_skewed_cells_keep_a_few_diagonals) {
  const Program program = normalized_program(
      "program paths(M = 7, N = 9)\nin a: f32[M]\nin b: f32[N]\nlet H[0, j: N+1] = 0.0\nlet H[i: 1..M+1, 0] = 0.0\n"
      "let H[i: 1..M+1, j: 1..N+1] = max(H[i-1, j-1] + a[i-1] * b[j-1], max(H[i-1, j], H[i, j-1]) - 1.0)\nout best = "
      "H[M, N]\n");
  const std::string band = "band paths [d, j] of H@1: [j, j], H@2: [i, 0], H@3: [i + j, j]\n",
                    cells = "store H [d0 + d1, d1]\n";
  for (const char* fold : {"fold H c0 mod 3\n", "fold H c0 mod 4\n"}) {
    expect_right(program, band + cells + fold);
    expect_right(program, band + cells + fold + "distribute paths at d\nvectorize H@3 j 4\n");
  }
  EXPECT_NE(refusal(program, band + cells + "fold H c0 mod 2\n").find("PW0305"), std::string::npos);
  EXPECT_NE(refusal(program, band + cells + "fold H c0 mod 1\n").find("PW0305"), std::string::npos);
  EXPECT_NE(refusal(program, band + "fold H c0 mod 3\n").find("PW0304"), std::string::npos);
  EXPECT_NE(refusal(program, band + cells + "fold H c2 mod 3\n").find("PW0303"), std::string::npos);
  EXPECT_NE(refusal(program, band + cells + "fold H c0 mod 3\nfold H c0 mod 4\n").find("PW0304"), std::string::npos);
  EXPECT_NE(refusal(program, band + cells + "fold H c0 mod 3\nfold H d1 mod 9\n").find("PW0304"), std::string::npos);
}

TEST(Bands, a_wavefront_of_tiles_runs_at_once) {
  Program program = normalized_program(kSeidel, {{"T", 3}, {"N", 8}});
  const std::string band =
      "band seidel [t, i, j] of A@2: [t, i + t, j + i + 2*t], A@3: [t, i + t, j + i + 2*t]\nfold A d0 mod 1\n";
  expect_right(program, band + "tile seidel [t: 2, i: 4, j: 8]\nwavefront seidel [t.1, i.1]\n");
  expect_right(program, band + "tile seidel [t: 2, i: 5, j: 7]\nwavefront seidel [t.1, i.1, j.1]\n");
  expect_right(
      program,
      band + "tile seidel [t: 2, i: 4, j: 8]\nwavefront seidel [i.1, j.1]\n");  // of one time block after the other
  EXPECT_NE(refusal(program, band + "tile seidel [t: 2, i: 4, j: 8]\nwavefront seidel [t.1, j.1]\n").find("PW0304"),
            std::string::npos);
  EXPECT_NE(refusal(program, band + "tile seidel [t: 2, i: 4, j: 8]\nwavefront seidel [i.1, t.1]\n").find("PW0304"),
            std::string::npos);
  EXPECT_NE(refusal(program,
                    "band seidel [t, i, j] of A@2: [t, i, j], A@3: [t, i, j]\ntile seidel [t: 2, i: 4]\nwavefront "
                    "seidel [t.1, i.1]\n")
                .find("PW030"),
            std::string::npos);
}

TEST(Bands, loops_of_a_wavefront_keep_their_places) {
  Program program = normalized_program(kSeidel, {{"T", 3}, {"N", 8}});
  const std::string waves =
      "band seidel [t, i, j] of A@2: [t, i + t, j + i + 2*t], A@3: [t, i + t, j + i + 2*t]\nfold A d0 mod 1\n"
      "tile seidel [t: 2, i: 4, j: 8]\nwavefront seidel [t.1, i.1]\n";
  for (const char* step : {"permute seidel [i.1, t.1]\n", "permute seidel [j.1, i.1]\n",
                           "permute seidel [i.1, j.1, i, j, t.1, t]\n"}) {
    const std::string said = refusal(program, waves + step);
    EXPECT_NE(said.find("PW0304"), std::string::npos) << step << said;
  }
  EXPECT_NE(refusal(program, waves + "permute seidel [j.1, i.1]\n").find("loops of a wavefront keep their places"),
            std::string::npos);
  expect_right(program, waves + "permute seidel [j, i]\n");
}

TEST(Bands, time_blocks_are_pipelined_over_parts) {
  // A block of a part starts when the block before it has left the part, and its own has left the parts before: waves
  // of (t.1, i.1), with tiles inside a part.
  for (int64_t cells : {4, 13, 31}) {
    Program program = normalized_program(heat(7, static_cast<int>(cells)));
    expect_right(program,
                 std::string(kHeat) + "fold A d0 mod 2\ntile heat [t: 2, i: 12, i: 4]\nwavefront heat [t.1, i.1]\n");
    expect_right(program, std::string(kHeat) +
                              "fold A d0 mod 2\ntile heat [t: 3, i: 16, i: 8]\nwavefront heat [t.1, i.1]\ndistribute "
                              "heat at t\nvectorize A@2 i 4\n");
  }
  Program plane = normalized_program(kJacobi);
  expect_right(plane, std::string(kJacobiBand) +
                          "tile jacobi [t: 2, i: 8, j: 6]\nwavefront jacobi [t.1, i.1]\ndistribute jacobi at "
                          "t\nvectorize B@1 j 4\nvectorize A@2 j 4\n");
}

const char* kCholesky =
    "program cholesky(N = 9)\nin A: f64[N, N]\nlet L[j: N, j] = sqrt(A[j, j] + 100 - sum[k: 0..j] L[j, k] * L[j, k])\n"
    "let L[i: N, j: 0..i] = (A[i, j] - sum[k: 0..j] L[i, k] * L[j, k]) / L[j, j]\nout partial R[i: N, j: 0..i+1] = "
    "L[i, j]\n";

TEST(Bands, cholesky_with_its_sums_as_statements) {
  Program program = normalized_program(kCholesky);
  std::string names;
  for (const Equation& e : program.equations) names += program.tensors[e.targets[0]].name + " ";
  SCOPED_TRACE(names);
  const std::string band =
      "band cholesky [k, i, j] of L.1: [k, j, j], L@1: [j, j, j], L.2: [k, i, j], L@2: [j, i, j]\n";
  expect_right(program, band);
  for (const char* sizes : {"k: 2, i: 2, j: 2", "k: 3, i: 2, j: 4", "k: 4, i: 4, j: 4"})
    expect_right(program, band + "tile cholesky [" + sizes + "]\n");
  const std::string apart = band +
                            "tile cholesky [k: 2, i: 4, j: 2]\npermute cholesky [k.1, j.1, i.1]\nisolate L.1, L.2 in "
                            "cholesky at i.1 where j - k - 1\n";
  expect_right(program, apart);
  expect_right(program, apart +
                            "tile L.2.far [j: 2, i: 2]\npromote L read 2 in L.2.far at root heap layout [d1, "
                            "d0]\naccumulate L.2.far at i.1 reg\nunroll L.2.far "
                            "i\nvectorize L.2.far j 2\n");
  EXPECT_NE(
      refusal(program, band + "tile cholesky [k: 2, i: 4, j: 2]\nisolate L.2 in cholesky at j.1 where j - k - 1\n")
          .find("PW0306"),
      std::string::npos);
}

// Two layers of a recurrent network: what a layer's input contributes is one product ahead of its steps, in each step
// the sums of all units run at once.
TEST(Bands, sums_of_a_step_run_at_once_and_those_that_wait_for_nothing_are_one_product) {
  const Program program = normalized_program(
      "program layers(L = 2, T = 3, H = 5)\nin X: f32[T, H]\nin W: f32[L, H, H]\nin U: f32[L, H, H]\nlet h[0, t: "
      "1..T+1, k: H] = X[t-1, k]\n"
      "let h[l: 1..L+1, 0, k: H] = 0.0\nlet h[l: 1..L+1, t: 1..T+1, k: H] = (sum[q: H] W[l-1, k, q] * h[l-1, t, q]) + "
      "(sum[q: H] U[l-1, k, q] * h[l, t-1, q])\n"
      "out Y[t: T, k: H] = h[L, t+1, k]\n");
  const std::string band =
      "band layers [l, s, t, u, v, k] of h@2: [l, 0, 0, 0, 0, k], h.1: [l, 1, 0, 0, t, k], h.2: [l, 2, t, 0, 0, k], "
      "h@3: [l, 2, t, 1, 0, k]\n"
      "distribute layers at u\n";
  expect_right(program, band);
  expect_right(program, band +
                            "tile h.1 [v: 2, k: 2, q: 2]\npermute h.1 [k.1, v.1, q.1, v, k, q]\naccumulate h.1 at v.1 "
                            "reg\nunroll h.1 v\nunroll h.1 k\nvectorize h.1 q 2\n"
                            "parallel h.1 k.1\nparallel h.2 k\nparallel h@3 k\n");
  EXPECT_NE(refusal(program, band + "parallel h.2 q\n").find("PW0306"), std::string::npos);
  EXPECT_NE(refusal(program, band + "parallel h.2 t\n").find("PW030"), std::string::npos);
  EXPECT_NE(refusal(program, band + "parallel h.2 k in 2\n").find("PW0304"), std::string::npos);
  const Program chain = normalized_program(
      "program chain(T = 3, N = 6)\nin X: f32[N]\nlet A[0, i: N] = X[i]\nlet A[t: 1..T+1, 0] = X[0]\nlet A[t: 1..T+1, "
      "i: 1..N] = A[t-1, i] + A[t, i-1]\nout Y[i: N] = "
      "A[T, i]\n");
  EXPECT_NE(refusal(chain, "band chain [t, i] of A@2: [t, 0], A@3: [t, i]\ndistribute chain at t\nparallel A@3 i\n")
                .find("PW0306"),
            std::string::npos);
}

const char* kLu =
    "program lu(N = 9)\nin A0: f64[N, N]\nout A[i: N, j: i..N]: f64 = A0[i, j] + 9 - sum[k: 0..i] A[i, k] * A[k, j]\n"
    "out A[i: N, j: 0..i]: f64 = (A0[i, j] - sum[k: 0..j] A[i, k] * A[k, j]) / A[j, j]\n";
const char* kLuParts =
    "band lu [j, k, i] of A.1.first: [j, 0, i], A.2.first: [j, 0, i], A@1: [j, i, i], A@2: [j, j, i], A.1.folds: [j, "
    "k, i], A.2.folds: [j, k, i]\n";
const char* kCholeskyParts =
    "band cholesky [j, k, i] of L.1.first: [j, 0, j], L.2.first: [j, 0, i], L@1: [j, j, j], L@2: [j, j, i], L.1.folds: "
    "[j, k, j], L.2.folds: [j, k, i]\n";

TEST(Bands, first_values_and_folds_of_a_sum_are_two_statements) {
  Program program = normalized_program(kLu, {{"N", 7}});
  const std::string band = kLuParts;
  expect_right(program, band);
  expect_right(program, band, NumericsClass::strict);
  for (const char* sizes : {"j: 4, k: 4, i: 4", "j: 16, k: 2, i: 3"}) {
    expect_right(program, band + "tile lu [" + sizes + "]\n");
    const std::string apart =
        band + "tile lu [" + sizes + "]\npermute lu [j.1, k.1, i.1, k, j, i]\ndistribute lu at k\n";
    expect_right(program, apart);
    expect_right(program, apart +
                              "permute A.1.folds [i, j]\nvectorize A.1.folds j 4\npermute A.2.folds [i, j]\nvectorize "
                              "A.2.folds j 4\nvectorize A@1 j 4\nvectorize A.1.first j 4\n");
  }
}

TEST(Bands, a_panel_of_sums_keeps_its_cells) {
  Program program = normalized_program(kLu);
  const std::string panels =
      std::string(kLuParts) +
      "fold A.1 d1 mod 4\nfold A.2 d1 mod 4\ntile lu [j: 4, k: 4, i: 4]\npermute lu [j.1, k.1, i.1, k, j, i]\n";
  expect_right(program, panels + "distribute lu at k\n");
  const std::string apart = panels +
                            "isolate A.1.first, A.2.first, A.1.folds, A.2.folds in lu at i.1 where j - k - 1, i - k - "
                            "1\ndistribute lu at k\npermute A.1.folds [i, "
                            "j]\nvectorize A.1.folds j 4\n";
  expect_right(program, apart);
  expect_right(program, apart +
                            "tile A.2.folds.far [j: 2, i: 2]\npermute A.2.folds.far [j.1, i.1, k, i, j]\naccumulate "
                            "A.2.folds.far at i.1 reg\nunroll A.2.folds.far i\n"
                            "vectorize A.2.folds.far j 2\n");
}

TEST(Bands, right_looking_cholesky_by_panels) {
  Program program = normalized_program(kCholesky);
  const std::string band = kCholeskyParts;
  expect_right(program, band);
  for (const char* sizes : {"j: 2, k: 2, i: 3"})
    expect_right(program, band + "tile cholesky [" + sizes +
                              "]\npermute cholesky [j.1, k.1, i.1, k, j, i]\ndistribute cholesky at k\npermute "
                              "L.2.folds [i, j]\nvectorize L.2.folds j 4\n");
  expect_right(
      program,
      band +
          "tile cholesky [j: 4, k: 4, i: 4]\npermute cholesky [j.1, k.1, i.1, k, j, i]\nisolate L.1.first, L.2.first, "
          "L.1.folds, L.2.folds in cholesky "
          "at k.1 where j - k - 1\n"
          "distribute cholesky at k\ntile L.2.folds.far [j: 4, i: 2]\npermute L.2.folds.far [j.1, i.1, k, i, j]\n"
          "promote L read 2 in L.2.folds.far at root heap layout [d0 / 4, d1, d0 % 4]\naccumulate L.2.folds.far at i.1 "
          "reg\nunroll L.2.folds.far "
          "i\nvectorize L.2.folds.far j 4\n");
}

TEST(Bands, tiles_are_isolated_at_two_levels) {
  Program program = normalized_program(kCholesky);
  const std::string folds = "L.1.first, L.2.first, L.1.folds, L.2.folds";
  const std::string tiles = std::string(kCholeskyParts) +
                            "fold L.2 d1 mod 4\ntile cholesky [j: 4, k: 4, i: 4, j: 2, k: 2]\npermute cholesky [j.1, "
                            "k.1, i.1, j.2, k.2, k, j, i]\n";
  const std::string outer = "isolate " + folds + " in cholesky at k.1 where j - k - 1\n",
                    inner = "isolate " + folds + " in cholesky at k.2 where j - k - 1\n";
  expect_right(
      program,
      tiles + outer + inner +
          "distribute cholesky at k\npermute L.2.folds [i, j]\nvectorize L.2.folds j 2\n"
          "tile L.2.folds.far [j: 4, i: 2]\npermute L.2.folds.far [i.1, j.1, k, i, j]\naccumulate L.2.folds.far at j.1 "
          "reg\nunroll L.2.folds.far i\n"
          "vectorize L.2.folds.far j 2\n"
          "tile L.2.folds.far2 [j: 2, i: 2]\npermute L.2.folds.far2 [i.1, j.1, k, i, j]\npromote L read 2 in "
          "L.2.folds.far2 at root stack layout [d1, "
          "d0]\naccumulate L.2.folds.far2 at j.1 reg\nunroll L.2.folds.far2 i\nvectorize L.2.folds.far2 j 2\n");
  EXPECT_NE(refusal(program, tiles + inner + outer).find("isolate the largest tiles first"), std::string::npos);
  EXPECT_NE(refusal(program, tiles + outer + outer).find("PW0304"), std::string::npos);
}

TEST(Bands, parts_of_a_sum_are_refused_with_their_reasons) {
  Program program = normalized_program(kLu);
  const std::string rest = ", A.2: [j, k, i], A@1: [j, i, i], A@2: [j, j, i]\n", head = "band lu [j, k, i] of ";
  EXPECT_NE(refusal(program, head + "A.1.first: [j, 0, i]" + rest)
                .find("PW0304 band lu: A.1.first is named without A.1.folds"),
            std::string::npos);
  EXPECT_NE(refusal(program, head + "A.1.folds: [j, k, i]" + rest)
                .find("PW0304 band lu: A.1.folds is named without A.1.first"),
            std::string::npos);
  EXPECT_NE(refusal(program, head + "A.1: [j, k, i], A.1.first: [j, 0, i], A.1.folds: [j, k, i]" + rest)
                .find("PW0304 band lu: A.1 is named whole and by its parts"),
            std::string::npos);
  EXPECT_NE(
      refusal(program, head + "A@1.first: [j, i, i]" + rest).find("PW0304 band lu: A@1 folds nothing and has no parts"),
      std::string::npos);
  EXPECT_NE(refusal(program, head + "A.1.first: [j, k, i], A.1.folds: [j, k, i]" + rest)
                .find("PW0303 band lu, A.1.first: there is no index 'k'"),
            std::string::npos);
  const std::string late = refusal(program, head + "A.1.folds: [j, k, i], A.1.first: [j, 0, i]" + rest);
  EXPECT_NE(late.find("PW0305"), std::string::npos) << late;
  EXPECT_NE(late.find("flow of A.1 from A.1.first to A.1.folds needs the one before the other"), std::string::npos)
      << late;
  const std::string after = refusal(program, head + "A.1.first: [j, 1, i], A.1.folds: [j, k, i]" + rest);
  EXPECT_NE(after.find("PW0305"), std::string::npos) << after;
  EXPECT_NE(after.find("the first value of A.1[i=1, j=1] must run before A.1[i=1, j=1, k=0]"), std::string::npos)
      << after;
  const std::string whole =
      "band lu [j, k, i] of A.1: [j, k, i], A.2: [j, k, i], A@1: [j, i, i], A@2: [j, j, i]\ntile lu [j: 4, k: 4, i: "
      "4]\npermute lu [j.1, k.1, i.1, k, j, i]\n";
  EXPECT_NE(refusal(program, whole + "distribute lu at k\n").find("PW0305"), std::string::npos);
  const std::string parts =
      std::string(kLuParts) + "tile lu [j: 4, k: 4, i: 4]\npermute lu [j.1, k.1, i.1, k, j, i]\ndistribute lu at k\n";
  EXPECT_NE(refusal(program, parts + "accumulate A.1.first at root reg\n").find("PW0308"), std::string::npos);
}

}  // namespace
}  // namespace polyweft::test
