// Halves: computed in halves where the target has fullfp16, through f32 elsewhere; the interpreter's bits either way.
#include <gtest/gtest.h>

#include <string>

#include "emulated/emulated.h"
#include "polyweft/tuner.h"

namespace polyweft::aarch64_test {
namespace {

using emulated_test::emulated_difference;

constexpr const char* kPrograms[] = {
    "program product(M = 9, N = 20, K = 13)\nin A: f16[M, K]\nin B: f16[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * "
    "B[k, j]\n",
    "program mixed(N = 45)\nin X: f16[N]\nin Y: f16[N]\nout Z[i: N] = max(X[i], Y[i]) / (X[i] - Y[i]) + "
    "sqrt(X[i])\nout W[i: N] = f16(f32(X[i]) * 0.3 + f32(Y[i]))\n",
    "program rows(M = 5, N = 37)\nin X: f16[M, N]\nlet m[i: M] = max[j: N] X[i, j]\nout Y[i: M, j: N] = X[i, j] - "
    "m[i]\nout s[i: M] = sum[j: N] X[i, j]\n",
};

TEST(Halves, give_the_bits_of_the_interpreter) {
  for (const char* text : kPrograms)
    for (const char* level : {"aarch64", "aarch64-v8.2"})
      for (const NumericsClass cls : {NumericsClass::strict, NumericsClass::reassoc}) {
        SCOPED_TRACE(std::string(text) + level + " " + name_of(cls));
        const auto program = parse_program(text);
        ASSERT_TRUE(program) << program.error().message;
        Tuner tuner(find_target(level).value(), TunerOptions{});
        TaskOptions options;
        options.cls = cls;
        const auto loops = tuner.show(*program, options, ShowStage::loops);
        ASSERT_TRUE(loops) << loops.error().message;
        auto nest = parse_loop_nest(*loops);
        ASSERT_TRUE(nest) << nest.error().message;
        if (nest->auto_vectorized)
          nest->cls = NumericsClass::strict;  // else LLVM sums in another order than the interpreter
        EXPECT_EQ(emulated_difference(*nest, tuner.target(), 11), "");
      }
}

TEST(Halves, are_multiplied_and_added_in_halves) {
  const auto has_half_sums = [](const char* level) {
    Tuner tuner(find_target(level).value(), TunerOptions{});
    const auto code = tuner.show(parse_program(kPrograms[0]).value(), {}, ShowStage::assembly);
    EXPECT_TRUE(code) << code.error().message;
    const size_t at = code->find("\tfmla\tv");
    return at != std::string::npos && code->substr(at, 20).find(".8h") != std::string::npos;
  };
  EXPECT_TRUE(has_half_sums("aarch64-v8.2"));
  EXPECT_FALSE(has_half_sums("aarch64"));
}

}  // namespace
}  // namespace polyweft::aarch64_test
