// Sweeps along the lines of an array, lines as lanes: bands one after the other, windows of lines, both directions of a
// sweep.
#include "bands_harness.h"

namespace polyweft::test {
namespace {

std::string sweeps(int rows, int columns) {
  return "program sweeps(W = " + std::to_string(rows) + ", H = " + std::to_string(columns) +
         ")\nin X: f64[W, H]\nlet y1[i: W, j: H]: f64 = X[i, j] + (0.5 * y1[i, j-1] where j >= 1 else 0)\n"
         "let y2[i: W, j: H]: f64 = (0.5 * y2[i, j+1] + 0.25 * y2[i, j+2] where j+2 < H else X[i, j])\nlet m[i: W, j: "
         "H] = y1[i, j] + y2[i, j]\n"
         "let z1[i: W, j: H]: f64 = m[i, j] + (0.5 * z1[i-1, j] where i >= 1 else 0)\nlet z2[i: W, j: H]: f64 = m[i, "
         "j] + (0.5 * z2[i+1, j] where i+1 < W else 0)\n"
         "out Y[i: W, j: H] = z1[i, j] + z2[i, j]\n";
}

const char* kRowsBand = "band rows [x, s, y] of y1: [i, 0, j], y2: [i, 1, H - j], m: [i, 1, H - j]\n";
const char* kColumns = "band columns [x, s, y] of z1: [j, 0, i], z2: [j, 1, W - i], Y: [j, 1, W - i]\n";

TEST(Lines, blocks_of_lines_are_lanes_in_two_bands_with_windows_of_their_own) {
  const std::string rows =
      std::string(kRowsBand) +
      "fold y1 d0 mod 4 ; fold y2 d0 mod 4 ; fold y2 d1 mod 4 down\nstore y1 [d1, d0] ; store y2 [d1, d0]\n"
      "tile rows [x: 4] ; permute rows [s, y, x] ; distribute rows at y\nvectorize y1 x 4 ; vectorize y2 x 4 ; "
      "vectorize m x 4\n";
  const std::string columns = std::string(kColumns) +
                              "fold z1 d1 mod 4 ; fold z2 d1 mod 4 ; fold z2 d0 mod 2 down\n"
                              "tile columns [x: 4] ; permute columns [s, y, x] ; distribute columns at y\nvectorize z1 "
                              "x 4 ; vectorize z2 x 4 ; vectorize Y x 4\n";
  for (auto [w, h] : {std::pair{8, 8}, {5, 11}, {3, 2}, {13, 6}})
    expect_right(normalized_program(sweeps(w, h)), rows + columns);
}

TEST(Lines, a_window_that_the_other_band_still_needs_is_refused) {
  const Program program = normalized_program(sweeps(8, 8));
  EXPECT_NE(refusal(program, std::string(kRowsBand) + "fold m d0 mod 4\n" + kColumns).find("PW0323"),
            std::string::npos);
  EXPECT_NE(refusal(program, std::string(kRowsBand) + kColumns + "fold m d0 mod 4\n").find("PW0323"),
            std::string::npos);
  EXPECT_NE(
      refusal(program, std::string(kRowsBand) + "fold y1 d0 mod 4\ntile rows [s: 1, x: 8]\n" + kColumns).find("PW0305"),
      std::string::npos);
}

// Sweeps along columns and along rows in each step of time. u lies by columns: blocks of columns are copied to rows,
// v's block back to columns.
TEST(Lines, blocks_of_columns_make_one_direction_whole_and_the_other_up_to_the_next_block) {
  const auto program = [](int steps, int n) {
    return normalized_program("program turns(T = " + std::to_string(steps) + ", N = " + std::to_string(n) +
                              ")\nin X: f64[N, N]\nlet u[0, i: N, j: N] = X[i, j]\n"
                              "let v[t: 1..T+1, i: N, j: N]: f64 = u[t-1, i, j] + (0.5 * u[t-1, i, j-1] where j >= 1 "
                              "else 0) + (0.25 * v[t, i-1, j] where i >= 1 else 0)\n"
                              "let h[t: 1..T+1, i: N, j: N]: f64 = v[t, i, j] - (0.5 * v[t, i+1, j] where i+1 < N else "
                              "0) + (0.25 * h[t, i, j-1] where j >= 1 else 0)\n"
                              "let u[t: 1..T+1, i: N, j: N] = h[t, i, j] + (0.5 * u[t, i, j+1] where j+1 < N else "
                              "0)\nout Y[i: N, j: N] = u[T, i, j]\n");
  };
  const std::string steps =
      "band turns [t, d, x, s, y] of v: [t, 0, j, 0, i], h: [t, 0, j, 1, i], u@2: [t, 1, N - j, 0, i]\n"
      "fold u d0 mod 1 ; fold v d0 mod 1 ; fold h d0 mod 1 ; fold v d2 mod 8\nstore u [d0, d2, d1] ; store h [d0, d2, "
      "d1]\n"
      "tile turns [t: 1, d: 1, x: 8] ; permute turns [t, d, s, y, x] ; distribute turns at s\n"
      "tile v [y: 4] ; permute v [y.1, y, x] ; tile h [y: 6] ; permute h [y.1, x, y] ; permute u@2 [x, y]\n"
      "promote u in v at y.1 stack layout [d0, d1, d2] ; promote v in h at y.1 stack layout [d0, d2, d1]\n"
      "vectorize v x 8 ; vectorize h y 8 ; vectorize u@2 y 8\n";
  for (int n : {19, 16, 5}) expect_right(program(3, n), steps);
  // Both copies read along what is contiguous.
  const Program small = program(2, 16);
  const auto t = replayed(small, steps);
  ASSERT_TRUE(t.ok()) << described(t.error());
  const auto nest = instantiate(*t, values_of(t->trace));
  ASSERT_TRUE(nest.ok()) << described(nest.error());
  const std::string text = print(*nest);
  for (const auto& [copy, innermost] : {std::pair{"copy u.p", "for c1"}, {"copy v.p", "for c2"}}) {
    const size_t at = text.find(copy), loop = text.rfind("for ", at);
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_EQ(text.compare(loop, std::string(innermost).size(), innermost), 0) << text;
  }
}

}  // namespace
}  // namespace polyweft::test
