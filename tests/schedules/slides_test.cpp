// Sliding windows: compute_at .. slide on stencils, strides, tails, tiles, chains, paddings; at sizes from 1, below the
// window, and primes. Judges: plain loops against the evaluator, tags against the program's terms, the checker's proof.
// Then mutants, and what is refused.
#include <functional>
#include <regex>

#include "harness.h"
#include "ir/oracles/interpreter.h"
#include "mutator.h"
#include "poly/check/checker.h"

namespace polyweft::test {
namespace {

const char* kBlur =
    "program blur(H = 9, W = 5)\nin X: f32[H + 2, W]\nlet A[y: H + 2, x: W] = X[y, x] * 2\n"
    "out Y[y: H, x: W] = A[y, x] + A[y + 1, x] + A[y + 2, x]\n";
const char* kBlurOfBlur =
    "program bb(H = 9, W = 5)\nin X: f32[H + 6, W]\nlet A[y: H + 6, x: W] = X[y, x] * 2\nlet B[y: H + 4, x: W] = "
    "sum[r: 3] A[y + r, x]\n"
    "let C[y: H + 2, x: W] = B[y, x] - B[y + 2, x]\nout Y[y: H, x: W] = (C[y, x] + C[y + 1, x] + C[y + 2, x]) * B[y + "
    "1, x]\n";
const char* kPyramid =
    "program pyramid(H = 5, W = 4)\nin X: f32[4 * H + 5, W]\nlet A[y: 4 * H + 5, x: W] = X[y, x] + 1\nlet B[y: 2 * H + "
    "1, x: W] = sum[r: 3] A[2 * y + r, x]\n"
    "out Y[y: H, x: W] = sum[r: 3] B[2 * y + r, x]\n";
const char* kDilated =
    "program dilated(H = 7, W = 4)\nin X: f32[H + 6, W]\nlet A[y: H + 6, x: W] = X[y, x] + 1\nout Y[y: H, x: W] = "
    "sum[r: 3] A[y + 3 * r, x]\n";
const char* kSparse =
    "program sparse(H = 7, W = 4)\nin X: f32[3 * H + 2, W]\nlet A[y: 3 * H + 2, x: W] = X[y, x] + 1\nout Y[y: H, x: W] "
    "= A[3 * y, x] + A[3 * y + 1, x]\n";
const char* kClamped =
    "program clamped(H = 9, W = 5)\nin X: f32[H, W]\nlet P[y: -2..H+2, x: W] = X[clamp(y, 0, H-1), x]\nlet A[y: H, x: "
    "W] = sum[r: 5] P[y + r - 2, x]\n"
    "out Y[y: H, x: W] = A[clamp(y - 1, 0, H-1), x] + A[y, x] + A[clamp(y + 1, 0, H-1), x]\n";
const char* kZero =
    "program zero(H = 9, W = 5)\nin X: f32[H, W]\nlet P[y: -1..H+1, x: W] = X[y, x] where 0 <= y < H else 0.0\n"
    "out Y[y: H, x: W] = P[y - 1, x] + P[y, x] + P[y + 1, x]\n";
const char* kReflect =
    "program reflect(H = 9, W = 5)\nin X: f32[H, W]\nlet P[y: -1..H+1, x: W] = X[-1 - y, x] where y < 0 else (X[2 * H "
    "- 1 - y, x] where y >= H else X[y, x])\n"
    "let Q[y: -1..H+1, x: W] = P[y, x] * 2\nout Y[y: H, x: W] = Q[y - 1, x] + Q[y, x] + Q[y + 1, x]\n";
const char* kSeveral =
    "program several(H = 9, W = 5)\nin X: f32[H + 4, W + 2]\nlet A[y: H + 4, x: W + 2] = X[y, x] * X[y, x]\nlet B[y: H "
    "+ 2, x: W + 2] = A[y, x] + A[y + 2, x]\n"
    "let C[y: H, x: W] = A[y + 1, x + 1] - B[y, x]\nout Y[y: H, x: W] = sum[r: 3, s: 3] B[y + r, x + s] * C[y, x]\n";
const char* kDepthwise =
    "program dw(H = 5, W = 4, C = 3, F = 2)\nin X: f32[H + 2, W + 2, C]\nin K: f32[3, 3, C]\nin G: f32[C, F]\nlet P[y: "
    "H + 2, x: W + 2, c: C] = X[y, x, c] - 1\n"
    "let D[y: H, x: W, c: C] = sum[r: 3, s: 3] P[y + r, x + s, c] * K[r, s, c]\nout Y[y: H, x: W, f: F] = sum[c: C] "
    "D[y, x, c] * G[c, f]\n";

const char* kSeparable =
    "program separable(H = 9, W = 5)\nin X: i32[H + 4, W + 4]\nlet T[y: H + 4, x: W + 4] = X[y, x] * 3\nlet V[y: H + "
    "2, x: W + 4] = sum[r: 3] T[y + r, x]\n"
    "let S[y: H + 2, x: W + 2] = sum[s: 3] V[y, x + s]\nlet U[y: H, x: W + 2] = S[y, x] - S[y + 2, x]\nout Y[y: H, x: "
    "W] = sum[s: 3] U[y, x + s]\n";

struct Slid {
  const char* program;
  const char* steps;
};
const Slid kSlid[] = {
    {kBlur, "compute_at A in Y at y heap slide"},
    {kBlur, "compute_at A in Y at y heap slide fold 4"},
    {kBlur, "compute_at A in Y at y stack slide whole"},
    {kBlur, "compute_at A in Y at y heap layout [d1, d0] slide"},
    {kBlur, "tile Y [y: 4]\ncompute_at A in Y at y heap slide"},
    {kBlur, "tile Y [y: 4]\ncompute_at A in Y at y.1 heap slide"},
    {kBlur, "tile Y [y: 2]\ncompute_at A in Y at y.1 heap slide\nunroll Y y\nvectorize Y x 4\nvectorize A x 4"},
    {kBlur, "tile Y [y: 4, x: 3]\ncompute_at A in Y at y heap slide\nparallel Y y.1"},
    {kBlur, "compute_at A in Y at y heap slide\nparallel Y y in 2"},
    {kBlur, "permute Y [x, y]\ncompute_at A in Y at y heap slide\nparallel Y x"},
    {kBlur,
     "tile Y [x: 4]\npermute Y [x.1, y, x]\ncompute_at A in Y at y heap slide\nvectorize Y x 4\nvectorize A x 4"},
    {kBlur, "compute_at A in Y at y heap slide\nunroll A y"},
    {kBlurOfBlur,
     "compute_at C in Y at y heap slide\ncompute_at B in Y at y heap slide\ncompute_at A in Y at y heap slide"},
    {kBlurOfBlur, "compute_at C in Y at y heap\ncompute_at B in Y at y heap slide\ncompute_at A in Y at y heap slide"},
    {kBlurOfBlur, "compute_at C in Y at y heap slide\ncompute_at B in Y at y heap\ncompute_at A in Y at y heap slide"},
    {kBlurOfBlur,
     "tile Y [y: 3]\ncompute_at C in Y at y heap slide\ncompute_at B in Y at y.1 heap slide\ncompute_at A in Y at y.1 "
     "heap slide"},
    {kBlurOfBlur,
     "tile Y [y: 2]\ncompute_at C in Y at y.1 heap slide\ncompute_at B in Y at y.1 heap slide fold 8\ncompute_at A in "
     "Y at y.1 heap slide\nunroll Y y"},
    {kBlurOfBlur,
     "compute_at C in Y at y heap slide\ncompute_at B in Y at y heap slide\ncompute_at A in Y at root heap"},
    {kPyramid, "compute_at B in Y at y heap slide\ncompute_at A in Y at y heap slide"},
    {kPyramid, "tile Y [y: 2]\ncompute_at B in Y at y.1 heap slide\ncompute_at A in Y at y.1 heap slide"},
    {kPyramid, "compute_at B in Y at y heap\ncompute_at A in Y at y heap slide"},
    {kDilated, "compute_at A in Y at y heap slide"},
    {kDilated, "tile Y [y: 5]\ncompute_at A in Y at y.1 heap slide fold 8"},
    {kSparse, "compute_at A in Y at y heap slide"},
    {kSparse, "tile Y [y: 2]\ncompute_at A in Y at y.1 heap slide"},
    {kClamped, "compute_at A in Y at y heap slide\ncompute_at P in Y at y heap slide"},
    {kClamped,
     "tile Y [y: 4]\ncompute_at A in Y at y.1 heap slide\ncompute_at P in Y at y.1 heap slide\nparallel Y y in 2"},
    {kClamped, "tile Y [y: 4]\ncompute_at A in Y at y heap slide\ncompute_at P in Y at y heap slide\nparallel Y y.1"},
    {kZero, "compute_at P in Y at y heap slide"},
    {kReflect, "compute_at Q in Y at y heap slide\ncompute_at P in Y at y heap slide"},
    {kSeveral, "compute_at C in Y at x stack\ncompute_at B in Y at y heap slide\ncompute_at A in Y at y heap slide"},
    {kSeveral, "compute_at C in Y at x stack\ncompute_at B in Y at x heap slide\ncompute_at A in Y at y heap slide"},
    {kSeveral,
     "permute Y [x, y]\ncompute_at C in Y at y stack\ncompute_at B in Y at y heap slide\ncompute_at A in Y at y heap "
     "slide\nparallel Y x"},
    {kSeveral,
     "tile Y [x: 2]\npermute Y [y, x.1, x]\ncompute_at C in Y at x.1 stack\ncompute_at B in Y at x.1 heap "
     "slide\ncompute_at A in Y at x.1 heap slide\naccumulate Y at "
     "x.1 stack"},
    {kSeparable,
     "compute_at U in Y at y heap\ncompute_at S in Y at y heap slide\ncompute_at V in S at y stack\ncompute_at T in Y "
     "at y heap slide"},
    {kSeparable,
     "tile Y [x: 4]\npermute Y [y, x.1, s, x]\naccumulate Y at x.1 reg\ncompute_at U in Y at x.1 reg\npermute U [y, "
     "x]\nvectorize U x 4\nunroll U x\nunroll Y "
     "s\nvectorize Y x "
     "4\ntile S [x: 4]\npermute S [y, x.1, s, x]\naccumulate S at x.1 reg\ncompute_at S in Y at y heap "
     "slide\ncompute_at V in S at x.1 reg\npermute V [y, r, x]\n"
     "unroll V r\nvectorize V x 4\nunroll V x\nunroll S s\nvectorize S x 4\ncompute_at T in Y at y heap "
     "slide\nvectorize T x 4"},
    {kSeparable,
     "tile Y [y: 3]\ncompute_at U in Y at y heap\ncompute_at S in Y at y.1 heap slide\ncompute_at V in S at y "
     "stack\ncompute_at T in Y at y.1 heap slide"},
    {kDepthwise, "compute_at D in Y at x heap\ncompute_at P in Y at x heap slide"},
    {kDepthwise, "compute_at D in Y at y heap\ncompute_at P in Y at y heap slide"},
};

TEST(Slides, all_judges_agree_at_all_sizes) {
  for (const Slid& slid : kSlid) {
    for (int64_t height : {1, 2, 7, 11}) {
      for (int64_t width : {1, 5}) {
        if (width == 1 && height != 2) continue;
        Program program = normalized_program(slid.program, {{"H", height}, {"W", width}});
        const std::string what = std::string(slid.program) + slid.steps + "\nH = " + std::to_string(height) +
                                 ", W = " + std::to_string(width);
        auto nest = nest_of(program, std::string("trace 1\n") + slid.steps + "\n");
        ASSERT_TRUE(nest.ok()) << what << "\n" << described(nest.error());
        EXPECT_EQ(difference(program, *nest, 7), "") << what << "\n" << print(*nest);
        expect_equal_tags(program, *nest, NumericsClass::reassoc, what);
        auto check = poly::check_nest(program, *nest);
        EXPECT_EQ(check.verdict, Verdict::proven) << what << "\n"
                                                  << check.code << " " << check.message << "\n"
                                                  << print(*nest);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

// Windows are found through any number of stages, each once.
/// The reads of T stand where their condition never holds: there is no window, and nothing to compute.
TEST(Slides, an_empty_window_takes_no_producer) {
  // As it is: normalize would leave the reads out.
  const Program written =
      lang::parse(
          "program p(N = 1, M = 1)\nlet T[i: M]: f32 = sum[j: M] 1.0\n"
          "let Y1[i: 2, j: i + 1, l: j]: i32 where l < 2 or l >= 3 = min[m: l + 1] (i32(T[m - 1]) where m > 0 and M >= "
          "m else 0)\n"
          "out partial Y[i: 2, j: i + 1]: i32 = sum[k: N, l: j where l < 2 or l >= 3] Y1[i, j, l]\n",
          "slides.weft")
          ->programs.front();
  const Program program = polyweft::bind(written, *make_binding(written, {}));
  auto nest = nest_of(program, "trace 1\ncompute_at T in Y1 at i heap slide\n");
  ASSERT_TRUE(nest.ok()) << described(nest.error());
  EXPECT_EQ(difference(program, *nest, 7), "") << print(*nest);
}

TEST(Slides, a_chain_of_twenty_stages) {
  constexpr int kStages = 20;
  std::string text = "program stages(H = 5, W = 2)\nin X: f32[H + " + std::to_string(2 * kStages) + ", W]\n",
              steps = "trace 1\n", before = "X";
  for (int k = 0; k < kStages; ++k) {
    const std::string name = k + 1 < kStages ? "T" + std::to_string(k) : "Y",
                      rows = "H + " + std::to_string(2 * (kStages - 1 - k));
    text += std::string(k + 1 < kStages ? "let " : "out ") + name + "[y: " + rows + ", x: W] = " + before +
            "[y, x] - " + before + "[y + 2, x] + " + before + "[y + 1, x]\n";
    before = name;
  }
  for (int k = kStages - 1; k-- > 0;) steps += "compute_at T" + std::to_string(k) + " in Y at y heap slide\n";
  Program program = normalized_program(text);
  auto nest = nest_of(program, steps);
  ASSERT_TRUE(nest.ok()) << described(nest.error());
  for (const Buffer& buffer : nest->buffers)
    if (buffer.scope == Scope::heap) {
      EXPECT_EQ(folded_extents(buffer)[0], 3) << buffer.name;
    }
  EXPECT_EQ(difference(program, *nest, 7), "");
  EXPECT_EQ(poly::check_nest(program, *nest).verdict, Verdict::proven);
}

// Iterations before the first are whole ones: no loop over single rows, where stages lie so many rows apart.
TEST(Slides, several_rows_at_a_time) {
  for (const int64_t rows : {1, 2, 3, 4}) {
    for (const int64_t height : {12, 13}) {
      Program program = normalized_program(kBlurOfBlur, {{"H", height}, {"W", 2}});
      const std::string r = std::to_string(rows);
      auto nest = nest_of(program, "trace 1\ntile Y [y: " + r +
                                       "]\ncompute_at C in Y at y.1 heap slide\ncompute_at B in Y at y.1 heap "
                                       "slide\ncompute_at A in Y at y.1 heap slide\n" +
                                       "tile A [y: " + r + "]\ntile B [y: " + r + "]\ntile C [y: " + r + "]\n");
      ASSERT_TRUE(nest.ok()) << described(nest.error());
      EXPECT_EQ(difference(program, *nest, 7), "") << print(*nest);
      EXPECT_EQ(poly::check_nest(program, *nest).verdict, Verdict::proven) << print(*nest);
      if (rows <= 2 && height % rows == 0) {
        EXPECT_EQ(print(*nest).find("floor("), std::string::npos) << print(*nest);
      }
    }
  }
}

bool tags_reject(const Program& program, const LoopNest& nest) {
  const auto expected = tag_reference(program, NumericsClass::reassoc);
  const auto& [inputs, wanted] = *expected;
  ir::InterpreterOptions options;
  options.with_tags = true;
  auto got = ir::interpret(nest, inputs, options);
  return !got.ok() || got->tags != wanted->tags;
}

/// The text with one match of the pattern changed.
std::string changed_match(const std::string& text, const std::regex& pattern,
                          const std::function<std::string(const std::smatch&)>& change) {
  std::smatch match;
  if (!std::regex_search(text, match, pattern)) return text;
  return std::string(match.prefix()) + change(match) + std::string(match.suffix());
}

// A ring of one row too few, a first iteration without its last early row, new rows that begin one too far: both judges
// refuse each.
TEST(Slides, mutants_are_refuted) {
  int judged = 0;
  const auto less = [](const std::smatch& m) { return m.str(1) + std::to_string(std::stoll(m.str(2)) - 1) + m.str(3); };
  const auto later = [](const std::smatch& m) {
    return m.str(1) + std::to_string(std::stoll(m.str(2)) + 1) + m.str(3);
  };
  const std::pair<std::regex, std::function<std::string(const std::smatch&)>> kChanges[] = {
      {std::regex("(heap fold 0 mod )(\\d+)( )"), less},                                                   // window
      {std::regex("(alloc [^\\n]*\\n\\s*(?:alloc [^\\n]*\\n\\s*)*for \\S+ in )(\\d+)( \\.\\. )"), later},  // early rows
      {std::regex("(alloc [^\\n]*\\n\\s*(?:alloc [^\\n]*\\n\\s*)*for \\S+ in \\d+ \\.\\. )(\\d+)( )"), less},
  };
  for (const char* steps :
       {"compute_at A in Y at y heap slide", "permute Y [x, y]\ncompute_at A in Y at y heap slide"}) {
    Program program = normalized_program(kBlur, {{"H", 7}, {"W", 3}});
    auto nest = nest_of(program, std::string("trace 1\n") + steps + "\n");
    ASSERT_TRUE(nest.ok()) << described(nest.error());
    for (const auto& [pattern, change] : kChanges) {
      const std::string text = print(*nest), mutant = changed_match(text, pattern, change);
      ASSERT_NE(mutant, text) << text;
      auto parsed = parse_loop_nest(mutant);
      ASSERT_TRUE(parsed.ok()) << described(parsed.error()) << mutant;
      EXPECT_TRUE(tags_reject(program, *parsed)) << mutant;
      EXPECT_EQ(poly::check_nest(program, *parsed).verdict, Verdict::refuted) << mutant;
      ++judged;
    }
  }
  EXPECT_EQ(judged, 6);
}

// Small changes anywhere in chains with rings: the checker proves none that tag mode rejects, by arithmetic or by isl
// alone.
TEST(Slides, no_mutant_that_tags_reject_is_proven) {
  int rejected = 0;
  for (const char* steps :
       {"compute_at C in Y at y heap slide\ncompute_at B in Y at y heap slide\ncompute_at A in Y at y heap slide",
        "tile Y [y: 2]\ncompute_at C in Y at y.1 heap slide\ncompute_at B in Y at y.1 heap slide fold 4\ncompute_at A "
        "in Y at y.1 heap slide"}) {
    Program program = normalized_program(kBlurOfBlur, {{"H", 6}, {"W", 2}});
    auto nest = nest_of(program, std::string("trace 1\n") + steps + "\n");
    ASSERT_TRUE(nest.ok()) << described(nest.error());
    const std::string text = print(*nest);
    for (uint64_t seed = 1; seed < 200 && rejected < 120; ++seed) {
      const std::string mutant = Mutator(text, seed).mutated();
      auto parsed = parse_loop_nest(mutant);
      if (mutant == text || !parsed || !verify(*parsed).ok() || !tags_reject(program, *parsed)) continue;
      ++rejected;
      EXPECT_NE(poly::check_nest(program, *parsed).verdict, Verdict::proven) << mutant;
    }
  }
  EXPECT_GE(rejected, 60);
}

}  // namespace
}  // namespace polyweft::test
