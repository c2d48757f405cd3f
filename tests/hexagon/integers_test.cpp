// Integers and fixed point on whole vectors: bits of the interpreter, and the instructions that they should be.
#include <regex>
#include <string>
#include <vector>

#include "emulated/emulated.h"
#include "hexagon/emulated.h"
#include "polyweft/tuner.h"

namespace polyweft::hexagon_test {
namespace {

struct Case {
  const char *name, *text;
  std::vector<const char*> instructions;  ///< that its code must have
};

/// Sizes that are no multiples of a vector.
const Case kCases[] = {
    {"product of unsigned and signed bytes",
     "program g(M = 13, N = 70, K = 37)\nin A: u8[M, K]\nin B: i8[K, N]\nout C[i: M, j: N] = sum[k: K] i32(A[i, k]) * "
     "i32(B[k, j])\n",
     {"vrmpy("}},
    {"product of signed bytes",
     "program g(M = 13, N = 70, K = 37)\nin A: i8[M, K]\nin B: i8[K, N]\nout C[i: M, j: N] = sum[k: K] i32(A[i, k]) * "
     "i32(B[k, j])\n",
     {"vrmpy("}},
    {"product of unsigned bytes",
     "program g(M = 13, N = 70, K = 37)\nin A: u8[M, K]\nin B: u8[K, N]\nout C[i: M, j: N] = sum[k: K] i32(A[i, k]) * "
     "i32(B[k, j])\n",
     {"vrmpy("}},
    {"row times row",
     "program d(M = 9, K = 600)\nin A: i8[M, K]\nin B: i8[M, K]\nout C[i: M] = sum[k: K] i32(A[i, k]) * i32(B[i, k])\n",
     {"vrmpy("}},
    {"convolution with padding, requantized",
     "program c(H = 17, W = 19, C = 8, F = 40)\nin X: u8[H, W, C]\nin K: i8[3, 3, C, F]\nin b: i32[F]\n"
     "let S[y: H, x: W, f: F] = b[f] + sum[r: 3, s: 3, c: C where 0 <= y + r - 1 < H and 0 <= x + s - 1 < W] "
     "i32(X[y + r - 1, x + s - 1, c]) * i32(K[r, s, c, f])\n"
     "out Y[y: H, x: W, f: F] = sat_u8((S[y, x, f] + 64) >> 7)\n",
     {"vrmpy("}},
    {"depthwise convolution",
     "program dw(H = 14, W = 15, C = 160)\nin X: u8[H + 2, W + 2, C]\nin K: i8[3, 3, C]\n"
     "out Y[y: H, x: W, c: C] = sum[r: 3, s: 3] i32(X[y + r, x + s, c]) * i32(K[r, s, c])\n",
     {"vmem"}},
    {"greatest of windows",
     "program p(H = 12, W = 11, C = 200)\nin X: u8[2 * H, 2 * W, C]\n"
     "out Y[y: H, x: W, c: C] = max[r: 2, s: 2] X[2 * y + r, 2 * x + s, c]\n",
     {"vmax("}},
    {"relu", "program r(N = 1000)\nin X: i8[N]\nout Y[i: N] = max(i8(0), X[i])\n", {"vmax("}},
    {"relu of words",
     "program r(N = 1000)\nin X: i32[N]\nin B: i32[N]\nout Y[i: N] = max(0, X[i] + B[i])\n",
     {"vmax(", "vadd("}},
    {"sums of short numbers",
     "program s(N = 1000)\nin X: i16[N]\nin Z: i16[N]\nout Y[i: N] = X[i] * i16(3) + Z[i]\n",
     {"vadd("}},
    {"saturated sums",
     "program s(N = 1000)\nin X: i16[N]\nin Z: i16[N]\nout Y[i: N] = sat_i16(i32(X[i]) + i32(Z[i]))\n",
     {}},
    {"softmax in fixed point",
     "program softmax(M = 7, N = 90)\nin X: i8[M, N]\nin table: i32[256]\n"
     "let top[i: M] = max[j: N] i32(X[i, j])\n"
     "let e[i: M, j: N] = table[clamp(top[i] - i32(X[i, j]), 0, 255)]\n"
     "let s[i: M] = sum[j: N] e[i, j] >> 12\n"
     "out Y[i: M, j: N] = sat_u8((e[i, j] >> 4) // max(1, s[i]))\n",
     {}},
    {"select and compare",
     "program c(N = 500)\nin X: i32[N]\nin Z: u8[N]\nout Y[i: N] = select(X[i] > 7, X[i] << 2, i32(Z[i]) - X[i])\n",
     {}},
    {"stencil of words",
     "program st(H = 20, W = 210)\nin X: i32[H + 2, W + 2]\nout Y[y: H, x: W] = (X[y, x + 1] + X[y + 2, x + 1] + "
     "X[y + 1, x] + X[y + 1, x + 2] + 4 * X[y + 1, x + 1]) >> 3\n",
     {"vadd("}},
    {"transposed bytes", "program t(M = 130, N = 140)\nin X: u8[M, N]\nout Y[j: N, i: M] = X[i, j]\n", {}},
    {"prefix sums of words",
     "program ps(N = 300)\nin X: i32[N]\nout S[i: N] = X[i] + (S[i-1] where i >= 1 else 0)\n",
     {}},
};

class HexagonIntegers : public Hexagon {
 protected:
  static std::string shown(Tuner& tuner, const Program& program, ShowStage stage) {
    auto text = tuner.show(program, TaskOptions{}, stage);
    EXPECT_TRUE(text) << text.error().message;
    return text ? *text : "";
  }
};

TEST_F(HexagonIntegers, first_choices_give_the_bits_of_the_interpreter) {
  Tuner tuner(target_, TunerOptions{});
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto program = parse_program(c.text);
    ASSERT_TRUE(program) << program.error().message;
    const auto nest = parse_loop_nest(shown(tuner, *program, ShowStage::loops));
    ASSERT_TRUE(nest) << nest.error().message;
    for (uint64_t seed = 1; seed <= 2; ++seed)
      EXPECT_EQ(emulated_test::emulated_difference(*nest, target_, seed), "") << print(*nest);
    const auto code = backend_.emit(*nest, target_, Emit::assembly, {"kernel_of_test"});
    ASSERT_TRUE(code) << code.error().message;
    const std::string text(code->begin(), code->end());
    for (const char* instruction : c.instructions)
      EXPECT_NE(text.find(instruction), std::string::npos) << instruction << "\n" << print(*nest);
  }
}

}  // namespace
}  // namespace polyweft::hexagon_test
