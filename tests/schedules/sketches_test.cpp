// Every sketch of every example without a recurrence computes what the evaluator computes, at small odd sizes and
// several decisions.
#include "schedules/sketches/sketches.h"

#include <array>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "harness.h"
#include "machines.h"
#include "poly/check/checker.h"
#include "samples.h"
#include "support/rng.h"

namespace polyweft::test {
namespace {

std::string slurp(const std::string& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

struct Example {
  const char* file;
  std::map<std::string, int64_t> sizes;
};

const Example kExamples[] = {
    {"01_gemm", {{"M", 19}, {"N", 37}, {"K", 23}}},
    {"02_batched_gemm", {{"B", 2}, {"M", 9}, {"N", 21}, {"K", 7}}},
    {"03_conv2d_bias_relu", {{"H", 5}, {"W", 7}, {"C", 3}, {"F", 18}}},
    {"04_depthwise_pointwise", {{"H", 5}, {"W", 6}, {"C", 9}, {"F", 17}}},
    {"05_softmax", {{"M", 5}, {"N", 37}}},
    {"06_layernorm", {{"M", 5}, {"N", 37}}},
    {"07_attention", {{"H", 2}, {"G", 1}, {"S", 13}, {"D", 9}}},
    {"13_unsharp", {{"H", 9}, {"W", 21}}},
    {"14_quantized_gemm", {{"M", 7}, {"N", 21}, {"K", 10}}},
    {"15_harris", {{"H", 9}, {"W", 37}}},
};

constexpr const char* kGroupedConv =
    "program conv(H = 9)\nin X: f32[H, 9, 12]\nconst in W: f32[3, 3, 6, 32]\n"
    "out Y[y: H, x: 9, f: 32] = sum[r: 3, s: 3, c: 6 where 0 <= y + r - 1 < H and 0 <= x + s - 1 < 9] X[y + r - 1, x + "
    "s - 1, f // 16 * 6 + c] * W[r, s, c, f]\n";

/// Each trace's nest computes the program, and its text has nothing of this form.
void expect_right_nests(const Program& program, const std::vector<Trace>& traces, const char* unwanted,
                        const char* what) {
  for (const Trace& trace : traces) {
    auto t = schedules::replay(program, NumericsClass::reassoc, trace);
    ASSERT_TRUE(t.ok()) << described(t.error());
    auto nest = instantiate(*t, values_of(t->trace));
    ASSERT_TRUE(nest.ok()) << described(nest.error());
    EXPECT_EQ(difference(program, *nest, 5, ir::DataKind::random), "") << trace.text();
    EXPECT_FALSE(std::regex_search(print(*nest), std::regex(unwanted))) << what << ":\n" << print(*nest);
  }
}

// Tiles of lanes divide a group, so that the group is one value a tile; every tap at the border is a block of constant
// size.
TEST(GroupedSketches, vectorize_grouped_convolutions_and_split_their_taps) {
  Program program = normalized_program(kGroupedConv);
  auto traces =
      schedules::sketches(program, NumericsClass::reassoc, machine_with(32, 16, {1 << 10, 8 << 10, 64 << 10}, 1));
  const std::string first = traces.front().text();
  EXPECT_NE(first.find("vectorize Y f 8"), std::string::npos) << first;
  EXPECT_NE(first.find("split Y s at 1, 2"), std::string::npos) << first;
  EXPECT_NE(first.find("prefetch W in Y along c by "), std::string::npos)
      << first;  // larger than an eighth of the second cache
  expect_right_nests(program, traces, "floor\\([^/]*f\\.v", "a quotient changes from lane to lane");
}

/// Depthwise: lanes run across channels, in the taps too.
std::string depthwise(int size, int kernel, int stride, int pad) {
  const std::string st = std::to_string(stride), k = std::to_string(kernel), p = std::to_string(pad),
                    in = std::to_string(size);
  const std::string y = st + " * y + t - " + p, x = st + " * x + r - " + p,
                    out = std::to_string((size + 2 * pad - kernel) / stride + 1);
  return "program depthwise(N = 2)\nin X: f32[N, " + in + ", " + in + ", 32]\nconst in W: f32[" + k + ", " + k +
         ", 32]\nout Y[n: N, y: " + out + ", x: " + out + ", f: 32] = sum[t: " + k + ", r: " + k + " where 0 <= " + y +
         " < " + in + " and 0 <= " + x + " < " + in + "] X[n, " + y + ", " + x + ", f] * W[t, r, f]\n";
}

// All taps and some columns of a depthwise convolution are straight code, and no condition is left: borders are loops
// of their own.
TEST(TapSketches, write_out_the_taps_of_depthwise_convolutions) {
  for (auto [size, kernel, stride, pad] :
       {std::array{13, 3, 1, 1}, {9, 3, 2, 1}, {7, 3, 1, 1}, {12, 5, 1, 2}, {10, 3, 1, 0}}) {
    Program program = normalized_program(depthwise(size, kernel, stride, pad));
    auto traces =
        schedules::sketches(program, NumericsClass::reassoc, machine_with(64, 32, {1 << 12, 16 << 10, 64 << 20}, 1));
    const std::string text = traces.front().text();
    EXPECT_NE(text.find("unroll Y t, r, x"), std::string::npos) << text;
    EXPECT_NE(text.find("stream Y"), std::string::npos) << text;
    expect_right_nests(program, traces, "if [^{]*(\\by\\b|x\\.1)", "a border is tested where the code runs");
  }
}

constexpr const char* kClampedStencil =
    "program stencil(H = 11, W = 85)\nin X: f32[H, W]\nin k: f32[3, 3]\nlet P[y: -1..H+1, x: -1..W+1] = X[clamp(y, 0, "
    "H-1), clamp(x, 0, W-1)]\n"
    "let C[y: H, x: W] = sum[r: 3, s: 3] P[y + r - 1, x + s - 1] * k[r, s]\nlet D[y: 2..H-2, x: W] = sum[r: 5] C[y + r "
    "- 2, x] * k[0, 1]\n"
    "out Y[y: 2..H-2, x: W] = D[y, x] - C[y, x]\n";

/// All sketches of a program at their first decisions compute what the evaluator computes; their texts.
std::string checked_sketches(const Program& program) {
  auto traces =
      schedules::sketches(program, NumericsClass::reassoc, machine_with(64, 32, {48 << 10, 2 << 20, 32 << 20}, 1));
  std::string texts;
  for (const Trace& trace : traces) {
    auto t = schedules::replay(program, NumericsClass::reassoc, trace);
    EXPECT_TRUE(t.ok()) << trace.text();
    if (!t) continue;
    auto nest = instantiate(*t, values_of(t->trace));
    EXPECT_TRUE(nest.ok()) << trace.text();
    if (!nest) continue;
    EXPECT_EQ(difference(program, *nest, 7, ir::DataKind::random), "") << trace.text() << print(*nest);
    texts += trace.text();
  }
  return texts;
}

// A depthwise convolution runs inside the product that reads it, by tiles of columns and by rows; its window is the
// product's tile.
TEST(ChainSketches, run_a_stencil_inside_the_product_that_reads_it) {
  for (const int size : {13, 9}) {
    const std::string n = std::to_string(size);
    Program program = normalized_program("program chain(H = " + n + ", W = " + n +
                                         ")\nin X: f32[H, W, 32]\nin D: f32[3, 3, 32]\nin K: f32[32, 64]\nlet T[y: H, "
                                         "x: W, c: 32] = sum[r: 3, s: 3 where 0 <= y+r-1 < H and "
                                         "0 <= x+s-1 < W] X[y+r-1, x+s-1, c] * D[r, s, c]\nout Y[y: H, x: W, f: 64] = "
                                         "sum[c: 32] T[y, x, c] * K[c, f]\n");
    const std::string texts = checked_sketches(program);
    EXPECT_NE(texts.find("compute_at T in Y at x.1 heap"), std::string::npos) << texts;
    EXPECT_NE(texts.find("compute_at T in Y at y heap"), std::string::npos) << texts;
    EXPECT_EQ(texts.find("stream Y"), std::string::npos) << texts;
    // Where no cache holds the images the product is stored past them, and rows that come from memory are asked for.
    std::string large;
    for (const Trace& trace :
         schedules::sketches(program, NumericsClass::reassoc, machine_with(64, 32, {1 << 10, 2 << 10, 4 << 10}, 1)))
      large += trace.text() + "\n";
    EXPECT_NE(large.find("stream Y"), std::string::npos) << large;
    EXPECT_NE(large.find("prefetch X in T along y by 2"), std::string::npos) << large;
  }
}

// Padding by clamps is not copied: the row is split where the clamp begins to act, and is dense in the middle. Rows of
// a producer that several rows of the reader need are computed in each strip.
TEST(RowSketches, fuse_stencils_by_rows_and_split_at_clamps) {
  const std::string text = checked_sketches(normalized_program(kClampedStencil));
  EXPECT_NE(text.find("inline P"), std::string::npos) << text;
  EXPECT_NE(text.find("split C x.1 at 1, 84"), std::string::npos) << text;
  EXPECT_NE(text.find("compute_at C in Y at y.1 heap"), std::string::npos) << text;
  EXPECT_NE(text.find("compute_at D in Y at x.1 reg"), std::string::npos) << text;
}

// A separable filter whose second half waits in its reader's registers: the first half stands there too, columns at the
// border apart in whole blocks of the reader, and the reader asks for rows that the taps have not reached.
TEST(RowSketches, keep_both_halves_of_a_separable_filter_in_registers) {
  const std::string text =
      checked_sketches(normalized_program("program sharpen(H = 40, W = 200)\nin X: f32[H, W]\nlet P[y: -1..H + 1, x: "
                                          "-2..W + 2] = X[clamp(y, 0, H - 1), clamp(x, 0, W - 1)]\n"
                                          "let C[y: H, x: -2..W + 2] = sum[r: 3] P[y + r - 1, x] * P[y + r - 1, "
                                          "x]\nlet D[y: H, x: W] = sum[s: 5] C[y, x + s - 2] * C[y, x + s - 2]\n"
                                          "out Y[y: H, x: W] = 3 * X[y, x] - D[y, x]\n"));
  EXPECT_NE(text.find("compute_at D in Y at x.1 reg"), std::string::npos) << text;
  EXPECT_NE(text.find("compute_at C in Y at x.1 reg"), std::string::npos) << text;
  EXPECT_NE(text.find("split Y x.1 at 64, 192"), std::string::npos) << text;
  EXPECT_NE(text.find("permute Y [y.1, x.1, y, x]"), std::string::npos)
      << text;  // four rows share what their sums load
  EXPECT_NE(text.find("prefetch X in Y along y by 5"), std::string::npos) << text;
}

// Columns of a host at a time: rows of a producer with a border begin before a column's first vector. What comes before
// is a vector of its own, the others lie where they lie in the middle of the image, in memory too.
TEST(RowSketches, vectors_of_a_column_lie_as_in_whole_rows) {
  const Program program = normalized_program(
      "program sharpen(H = 5, W = 512)\nin X: f32[H, W]\nlet P[y: -1..H + 1, x: -3..W + 3] = X[clamp(y, 0, H - 1), "
      "clamp(x, 0, W - 1)]\n"
      "let C[y: H, x: -3..W + 3] = sum[r: 3] P[y + r - 1, x]\nout Y[y: H, x: W] = sum[s: 7] C[y, x + s - 3]\n");
  for (const char* columns : {"128", "64", "96"}) {
    const std::string trace = "trace 1\ninline P\ntile Y [x: " + std::string(columns) +
                              ", x: 16]\npermute Y [x.1, y, x.2, s, x]\naccumulate Y at x.2 reg\nsplit Y x.1 at " +
                              columns +
                              ", 384\ncompute_at C in Y at y heap\nunroll Y s\nvectorize Y x 16\ntile C [x: "
                              "32]\npermute C [y, x.1, r, x]\naccumulate C at x.1 reg\n"
                              "split C x.1 at 0, 512\nunroll C r\nvectorize C x 16\n";
    auto nest = nest_of(program, trace);
    ASSERT_TRUE(nest.ok()) << described(nest.error());
    EXPECT_EQ(difference(program, *nest, 7, ir::DataKind::random), "") << trace << print(*nest);
    expect_equal_tags(program, *nest, NumericsClass::reassoc, trace);
    EXPECT_EQ(poly::check_nest(program, *nest).verdict, Verdict::proven) << trace;
    const std::string text = print(*nest);
    EXPECT_NE(text.find("heap align 64 tensor 2 element [y@2 + $0, $1 - 16]"), std::string::npos) << text;
    // In the middle: three elements, then blocks from a multiple of 16 on.
    EXPECT_NE(text.find("f32[1, 16] reg align 64 tensor 2 element [y@25 + $0, x.1@24 + $1 + " +
                        std::to_string(std::atoi(columns) - 3) + "]"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("f32[1, 32] reg align 64 tensor 2 element [y@25 + $0, x.1@24 + x.1@30 + $1 + " +
                        std::string(columns) + "]"),
              std::string::npos)
        << text;
  }
}

// A chain of stencils keeps the rows that are read again in rings; what is read point by point needs none, and a chain
// that shares no rows has no such sketch.
TEST(WindowSketches, keep_rows_of_producers_that_several_rows_read) {
  const std::string text =
      checked_sketches(normalized_program("program chain(H = 9, W = 37)\nin X: f32[H + 4, W]\nlet A[y: H + 4, x: W] = "
                                          "X[y, x] * X[y, x] + X[y, x] / (X[y, x] + 3)\n"
                                          "let B[y: H + 2, x: W] = sum[r: 3] A[y + r, x] * A[y + 2 - r, x]\nlet C[y: "
                                          "H, x: W] = sum[r: 3] B[y + r, x] * B[y + r, x]\n"
                                          "let D[y: H, x: W] = exp(B[y + 1, x]) * B[y + 1, x] + B[y + 1, x] / 5\nout "
                                          "Y[y: H, x: W] = C[y, x] * D[y, x] * D[y, x] - D[y, x] / C[y, x]\n"));
  EXPECT_NE(text.find("compute_at B in Y at y.1 heap slide"), std::string::npos) << text;
  EXPECT_NE(text.find("compute_at A in Y at y.1 heap slide"), std::string::npos) << text;
  EXPECT_EQ(text.find("compute_at D in Y at y.1 heap slide"), std::string::npos) << text;
  EXPECT_NE(text.find("compute_at C in Y at x.2 reg"), std::string::npos) << text;
  const std::string apart =
      checked_sketches(normalized_program("program rows(H = 9, W = 37)\nin X: f32[H, W]\nlet s[y: H] = sum[x: W] X[y, "
                                          "x]\nlet e[y: H, x: W] = exp(X[y, x]) - s[y]\nout "
                                          "Y[y: H, x: W] = e[y, x] * e[y, x] * s[y]\n"));
  EXPECT_EQ(apart.find("slide"), std::string::npos) << apart;
}

// Planes that share all that is made for them run inside its rows, written out; rings that a cache holds are not cut in
// columns.
TEST(WindowSketches, make_once_what_planes_share) {
  const std::string program =
      ")\nin X: f32[3, H, W]\nlet G[y: H, x: W] = X[0, y, x] + 2 * X[1, y, x] * X[1, y, x] + X[2, y, x]\nlet B[y: H - "
      "2, x: W] = sum[r: 3] G[y + r, x] * "
      "G[y + r, x]\nout Y[k: ";
  const std::string few = checked_sketches(
      normalized_program("program few(H = 9, W = 37" + program + "3, y: H - 2, x: W] = X[k, y, x] / B[y, x]\n"));
  EXPECT_NE(few.find("permute Y [x.1, y.1, y, x.2, k, x]"), std::string::npos) << few;
  EXPECT_NE(few.find("compute_at B in Y at x.2 reg"), std::string::npos) << few;
  EXPECT_NE(few.find("unroll Y k"), std::string::npos) << few;
  EXPECT_EQ(few.find("column"), std::string::npos) << few;
  const std::string many = checked_sketches(normalized_program("program many(H = 9, W = 37" + program +
                                                               "9, y: H - 2, x: W] = X[0, y, x] / B[y, x] + f32(k)\n"));
  EXPECT_EQ(many.find("unroll Y k"), std::string::npos) << many;
}

// Separable stencils one after the other: the sums of columns wait in registers beside the row that reads their
// neighbours, of attached stages and of the host; padding is cut off.
TEST(WindowSketches, keep_sums_of_columns_in_registers) {
  const std::string text =
      checked_sketches(normalized_program("program blurs(H = 9, W = 170)\nin X: i32[H, W]\nlet P[y: -2..H + 2, x: "
                                          "-2..W + 2] = X[clamp(y, 0, H - 1), clamp(x, 0, W - 1)]\n"
                                          "let S[y: -1..H + 1, x: -1..W + 1] = sum[r: 3, s: 3] P[y + r - 1, x + s - "
                                          "1]\nout Y[y: H, x: W] = sum[r: 3, s: 3] S[y + r - 1, x + s - 1]\n"));
  EXPECT_NE(text.find("compute_at Y.1 in Y at x.2 reg"), std::string::npos) << text;
  EXPECT_NE(text.find("compute_at S in Y at y.1 heap slide"), std::string::npos) << text;
  EXPECT_NE(text.find("split S x.1 at 1, 169"), std::string::npos) << text;
  EXPECT_NE(text.find("compute_at S.1 in S at x.1 reg"), std::string::npos) << text;
}

// What cannot follow the last stage row by row is a host itself; a stencil as host keeps its sum in registers.
TEST(WindowSketches, have_several_hosts) {
  const std::string text = checked_sketches(
      normalized_program("program halves(H = 13, W = 70)\nin X: f32[H, W]\nlet R[y: H, x: W // 2] = sum[s: 2] X[y, 2*x "
                         "+ s]\nout G[y: H // 2 - 1, x: W // 2] = sum[r: 4] R[2*y + r, x] * "
                         "R[2*y + r, x]\n"
                         "let S[y: H // 2 - 1, x: W // 2 - 2] = sum[s: 3] G[y, x + s]\nout Y[y: H // 2 - 3, x: W // 2 "
                         "- 2] = S[y, x] * S[y + 1, x] - S[y + 2, x] / S[y, x]\n"));
  EXPECT_NE(text.find("compute_at R in G at y.1 heap slide"), std::string::npos) << text;
  EXPECT_NE(text.find("accumulate G at x.2 reg"), std::string::npos) << text;
  EXPECT_NE(text.find("compute_at S in Y at y.1 heap slide"), std::string::npos) << text;
  EXPECT_EQ(text.find("compute_at G"), std::string::npos) << text;
}

// A image drawn half as large and twice as large: lanes in rows, every second element and each one twice, borders
// apart.
TEST(StridedSketches, have_lanes_where_elements_lie_near) {
  const std::string small =
      checked_sketches(normalized_program("program small(H = 5, W = 75)\nin X: f32[H, W]\nout Y[y: H, x: (W + 1) // 2] "
                                          "= sum[s: 5] X[y, clamp(2*x + s - 2, 0, W - 1)]\n"));
  EXPECT_NE(small.find("split Y x.1 at 1, 37"), std::string::npos) << small;
  EXPECT_NE(small.find("vectorize Y x 16"), std::string::npos) << small;
  const std::string large = checked_sketches(
      normalized_program("program large(H = 5, W = 37)\nin X: f32[H, W]\nout Y[y: H, x: 2*W] = X[y, x // 2] * X[y, "
                         "clamp((x + 1) // 2, 0, W - 1)] + X[y, clamp((x - 1) // 2, 0, W - 1)]\n"));
  EXPECT_NE(large.find("split Y x.1 at 2, 73"), std::string::npos) << large;
  EXPECT_NE(large.find("vectorize Y x 16"), std::string::npos) << large;
  const std::string far = checked_sketches(
      normalized_program("program far(H = 5, W = 75)\nin X: f32[H, 3*W]\nout Y[y: H, x: W] = X[y, 3*x] + 1\n"));
  EXPECT_EQ(far.find("vectorize"), std::string::npos) << far;
}

// Where neighbours in memory are not neighbours in lanes, by quotients and clamps of remainders, lanes gather; what
// such a reader reads twice is not made again for each gather. Conditions on other indices leave the lanes whole,
// conditions on their own index do not.
TEST(GatheredSketches, have_lanes_whatever_the_places_but_not_under_conditions_of_their_own) {
  const std::string up = checked_sketches(normalized_program(
      "program up(H = 5, W = 37)\nin X: f32[H, W]\nlet a[y: 2*H, x: W] = 0.75 * X[y // 2, x] + 0.25 * X[clamp(y // 2 + "
      "2*(y % 2) - 1, 0, H-1), x]\n"
      "out Y[y: 2*H, x: 5*W] = 0.75 * a[y, x // 5] + 0.25 * a[y, clamp(x // 5 + 2*(x % 2) - 1, 0, W-1)]\n"));
  EXPECT_NE(up.find("vectorize Y x 16"), std::string::npos) << up;
  EXPECT_NE(up.find("vectorize a x 16"), std::string::npos) << up;
  EXPECT_EQ(up.find("inline a"), std::string::npos) << up;
  const std::string cyclic = checked_sketches(
      normalized_program("program cyclic(N = 75)\nin X: i32[N]\nout Y[i: N] = X[(3*i + 1) % N] - X[(i + 7) % N]\n"));
  EXPECT_NE(cyclic.find("vectorize Y i 16"), std::string::npos) << cyclic;
  const std::string rows = checked_sketches(
      normalized_program("program rows(H = 7, W = 75)\nin X: u8[H, W]\nout Y[c: 3, y: H, x: W] where y == c or y == 5 "
                         "= X[y, x]\nout Y[c: 3, y: H, x: W] where not (y == c or y == 5) = 3 * X[y, x]\n"));
  EXPECT_NE(rows.find("vectorize Y@2 x 64"), std::string::npos) << rows;
  const std::string columns = checked_sketches(
      normalized_program("program columns(H = 7, W = 75)\nin X: u8[H, W]\nout Y[y: H, x: W] where x == 0 or x == 2*y = "
                         "X[y, x]\nout Y[y: H, x: W] where not (x == 0 or x == 2*y) = 3 * X[y, x]\n"));
  EXPECT_EQ(columns.find("vectorize Y@1"), std::string::npos) << columns;
}

// Values from several places by turns: each class of residues is dense, and all are stored at one tile of the row; at
// all widths, proven. Divisors above 4 are gathered.
TEST(InterleavedSketches, take_classes_of_residues_together) {
  const std::string bilinear =
      "in X: f32[3, W]\nout Y[y: 3, x: 2*W] = 0.75 * X[y, x // 2] + 0.25 * X[y, clamp(x // 2 + 2*(x % 2) - 1, 0, "
      "W-1)]\n";
  const std::string shuffled = "in X: f32[9, 3, W]\nout Y[y: 9, x: 3*W] = X[y % 3 * 3 + x % 3, y // 3, x // 3]\n";
  const std::string mixed =
      "in X: f64[W]\nin Z: f64[2, W]\nout Y[x: 4*W] = X[x // 4] * Z[x % 2, x // 4] + X[clamp(x // 4 - x % 2, 0, "
      "W-1)]\n";
  const std::string fifths = "in X: f32[5, W]\nout Y[x: 5*W] = X[x % 5, x // 5]\n";
  for (const auto& [text, classes] : {std::pair(bilinear, 2), {shuffled, 3}, {mixed, 4}, {fifths, 0}})
    for (const int w : {17, 48, 75}) {
      const Program program = normalized_program("program p(W = " + std::to_string(w) + ")\n" + text);
      const std::string texts = checked_sketches(program);
      const bool is_split = texts.find("index_set_split Y x mod " + std::to_string(classes)) != std::string::npos;
      EXPECT_EQ(is_split, classes > 0) << texts;
      if (!is_split) continue;
      EXPECT_NE(texts.find("fuse Y.p" + std::to_string(classes) + " into Y.p1 at x.1"), std::string::npos) << texts;
      const auto trace =
          schedules::sketches(program, NumericsClass::reassoc, machine_with(64, 32, {48 << 10, 2 << 20, 32 << 20}, 1))
              .front();
      const auto nest = instantiate(*schedules::replay(program, NumericsClass::reassoc, trace), values_of(trace));
      ASSERT_TRUE(nest.ok()) << described(nest.error());
      EXPECT_EQ(poly::check_nest(program, *nest).verdict, Verdict::proven) << trace.text();
      for (const Trace& parallel : schedules::sketches(program, NumericsClass::reassoc,
                                                       machine_with(64, 32, {48 << 10, 2 << 20, 32 << 20}, 2))) {
        const auto parts =
            instantiate(*schedules::replay(program, NumericsClass::reassoc, parallel), values_of(parallel));
        ASSERT_TRUE(parts.ok()) << described(parts.error());
        EXPECT_EQ(difference(program, *parts, 7, ir::DataKind::random), "") << parallel.text();
      }
    }
}

// Borders with equations of their own become rows and columns without conditions, at any size; conditions on sums of
// indices stay.
TEST(BorderSketches, leave_no_condition_in_the_loops) {
  const std::string frame = "out Y[i: N, j: N] where i == 0 or i == N-1 or j == 0 or j == N-1 = X[i, j]\n";
  const std::string inside = "out Y[i: 1..N-1, j: 1..N-1] = 0.25 * (X[i-1, j] + X[i+1, j] + X[i, j-1] + X[i, j+1])\n";
  const std::string corner =
      "out Y[i: N, j: N] where i >= 2 and not (j == 5 or j < 2) = X[j, i]\nout Y[i: N, j: N] where i < 2 or j == 5 or "
      "j < 2 = 2.0 * X[i, j]\n";
  for (const std::string& text : {inside + frame, frame + inside, corner})
    for (const int n : {3, 7, 40}) {
      const Program program = normalized_program("program p(N = " + std::to_string(n) + ")\nin X: f32[N, N]\n" + text);
      const auto traces =
          schedules::sketches(program, NumericsClass::reassoc, machine_with(64, 32, {1 << 10, 8 << 10, 64 << 20}, 1));
      expect_right_nests(program, traces, "\\bif\\b", "a condition is left");
      const auto nest =
          instantiate(*schedules::replay(program, NumericsClass::reassoc, traces.front()), values_of(traces.front()));
      ASSERT_TRUE(nest.ok()) << described(nest.error());
      EXPECT_EQ(poly::check_nest(program, *nest).verdict, Verdict::proven) << traces.front().text();
      if (n == 40) EXPECT_NE(traces.front().text().find("index_set_split"), std::string::npos) << traces.front().text();
    }
  const std::string diagonal = checked_sketches(
      normalized_program("program p(N = 40)\nin X: f32[N, N]\nout Y[i: N, j: N] where i == j or i == 0 = X[i, j]\nout "
                         "Y[i: N, j: N] where not (i == j or i == 0) = 2.0 * X[i, j]\n"));
  EXPECT_EQ(diagonal.find("index_set_split"), std::string::npos) << diagonal;
}

// What one sum reads, at all its points or for a few results each, is made in its lanes, in registers.
TEST(ValuesInLanes, of_one_sum_are_never_stored) {
  const std::string forces = checked_sketches(
      normalized_program("program forces(N = 45)\nin p: f32[3, N]\nlet r[i: N, j: N] = rsqrt((p[0, j] - p[0, i]) * "
                         "(p[0, j] - p[0, i]) + (p[1, j] - p[2, i]) * (p[1, j] - p[2, i]) "
                         "+ 0.5)\nout F[c: 3, i: N] = sum[j: N] (p[c, j] - p[c, i]) * (r[i, j] * r[i, j])\n"));
  EXPECT_NE(forces.find("permute F [i, j.1, c, j]"), std::string::npos) << forces;
  EXPECT_NE(forces.find("compute_at r in F at j.1 reg"), std::string::npos) << forces;
  EXPECT_NE(forces.find("unroll F c"), std::string::npos) << forces;
  const std::string density = checked_sketches(
      normalized_program("program density(M = 7, N = 150)\nin x: f32[M]\nin y: f32[N]\nlet k[i: M, j: N] = exp(-(x[i] "
                         "- y[j]) * (x[i] - y[j]))\nout s[i: M] = sum[j: N] k[i, j]\n"));
  EXPECT_NE(density.find("compute_at k in s at j.1 reg"), std::string::npos) << density;
  // Of two tensors, over two reduced indices, into one value.
  const std::string both = checked_sketches(
      normalized_program("program both(M = 5, N = 40)\nin A: f64[M, N]\nin x: f64[N]\nin y: f64[M]\nlet k[i: M, j: N] "
                         "= sqrt(A[i, j] * A[i, j] + 1.0)\n"
                         "let q[i: M, j: N] = exp(x[j] - y[i]) + 1.0\nout s = sum[i: M, j: N] k[i, j] / q[i, j]\n"));
  EXPECT_NE(both.find("compute_at k in s at j.1 reg"), std::string::npos) << both;
  EXPECT_NE(both.find("compute_at q in s at j.1 reg"), std::string::npos) << both;
}

TEST(ValuesInLanes, are_stored_where_others_read_them_or_many_results_share_them) {
  const char* const programs[] = {
      "program two(M = 7, N = 50)\nin x: f32[M]\nin y: f32[N]\nlet k[i: M, j: N] = exp(x[i] - y[j])\nout s[i: M] = "
      "sum[j: N] k[i, j]\nout t[i: M] = sum[j: N] k[i, j] * y[j]\n",
      "program many(M = 7, N = 50, C = 9)\nin x: f32[M]\nin y: f32[N]\nin v: f32[C, N]\nlet k[i: M, j: N] = exp(x[i] - "
      "y[j])\nout s[i: M, c: C] = sum[j: N] k[i, j] * v[c, j]\n",
      "program ahead(M = 7, N = 50)\nin x: f32[M]\nin y: f32[N + 1]\nlet k[i: M, j: N + 1] = exp(x[i] - y[j])\nout "
      "s[i: M] = sum[j: N] k[i, j + 1] * k[i, j]\n"};
  for (const char* program : programs) {
    const std::string text = checked_sketches(normalized_program(program));
    EXPECT_EQ(text.find("compute_at k in s at j.1 reg"), std::string::npos) << text;
  }
}

// Classes of residues are stored to every second element; colours that a matrix mixes are made once a row.
TEST(StridedSketches, store_classes_by_lanes_and_mix_colours_inside_a_row) {
  const std::string text =
      checked_sketches(normalized_program("program mix(H = 6, W = 40)\nin X: f32[H, W]\nin M: f32[3, 3]\nlet c[k: 3, "
                                          "y: H, x: W] where x % 2 == 0 = X[y, x] * X[y, x]\nlet c[k: 3, y: H, "
                                          "x: W] where x % 2 == 1 = X[y, x] + f32(k)\n"
                                          "let m[k: 3, y: H, x: W] = sum[l: 3] M[k, l] * c[l, y, x]\nout Y[k: 3, y: H "
                                          "- 2, x: W] = m[k, y, x] * m[k, y + 2, x] + m[k, y + 1, x] / 3\n"));
  EXPECT_NE(text.find("vectorize c@1 x 16"), std::string::npos) << text;
  EXPECT_NE(text.find("permute Y [x.1, y.1, k, y, x.2, x]"), std::string::npos) << text;
}

// What only moves across the order of memory is tiled for squares, and streamed where it is larger than a core's cache.
TEST(TurnedSketches, tile_transpositions_and_stream_large_ones) {
  const std::string text = checked_sketches(
      normalized_program("program turn(M = 37, N = 50)\nin X: f32[M, N]\nout Y[i: N, j: M] = X[j, i]\n"));
  EXPECT_NE(text.find("tile Y [j: tu, i: tk]"), std::string::npos) << text;
  EXPECT_EQ(text.find("stream"), std::string::npos) << text;
  const Program large =
      normalized_program("program turn(M = 1024, N = 1024)\nin X: f32[M, N]\nout Y[i: N, j: M] = X[j, i]\n");
  EXPECT_NE(schedules::sketches(large, NumericsClass::reassoc, machine_with()).front().text().find("stream Y"),
            std::string::npos);
}

// Rows of one value each are lanes: there is nothing to transpose.
TEST(TurnedSketches, leave_rows_of_one_value_alone) {
  const std::string text =
      checked_sketches(normalized_program("program fill(N = 50, M = 37)\nin X: f32[N]\nout Y[i: N, j: M] = X[i]\n"));
  EXPECT_EQ(text.find("tile Y [j: tu, i: tk]"), std::string::npos) << text;
  EXPECT_NE(text.find("vectorize Y j"), std::string::npos) << text;
}

// A whole operand as deep as the deepest choice allows would fill the second cache, and a random page's set has no way
// left: columns are blocked too.
TEST(PanelSketches, an_operand_that_fills_the_second_cache_is_blocked_by_columns) {
  const Program program = normalized_program(
      "program product(M = 512)\nin A: f64[M, 512]\nconst in W: f64[512, 512]\nout C[i: M, j: 512] = sum[k: 512] A[i, "
      "k] * W[k, j]\n");
  const auto traces =
      schedules::sketches(program, NumericsClass::reassoc, machine_with(64, 32, {48 << 10, 2 << 20, 16 << 20}, 1));
  EXPECT_TRUE(std::any_of(traces.begin(), traces.end(), [](const Trace& trace) {
    return trace.text().find("tile C [j: nc, k: kc, i: mr, j: nr]") != std::string::npos;
  }));
}

// Weights that the second cache holds beside all else: where a panel outgrows the first one, its lines are asked for
// before each row of registers wants them.
TEST(Sketches, prefetch_panels_that_the_first_cache_does_not_hold) {
  const Machine machine = machine_with(64, 32, {48 << 10, 2 << 20, 16 << 20});
  for (int depth : {256, 576}) {  // panels of 32 and 72 KB
    const Program program = normalized_program(
        "program gemm(M = 98, N = 64, K = " + std::to_string(depth) +
        ")\nin A: f32[M, K]\nconst in B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * B[k, j]\n");
    const std::string first = schedules::sketches(program, NumericsClass::reassoc, machine).front().text();
    EXPECT_NE(first.find("prefetch B in C along k by ahead"), std::string::npos) << first;
    EXPECT_NE(first.find(depth == 576 ? "decide ahead = 16 of 0 8 16 32" : "decide ahead = 0 of 0 8 16 32"),
              std::string::npos)
        << first;
  }
}

// Weights larger than the second cache pass once, with a piece of a panel for all rows; packed ahead they are asked
// for, else each piece is copied.
TEST(PanelSketches, weights_that_no_cache_holds_pass_once) {
  for (const std::string kind : {"const in", "in"}) {
    Program program = normalized_program("program skinny(M = 5)\nin A: f32[M, 450]\n" + kind +
                                         " W: f32[450, 70]\nout C[i: M, j: 70] = sum[k: 450] A[i, k] * W[k, j]\n");
    auto traces =
        schedules::sketches(program, NumericsClass::reassoc, machine_with(32, 16, {1 << 10, 8 << 10, 64 << 10}, 1));
    const auto panels = std::find_if(traces.begin(), traces.end(), [](const Trace& trace) {
      return trace.text().find("permute C [j.1, k.1, i.1, k,") != std::string::npos;
    });
    ASSERT_NE(panels, traces.end());
    const bool is_ahead = kind != "in";
    EXPECT_NE(panels->text().find("prefetch W in C along k by ahead"), std::string::npos) << panels->text();
    EXPECT_EQ(panels->text().find("decide ahead = 0 of 0 ") == std::string::npos, is_ahead) << panels->text();
    EXPECT_NE(panels->text().find(is_ahead ? "promote W in C at root" : "promote W in C at k.1"), std::string::npos)
        << panels->text();
    expect_right_nests(program, {*panels}, "no such text", "");
  }
}

// Both indices of a square product leave as much to be read by all threads: blocks of columns for the second cache are
// brought by one thread where columns are parted, by each where rows are.
TEST(Sketches, threads_part_what_blocks_for_a_cache_are_made_of) {
  for (int size : {1024, 96}) {
    const std::string n = std::to_string(size);
    const Program program = normalized_program(
        "program gemm(M = " + n + ", N = " + n + ", K = " + n +
        ")\nin A: f32[M, K]\nconst in B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * B[k, j]\n");
    for (const Trace& trace :
         schedules::sketches(program, NumericsClass::reassoc, machine_with(64, 32, {48 << 10, 2 << 20, 16 << 20}, 2))) {
      const std::string text = trace.text();
      if (text.find("parallel C ") == std::string::npos) continue;
      EXPECT_NE(text.find(text.find("tile C [j: nc, k: kc, i: mr, j: nr]") != std::string::npos ? "parallel C j in 2"
                                                                                                : "parallel C i in 2"),
                std::string::npos)
          << text;
    }
  }
}

// A second mark for threads made every trace unreadable; the base nest ran instead, 16 times as slow.
TEST(DepthwiseSketches, two_threads_lose_no_sketch) {
  const Program program = normalized_program(
      "program depthwise(H = 112, W = 112, C = 32)\nin X: f32[H, W, C]\nconst in K: f32[3, 3, C]\nlet P[y: H + 2, x: W "
      "+ 2, c: C] = X[y - 1, x - 1, c] where 1 <= y <= H "
      "and 1 <= x <= "
      "W else 0\nout Y[y: H, x: W, c: C] = sum[r: 3, s: 3] P[y + r, x + s, c] * K[r, s, c]\n");
  const auto alone =
      schedules::sketches(program, NumericsClass::reassoc, machine_with(64, 32, {48 << 10, 2 << 20, 32 << 20}, 1));
  const auto two =
      schedules::sketches(program, NumericsClass::reassoc, machine_with(64, 32, {48 << 10, 2 << 20, 32 << 20}, 2));
  EXPECT_EQ(two.size(), alone.size());
  for (const Trace& trace : two) EXPECT_NE(trace.text().find("parallel Y"), std::string::npos) << trace.text();
}

// The name of a limit had a space.
TEST(GemmSketches, blocks_of_the_second_cache_are_readable) {
  const Program program = normalized_program(
      "program g(N = 1024)\nin A: f64[N, N]\nconst in B: f64[N, N]\nout C[i: N, j: N] = sum[k: N] A[i, k] * B[k, j]\n");
  bool some_block = false;
  for (const Trace& trace :
       schedules::sketches(program, NumericsClass::reassoc, machine_with(64, 32, {48 << 10, 2 << 20, 32 << 20}, 1))) {
    auto reread = parse_trace(trace.text());
    ASSERT_TRUE(reread.ok()) << trace.text();
    EXPECT_TRUE(*reread == trace) << trace.text();
    some_block |= trace.text().find("require second_cache") != std::string::npos;
  }
  EXPECT_TRUE(some_block);
}

class Sketches : public testing::TestWithParam<Example> {};

/// Values drawn from the candidates.
std::vector<int64_t> drawn_values(const Trace& trace, Rng& rng) {
  std::vector<int64_t> out = values_of(trace);
  for (size_t k = 0; k < out.size(); ++k)
    if (const auto& candidates = trace.decisions[k].candidates; !candidates.empty())
      out[k] = candidates[rng.below(candidates.size())];
  return out;
}

/// The first decisions, and others in class reassoc on one thread; all cases draw twice everywhere.
int drawn_rounds(NumericsClass cls, int threads) {
  if (takes_all_cases()) return 2;
  return cls == NumericsClass::reassoc && threads == 1 ? 1 : 0;
}

TEST_P(Sketches, compute_what_the_evaluator_computes) {
  Program program = normalized_program(slurp(std::string(PW_SOURCE_DIR) + "/examples/" + GetParam().file + ".weft"),
                                       GetParam().sizes);
  std::set<std::string> seen;
  for (auto cls : {NumericsClass::reassoc, NumericsClass::strict}) {
    for (int threads : {1, 2}) {
      const Machine machine = machine_with(32, 16, {1 << 10, 8 << 10, 64 << 10}, threads);
      auto sketches = schedules::sketch_templates(program, cls, machine);
      ASSERT_TRUE(sketches.ok());
      for (NestTemplate& more : schedules::search_templates(program, cls, machine, *sketches))
        sketches->push_back(std::move(more));
      Rng rng(11);
      for (const NestTemplate& sketch : *sketches) {
        const Trace& trace = sketch.trace;
        auto reread = parse_trace(trace.text());
        ASSERT_TRUE(reread.ok()) << trace.text();
        EXPECT_TRUE(*reread == trace) << trace.text();
        auto again = schedules::replay(program, cls, trace);
        ASSERT_TRUE(again.ok()) << described(again.error());
        std::vector<int64_t> values = values_of(trace);
        for (int round = 0; round <= drawn_rounds(cls, threads); ++round) {
          auto nest = instantiate(sketch, values), replayed = instantiate(*again, values);
          ASSERT_TRUE(nest.ok()) << described(nest.error()) << "\n" << with_values(trace, values).text();
          ASSERT_TRUE(replayed.ok());
          ASSERT_EQ(print(*nest), print(*replayed)) << "a sketch is what replay makes of its trace";
          if (seen.insert(print(*nest)).second) {
            EXPECT_EQ(difference(program, *nest, 5, ir::DataKind::random), "") << with_values(trace, values).text();
          }
          values = drawn_values(trace, rng);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, Sketches, testing::ValuesIn(kExamples),
                         [](const auto& info) { return std::string(info.param.file).substr(3); });

}  // namespace
}  // namespace polyweft::test
