// What normalize makes of nested, guarded and tuple-valued reductions, as text, and that the bits stay.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "ir/oracles/evaluator.h"
#include "ir/values/seeded_data.h"
#include "lang/parser.h"

namespace polyweft {
namespace {

Program parsed_source(const std::string& text) {
  auto result = lang::parse(text, "test.weft");
  if (!result) ADD_FAILURE() << result.error().diagnostics.at(0).text;
  return result ? result->programs.at(0) : Program{};
}

std::vector<std::vector<unsigned char>> bits_of(const Program& program) {
  Program bound = polyweft::bind(program, make_binding(program, {}).value());
  auto result = ir::evaluate(bound, ir::seeded_inputs(bound, 1, ir::DataKind::random));
  EXPECT_TRUE(result) << result.error().message;
  std::vector<std::vector<unsigned char>> out;
  for (const TensorData& tensor : result->tensors) out.push_back(tensor.bytes);
  return out;
}

struct NormalCase {
  const char* header;
  const char* equations;
  const char* normalized;
};

class Normalized : public testing::TestWithParam<NormalCase> {};

TEST_P(Normalized, has_this_text_and_the_same_bits) {
  const NormalCase& c = GetParam();
  Program program = parsed_source(std::string(c.header) + c.equations), normal = normalize(program);
  std::string text = print(normal);
  size_t first_equation = std::min(text.find("\nlet "), text.find("\nout ")) + 1;
  EXPECT_EQ(text.substr(first_equation), c.normalized);
  EXPECT_EQ(bits_of(program), bits_of(normal));
}

constexpr const char* kNormalHeader = "program p(N = 4, M = 3)\nin X: f32[N, M]\n";
constexpr const char* kBytes =
    "program p(N = 9, M = 8, K = 5)\nin A: u8[N, K]\nin B: i8[K, M]\nin za: i32\nin zb: i32[M]\nin F: f32[N, K]\n";
constexpr const char* kMayBeEmpty = "program p(N = 4, M = 3) assume M >= 0\nin X: f32[N, M]\n";

constexpr const char* kTaps =
    "program p(H = 9, W = 10)\nin X: i16[H + 4, W + 4]\nin F: f32[H + 4, W + 4]\nconst w: i16[3, 5] = [[2, -4, 6, 0, "
    "10], [0, 0, 0, 0, 0], [-3, 6, -9, 0, -15]]\n"
    "const odd: i16[3, 5] = [[2, -4, 6, 0, 10], [0, 0, 0, 0, 0], [-3, 6, -9, 1, -15]]\nconst g: f32[3, 3] = [[1, 2, "
    "1], [2, 4, 2], [1, 2, 1]]\n";

// Weights that are products, modulo 2^16: sums along one index, then along the other; columns first where both would
// do.
INSTANTIATE_TEST_SUITE_P(
    Factors, Normalized,
    testing::Values(
        NormalCase{kTaps, "out Y[y: H, x: W] = sum[r: 3, s: 5] w[r, s] * X[y + r, x + s]",
                   "out Y[y: H, x: W]: i16 = sum[s: 5] Y.3[s] * Y.1[y, x + s]\n"
                   "let Y.1[y: H, x: W + 4]: i16 = sum[r: 3] Y.2[r] * X[y + r, x]\nconst Y.2: i16[3] = [2, 0, "
                   "-3]\nconst Y.3: i16[5] = [1, -2, 3, 0, 5]\n"},
        // ranges that begin elsewhere, weights by the other order of subscripts, a second factor, a clamp around the
        // sum
        NormalCase{kTaps,
                   "out Y[y: H, x: W] = sum[r: -2..3, s: 1..4] X[clamp(y + r, 0, H), x] * w[s - 1, r + 2] * X[y + r + "
                   "2, x + s]",
                   "out Y[y: H, x: W]: i16 = sum[r: -2..3] Y.3[r + 2] * Y.1[y + r, x]\n"
                   "let Y.1[y: -2..H + 2, x: W]: i16 = sum[s: 1..4] Y.2[s - 1] * (X[clamp(y, 0, H), x] * X[y + 2, x + "
                   "s])\nconst Y.2: i16[3] = [2, 0, -3]\nconst "
                   "Y.3: i16[5] = [1, -2, 3, 0, 5]\n"},
        // no weights; only the second index moves with a slot; inside an expression
        NormalCase{kTaps, "out Y[y: H, x: W] = 3 + (sum[r: 3, s: 3] X[2*y - y + r, x + s])",
                   "out Y[y: H, x: W]: i16 = 3 + Y.1[y, x]\n"
                   "let Y.2[y: H, x: W + 2]: i16 = sum[r: 3] X[y + r, x]\n"
                   "let Y.1[y: H, x: W]: i16 = sum[s: 3] Y.2[y, x + s]\n"},
        NormalCase{kTaps, "out Y[x: W] = sum[r: 3, s: 5] w[r, s] * X[r, x + s]",
                   "out Y[x: W]: i16 = sum[s: 5] Y.3[s] * Y.1[x + s]\n"
                   "let Y.1[x: W + 4]: i16 = sum[r: 3] Y.2[r] * X[r, x]\nconst Y.2: i16[3] = [2, 0, -3]\nconst Y.3: "
                   "i16[5] = [1, -2, 3, 0, 5]\n"},
        // a slot's value as a factor
        NormalCase{kTaps, "out Y[y: H, x: W] = sum[r: 3, s: 5] i16(y) * X[y + r, x + s]",
                   "out Y[y: H, x: W]: i16 = Y.1[y, x] * i16(y)\n"
                   "let Y.2[y: H, x: W + 4]: i16 = sum[r: 3] X[y + r, x]\nlet Y.1[y: H, x: W]: i16 = sum[s: 5] Y.2[y, "
                   "x + s]\n"},
        // weights that are no product; floats; few taps; few rows; an index that moves otherwise; conditions
        NormalCase{kTaps, "out Y[y: H, x: W] = sum[r: 3, s: 5] odd[r, s] * X[y + r, x + s]",
                   "out Y[y: H, x: W]: i16 = sum[r: 3, s: 5] odd[r, s] * X[y + r, x + s]\n"},
        NormalCase{kTaps, "out Y[y: H, x: W] = sum[r: 3, s: 3] g[r, s] * F[y + r, x + s]",
                   "out Y[y: H, x: W]: f32 = sum[r: 3, s: 3] g[r, s] * F[y + r, x + s]\n"},
        NormalCase{kTaps, "out Y[y: H, x: W] = sum[r: 2, s: 4] w[r, s] * X[y + r, x + s]",
                   "out Y[y: H, x: W]: i16 = sum[r: 2, s: 4] w[r, s] * X[y + r, x + s]\n"},
        NormalCase{kTaps, "out Y[y: 5, x: 5] = sum[r: 3, s: 5] w[r, s] * X[y + r, x + s]",
                   "out Y[y: 5, x: 5]: i16 = sum[r: 3, s: 5] w[r, s] * X[y + r, x + s]\n"},
        NormalCase{kTaps, "out Y[y: 8, x: 8] = sum[r: 3, s: 5] w[r, s] * X[y - r + 2, s + x // 2]",
                   "out Y[y: 8, x: 8]: i16 = sum[r: 3, s: 5] w[r, s] * X[y - r + 2, s + x // 2]\n"},
        NormalCase{kTaps, "out Y[y: H, x: W] = sum[r: 3, s: 5 where r + s >= 2] w[r, s] * X[y + r, x + s]",
                   "out Y[y: H, x: W]: i16 = sum[r: 3, s: -r + 2..5] w[r, s] * X[y + r, x + s]\n"}));

INSTANTIATE_TEST_SUITE_P(
    Table, Normalized,
    testing::Values(
        NormalCase{kNormalHeader, "out Y[i: N, j: M] = X[i, j] - (max[k: M] X[i, k])",
                   "out Y[i: N, j: M]: f32 = X[i, j] - Y.1[i]\n"
                   "let Y.1[i: N]: f32 = max[k: M] X[i, k]\n"},
        // zero points leave the sum: modulo 2^32 this is exact
        NormalCase{kBytes, "out Y[i: N, j: M] = sum[k: K] (i32(A[i, k]) - za) * i32(B[k, j])",
                   "out Y[i: N, j: M]: i32 = Y.1[i, j] - za * Y.2[j]\n"
                   "let Y.1[i: N, j: M]: i32 = sum[k: K] i32(A[i, k]) * i32(B[k, j])\n"
                   "let Y.2[j: M]: i32 = sum[k: K] i32(B[k, j])\n"},
        NormalCase{kBytes, "out Y[i: N, j: M] = sum[k: K] (za - i32(A[i, k])) * (i32(B[k, j]) + 3)",
                   "out Y[i: N, j: M]: i32 = za * Y.1[j] - (Y.2[i, j] + 3 * Y.3[i])\n"
                   "let Y.1[j: M]: i32 = sum[k: K] (i32(B[k, j]) + 3)\n"
                   "let Y.2[i: N, j: M]: i32 = sum[k: K] i32(A[i, k]) * i32(B[k, j])\n"
                   "let Y.3[i: N]: i32 = sum[k: K] i32(A[i, k])\n"},
        // nobody shares the sum that is left, or the offset might be read though there is nothing to sum, or floats
        // round
        NormalCase{kBytes, "out Y[j: M] = sum[k: K] (i32(A[0, k]) - za) * i32(B[k, j])",
                   "out Y[j: M]: i32 = sum[k: K] (i32(A[0, k]) - za) * i32(B[k, j])\n"},
        NormalCase{kBytes, "out Y[i: N, j: M] = sum[k: K where k > i] (i32(A[i, k]) - zb[j]) * i32(B[k, j])",
                   "out Y[i: N, j: M]: i32 = sum[k: i + 1..K] (i32(A[i, k]) - zb[j]) * i32(B[k, j])\n"},
        NormalCase{kBytes, "out Y[i: N, j: M] = sum[k: K] (F[i, k] - 0.5) * f32(B[k, j])",
                   "out Y[i: N, j: M]: f32 = sum[k: K] (F[i, k] - 0.5) * f32(B[k, j])\n"},
        // j may have no value at all: then Y.1 must have no element either
        NormalCase{kMayBeEmpty, "out Y[i: N, j: M] = X[i, j] - (max[k: M] X[i, k])",
                   "out Y[i: N, j: M]: f32 = X[i, j] - Y.1[i]\n"
                   "let Y.1[i: N]: f32 where M > 0 = max[k: M] X[i, k]\n"},
        NormalCase{kNormalHeader, "out Y[i: N] = (sum[k: M] X[i-1, k]) where i >= 1 else prod[k: M] X[i, k]",
                   "out Y[i: N]: f32 = Y.1[i] where i > 0 else Y.2[i]\n"
                   "let Y.1[i: N]: f32 where i > 0 = sum[k: M] X[i - 1, k]\n"
                   "let Y.2[i: N]: f32 where i <= 0 = prod[k: M] X[i, k]\n"},
        NormalCase{kNormalHeader,
                   "out partial Y[i: N, j: 0..i+1] where j > 0 = 2 * sum[k: 0..j] (X[i, 0] where k > 0 else 1)",
                   "out partial Y[i: N, j: i + 1]: f32 where j > 0 = 2.0 * Y.1[i, j]\n"
                   "let Y.1[i: N, j: i + 1]: f32 where j > 0 = sum[k: j] (X[i, 0] where k > 0 else 1.0)\n"},
        NormalCase{kNormalHeader, "out Y[i: N] = sum[k: M where k != 1] X[i, k] * max[l: k+1] X[i, l]",
                   "out Y[i: N]: f32 = sum[k: M where k != 1] X[i, k] * Y.1[i, k]\n"
                   "let Y.1[i: N, k: M]: f32 where k != 1 = max[l: k + 1] X[i, l]\n"},
        NormalCase{kNormalHeader, "out p[i: N] = argmax[k: M] X[i, k]",
                   "let (p.1, p)[i: N]: (f32, i64) = argmax[k: M] X[i, k]\n"},
        NormalCase{kNormalHeader, "out z[i: N] = 1.5 + f32(argmin[k: M] X[i, k])",
                   "out z[i: N]: f32 = 1.5 + f32(z.2[i])\n"
                   "let (z.1, z.2)[i: N]: (f32, i64) = argmin[k: M] X[i, k]\n"},
        NormalCase{kNormalHeader,
                   "combine f((m, s), (n, t)): (f32, f32) from (0, 0) = (m + n, s + n * t)\n"
                   "let (a, b)[i: N] = reduce f[k: M] (X[i, k], 1) where i > 0 else (0, 2)\nout Y[i: N] = a[i] + b[i]",
                   "let (a, b)[i: N]: (f32, f32) = (a.1[i] where i > 0 else 0.0, a.2[i] where i > 0 else 2.0)\n"
                   "out Y[i: N]: f32 = a[i] + b[i]\n"
                   "let (a.1, a.2)[i: N]: (f32, f32) where i > 0 = reduce f[k: M] (X[i, k], 1.0)\n"}));

// Conditions that do not move with a reduction: they decide whether it is empty, and leave it.
INSTANTIATE_TEST_SUITE_P(
    OuterGuards, Normalized,
    testing::Values(
        NormalCase{kNormalHeader, "out Y[i: N] = 1.0 + (min[k: M where i < 2] X[i, k])",
                   "out Y[i: N]: f32 = 1.0 + (Y.1[i] where i < 2 else inf)\n"
                   "let Y.1[i: N]: f32 where i < 2 = min[k: M] X[i, k]\n"},
        NormalCase{kNormalHeader, "out Y[i: N, j: N] = 2.0 * sum[k: M where i < j and k != 1] X[i, k]",
                   "out Y[i: N, j: N]: f32 = 2.0 * (Y.1[i] where j > i else 0.0)\n"
                   "let Y.1[i: N - 1]: f32 = sum[k: M where k != 1] X[i, k]\n"},
        NormalCase{kNormalHeader, "out Y[i: N] = sum[k: M where i < 2 and k != 1 and i % 2 == 0] X[i, k]",
                   "out Y[i: N]: f32 where i < 2 and i == 2*(i // 2) = sum[k: M where k != 1] X[i, k]\n"
                   "out Y[i: N]: f32 where not (i < 2 and i == 2*(i // 2)) = 0.0\n"},
        NormalCase{kNormalHeader, "out Y[i: N] = sum[k: M where i < 2 or k < 1] X[i, k]",
                   "out Y[i: N]: f32 = sum[k: M where i < 2 or k <= 0] X[i, k]\n"},
        // what the ranges and conditions around say already
        NormalCase{kNormalHeader,
                   "out partial Y[i: N, j: 0..i+1] = sum[k: M where j <= i and i >= 0 and k > j] X[i, k]",
                   "out partial Y[i: N, j: i + 1]: f32 = sum[k: j + 1..M] X[i, k]\n"},
        NormalCase{kNormalHeader, "out partial Y[i: N] where i > 1 = max[k: M where i > 1 and N >= 1] X[i, k]",
                   "out partial Y[i: N]: f32 where i >= 2 = max[k: M] X[i, k]\n"},
        NormalCase{kNormalHeader, "out Y[i: N] = (sum[k: M where i > 1] X[i, k]) where i > 1 else 3",
                   "out Y[i: N]: f32 = Y.1[i] where i >= 2 else 3.0\n"
                   "let Y.1[i: N]: f32 where i >= 2 = sum[k: M] X[i, k]\n"},
        // the sum inside counts where the one around it has points
        NormalCase{kNormalHeader,
                   "out Y[i: N] = sum[k: M where i > 0] X[i, k] * max[l: M where k > 0 and i > 0] X[i, l]",
                   "out Y[i: N]: f32 where i > 0 = sum[k: M] X[i, k] * (Y.1[i] where k > 0 else -inf)\n"
                   "out Y[i: N]: f32 where i <= 0 = 0.0\n"
                   "let Y.1[i: 1..N]: f32 where M >= 2 = max[l: M] X[i, l]\n"},
        NormalCase{kNormalHeader,
                   "combine f((m, s), (n, t)): (f32, f32) from (0, 1) = (m + n, s * t)\n"
                   "let (a, b)[i: N] = reduce f[k: M where i > 1] (X[i, k], 1)\nout Y[i: N] = a[i] + b[i]",
                   "let (a, b)[i: N]: (f32, f32) where i >= 2 = reduce f[k: M] (X[i, k], 1.0)\n"
                   "out Y[i: N]: f32 = a[i] + b[i]\n"
                   "let (a, b)[i: N]: (f32, f32) where i < 2 = (0.0, 1.0)\n"},
        NormalCase{kNormalHeader,
                   "combine f((m, s), (n, t)): (f32, f32) from (0, 1) = (m + n, s * t)\n"
                   "let (a, b)[i: N] = reduce f[k: M where i > 1] (X[i, k], 1) where i != 2 else (5, 6)\nout Y[i: N] = "
                   "a[i] + b[i]",
                   "let (a, b)[i: N]: (f32, f32) = ((a.1[i] where i >= 2 else 0.0) where i != 2 else 5.0, (a.2[i] "
                   "where i >= 2 else 1.0) where i != 2 else 6.0)\n"
                   "out Y[i: N]: f32 = a[i] + b[i]\n"
                   "let (a.1, a.2)[i: N]: (f32, f32) where i != 2 and i >= 2 = reduce f[k: M] (X[i, k], 1.0)\n"},
        NormalCase{kNormalHeader, "out partial p[i: N] where i > 0 = argmax[k: M where i > 0] X[i, k]",
                   "let (p.1, p)[i: N]: (f32, i64) where i > 0 = argmax[k: M] X[i, k]\n"}));

constexpr const char* kMatrices =
    "program p(T = 3)\nin a: f64\nin A: f64[20, 24]\nin B: f64[24, 20]\nconst in W: f64[24, 20]\nin v: f64[20]\nin H: "
    "f16[20, 24]\n";

// What is the same for many points of a sum has a tensor of its own.
INSTANTIATE_TEST_SUITE_P(
    RepeatedValues, Normalized,
    testing::Values(
        NormalCase{
            kMatrices, "out C[i: 20, j: 20] = sum[k: 24] a * A[i, k] * B[k, j]",
            "out C[i: 20, j: 20]: f64 = sum[k: 24] C.e1[i, k] * B[k, j]\nlet C.e1[i: 20, k: 24]: f64 = a * A[i, k]\n"},
        // both factors, inside an expression; conditions on what they need
        NormalCase{kMatrices, "out C[i: 20, j: 20] = a * sum[k: 24 where k != 3] (A[i, k] - v[i]) * exp(B[k, j])",
                   "out C[i: 20, j: 20]: f64 = a * C.1[i, j]\nlet C.e1[i: 20, k: 24]: f64 where k != 3 = A[i, k] - "
                   "v[i]\nlet C.e2[k: 24, j: 20]: f64 where k != 3 = exp(B[k, "
                   "j])\n"
                   "let C.1[i: 20, j: 20]: f64 = sum[k: 24 where k != 3] C.e1[i, k] * C.e2[k, j]\n"},
        // triangles: all j below some i; of two ranges that an index bounds no product of two is made
        NormalCase{kMatrices, "out partial C[i: 20, j: 0..i+1] = sum[k: 24] A[j, k] * a * B[k, i]",
                   "out partial C[i: 20, j: i + 1]: f64 = sum[k: 24] C.e1[j, k] * B[k, i]\nlet C.e1[j: 20, k: 24]: f64 "
                   "= A[j, k] * a\n"},
        NormalCase{kMatrices, "out partial C[i: 20, j: i..20] = sum[k: 20-i..24] A[j, k] / a * B[k, i]",
                   "out partial C[i: 20, j: i..20]: f64 = sum[k: -i + 20..24] A[j, k] / a * B[k, i]\n"},
        // a product under a sum is one operation with it
        NormalCase{kMatrices, "out C[i: 20, j: 20] = sum[k: 24] (a * A[i, k] + B[k, j])",
                   "out C[i: 20, j: 20]: f64 = sum[k: 24] (a * A[i, k] + B[k, j])\n"},
        NormalCase{kMatrices, "out C[i: 20, j: 20] = max[k: 24] (a + A[i, k] + B[k, j])",
                   "out C[i: 20, j: 20]: f64 = max[k: 24] (C.e1[i, k] + B[k, j])\nlet C.e1[i: 20, k: 24]: f64 = a + "
                   "A[i, k]\n"},
        // what stands there twice is one
        NormalCase{kMatrices, "out C[i: 20, j: 20] = sum[k: 24] (a - A[i, k]) * B[k, j] * exp(a - A[i, k])",
                   "out C[i: 20, j: 20]: f64 = sum[k: 24] C.e1[i, k] * B[k, j] * C.e2[i, k]\nlet C.e1[i: 20, k: 24]: "
                   "f64 = a - A[i, k]\nlet C.e2[i: 20, k: 24]: f64 = exp(a - "
                   "A[i, k])\n"},
        NormalCase{kMatrices, "out C[i: 20, j: 20] = sum[k: 24] (a - A[i, k]) * (B[k, j] + (a - A[i, k]))",
                   "out C[i: 20, j: 20]: f64 = sum[k: 24] C.e1[i, k] * (B[k, j] + C.e1[i, k])\nlet C.e1[i: 20, k: 24]: "
                   "f64 = a - A[i, k]\n"},
        // few repetitions, sizes that are not known, weights that are packed ahead, larger than what it is made of, no
        // element for each point, what the sum itself makes
        NormalCase{kMatrices, "out C[i: 20, j: 15] = sum[k: 24] a * A[i, k] * B[k, j]",
                   "out C[i: 20, j: 15]: f64 = sum[k: 24] a * A[i, k] * B[k, j]\n"},
        NormalCase{kMatrices, "out C[i: 20, j: T] = sum[k: 24] a * A[i, k] * B[k, 0]",
                   "out C[i: 20, j: T]: f64 = sum[k: 24] a * A[i, k] * B[k, 0]\n"},
        NormalCase{kMatrices, "out C[i: 20, j: 20] = sum[k: 24] A[i, k] * (W[k, j] * a)",
                   "out C[i: 20, j: 20]: f64 = sum[k: 24] A[i, k] * (W[k, j] * a)\n"},
        NormalCase{kMatrices, "out C[i: 20, j: 20] = sum[k: 24] f32(H[i, k]) * 2.0 * f32(B[k, j])",
                   "out C[i: 20, j: 20]: f32 = sum[k: 24] f32(H[i, k]) * 2.0 * f32(B[k, j])\n"},
        NormalCase{kMatrices, "out C[i: 8, j: 20, l: 3] = sum[k: 12, r: 3] (A[i + r, k + l] + a) * B[k, j]",
                   "out C[i: 8, j: 20, l: 3]: f64 = sum[k: 12, r: 3] (A[i + r, l + k] + a) * B[k, j]\n"},
        NormalCase{kMatrices,
                   "let x[0, i: 20] = v[i]\nlet x[t: 1..4, i: 20] = sum[k: 20] (a + x[t-1, k]) * B[k, i]\nout y[i: 20] "
                   "= x[3, i]",
                   "let x[0, i: 20]: f64 = v[i]\nlet x[t: 1..4, i: 20]: f64 = sum[k: 20] (a + x[t - 1, k]) * B[k, "
                   "i]\nout y[i: 20]: f64 = x[3, i]\n"}));

INSTANTIATE_TEST_SUITE_P(
    InvariantDims, Normalized,
    testing::Values(
        // The elimination of a tridiagonal system: the pivots are one line for all lines and times.
        NormalCase{
            "program p(T = 3, N = 5)\nin X: f64[N]\n",
            "let p[t: T, 0, i: N]: f64 = 0.0\nlet p[t: T, j: 1..4, i: N]: f64 = 1.0 / (0.5 * p[t, j-1, i] + 2.0)\n"
            "let q[t: T, 0, i: N]: f64 = X[i]\nlet q[t: T, j: 1..4, i: N]: f64 = (X[i] - q[t, j-1, i]) / (0.5 * p[t, "
            "j-1, i] + 2.0)\n"
            "out r[t: T, j: 4, i: N]: f64 = p[t, j, i] * q[t, j, i]\n",
            "let p[0]: f64 = 0.0\nlet p[j: 1..4]: f64 = 1.0 / (0.5 * p[j - 1] + 2.0)\n"
            "let q[0, i: N]: f64 = X[i]\nlet q[j: 1..4, i: N]: f64 = (X[i] - q[j - 1, i]) / (0.5 * p[j - 1] + 2.0)\n"
            "out r[t: T, j: 4, i: N]: f64 = p[j] * q[j, i]\n"},
        // Two that need each other; other elements along a dimension that is left out are the same ones.
        NormalCase{"program p(T = 3)\nin X: i32[4]\n",
                   "let a[t: T, 0] = 1\nlet b[t: T, 0] = 2\nlet a[t: T, j: 1..4] = a[2, j-1] + b[t, j-1]\nlet b[t: T, "
                   "j: 1..4] = b[t, j-1] * a[0, j] + X[j]\n"
                   "out r[t: T, j: 4] = a[t, j] + b[0, j]\n",
                   "let a[0]: i32 = 1\nlet b[0]: i32 = 2\nlet a[j: 1..4]: i32 = a[j - 1] + b[j - 1]\nlet b[j: 1..4]: "
                   "i32 = b[j - 1] * a[j] + X[j]\n"
                   "out r[t: T, j: 4]: i32 = a[j] + b[j]\n"},
        // Not along t: a condition, a range, a value, an input, a output, a place that data give.
        NormalCase{"program p(T = 3)\nin X: i32[T]\nin G: i64[4] values 0..T\n",
                   "let a[t: T, 0]: i32 = 1\nlet a[t: T, j: 1..4]: i32 = a[t, j-1] + (5 where t >= 1 else 2)\n"
                   "let b[t: T, 0]: i32 = 1\nlet b[t: T, j: 1..4] = b[t, j-1] + i32(t)\n"
                   "let c[t: T, 0] = X[t]\nlet c[t: T, j: 1..4] = c[t, j-1] + 1\n"
                   "let d[0, j: 4]: i32 = 1\nlet d[t: 1..T, j: 4] = d[t-1, j] + 1\n"
                   "let e[t: T, 0]: i32 = 1\nlet e[t: T, j: 1..4] = e[t, j-1] + 1\n"
                   "out f[t: T, 0]: i32 = 1\nout f[t: T, j: 1..4] = f[t, j-1] + 1\n"
                   "out r[t: T, j: 4] = a[t, j] + b[t, j] + c[t, j] + d[t, j] + e[G[j], j]\n",
                   "let a[t: T, 0]: i32 = 1\nlet a[t: T, j: 1..4]: i32 = a[t, j - 1] + (5 where t > 0 else 2)\n"
                   "let b[t: T, 0]: i32 = 1\nlet b[t: T, j: 1..4]: i32 = b[t, j - 1] + i32(t)\n"
                   "let c[t: T, 0]: i32 = X[t]\nlet c[t: T, j: 1..4]: i32 = c[t, j - 1] + 1\n"
                   "let d[0]: i32 = 1\nlet d[t: 1..T]: i32 = d[t - 1] + 1\n"
                   "let e[t: T, 0]: i32 = 1\nlet e[t: T, j: 1..4]: i32 = e[t, j - 1] + 1\n"
                   "out f[t: T, 0]: i32 = 1\nout f[t: T, j: 1..4]: i32 = f[t, j - 1] + 1\n"
                   "out r[t: T, j: 4]: i32 = a[t, j] + b[t, j] + c[t, j] + d[t] + e[G[j], j]\n"},
        // A range that may be empty: what nobody needs is not computed.
        NormalCase{"program p(T = 3) assume T >= 0\nin X: i32[4]\n",
                   "let a[t: T, 0] = 1\nlet a[t: T, j: 1..4] = a[t, j-1] + X[j]\nout r[t: T, j: 4] = a[t, j]\n",
                   "let a[t: T, 0]: i32 = 1\nlet a[t: T, j: 1..4]: i32 = a[t, j - 1] + X[j]\nout r[t: T, j: 4]: i32 = "
                   "a[t, j]\n"}));

using Point = std::vector<int64_t>;

/// Calls f with the values of all variables at each point of the ranges.
template <class F>
void for_points(const std::vector<IndexRange>& ranges, size_t from, Point& values, const F& f) {
  if (from == ranges.size()) return f();
  const IndexRange& range = ranges[from];
  for (int64_t v = evaluate(range.lo, values), end = evaluate(range.hi, values); v < end; ++v) {
    values[range.var] = v;
    for_points(ranges, from + 1, values, f);
  }
}

bool holds(const Guard& g, const Point& values) {
  switch (g.kind) {
    case Guard::Kind::all:
      return std::all_of(g.of.begin(), g.of.end(), [&](const Guard& each) { return holds(each, values); });
    case Guard::Kind::any:
      return std::any_of(g.of.begin(), g.of.end(), [&](const Guard& each) { return holds(each, values); });
    case Guard::Kind::negation:
      return !holds(g.of[0], values);
    case Guard::Kind::ge0:
      return evaluate(g.e, values) >= 0;
    case Guard::Kind::eq0:
      return evaluate(g.e, values) == 0;
  }
  return false;
}

/// The nodes that count at a point: not the branch of a condition that is not taken.
void visit_taken(const Expr& e, const Point& values, const std::function<void(const ExprNode&)>& f) {
  f(*e);
  if (e->op == Op::guarded) return visit_taken(e->args[holds(e->guard, values) ? 0 : 1], values, f);
  for (const Expr& arg : e->args) visit_taken(arg, values, f);
}

/// Elements of T that are defined, and those that are read, by enumeration.
std::pair<std::set<Point>, std::set<Point>> elements_of(const Program& program, TensorId tensor) {
  std::pair<std::set<Point>, std::set<Point>> out;
  for (const Equation& equation : program.equations) {
    std::vector<IndexRange> ranges;
    for (const Slot& slot : equation.slots) ranges.push_back({slot.var, slot.lo, slot.hi});
    const size_t slots = ranges.size();
    Guard inner;
    if (equation.rhs->op == Op::reduce) {
      ranges.insert(ranges.end(), equation.rhs->reduction.ranges.begin(), equation.rhs->reduction.ranges.end());
      inner = equation.rhs->reduction.where;
    }
    Point values(program.index_var(0) + 16);
    for_points(ranges, 0, values, [&] {
      if (!holds(equation.where, values) || !holds(inner, values)) return;
      Point element;
      for (size_t k = 0; k < slots; ++k) element.push_back(values[ranges[k].var]);
      if (equation.targets[0] == tensor) out.first.insert(element);
      visit_taken(equation.rhs, values, [&](const ExprNode& node) {
        if (node.op != Op::read || node.access.id != tensor) return;
        Point read;
        for (const Subscript& s : node.access.index) read.push_back(evaluate(s.affine, values));
        out.second.insert(read);
      });
    });
  }
  return out;
}

// Boxes, triangles and bands of indices, conditions, values of one, two or three indices: the bits stay, and exactly
// what is read is made.
TEST(RepeatedValues, have_an_element_for_each_value_that_is_used) {
  int made = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    std::mt19937_64 random(seed);
    const auto one_of = [&](const std::vector<std::string>& texts) { return texts[random() % texts.size()]; };
    const std::string i = one_of({"18", "1..18", "2..19"}),
                      j = one_of({"18", "i+1", "i..19", "18-i", "i..i+2", "3..18", "17"});
    const std::string k = one_of({"17", "i+1", "i..18", "18-i", "j+1", "j..19", "i+j+1", "i..j+20"}),
                      where =
                          one_of({"", "", "", " where k != 3", " where k > i", " where j < 9", " where i + k < 20"});
    const std::string x = one_of({"i", "j", "k"}), y = one_of({"i", "j", "k"});
    const std::string value = one_of({"a * A[" + x + ", k]", "(A[k, " + x + "] - a)", "exp(A[" + x + ", k])",
                                      "(A[" + x + ", k] / v[" + y + "])", "(A[" + x + ", k] + B[k, " + x + "])",
                                      "(-A[k, " + x + "] * a)", "max(a, A[k + 1, " + x + "])"});
    const std::string body = one_of({"VALUE * B[k, j]", "B[k, i] * VALUE", "max(VALUE, B[j, k])", "(VALUE + B[k, i])",
                                     "VALUE * (VALUE + B[i, k])", "v[j] * VALUE"});
    std::string full = body;
    for (size_t at; (at = full.find("VALUE")) != std::string::npos;) full.replace(at, 5, value);
    const std::string text =
        "program p(N = 1)\nin a: f64\nin A: f64[60, 60]\nin B: f64[60, 60]\nin v: f64[60]\nout partial C[i: " + i +
        ", j: " + j + "]: f64 = 1.0 + " + one_of({"sum", "max", "min"}) + "[k: " + k + where + "] " + full;
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    const Program program = parsed_source(text), normal = normalize(program);
    EXPECT_EQ(bits_of(program), bits_of(normal));
    for (TensorId t = 0; t < normal.tensors.size(); ++t) {
      if (normal.tensors[t].name.find(".e") == std::string::npos) continue;
      ++made;
      const auto [defined, read] = elements_of(normal, t);
      EXPECT_EQ(defined, read) << print(normal);
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(made, 100);
}

}  // namespace
}  // namespace polyweft
