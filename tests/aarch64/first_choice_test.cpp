// The first choice of a matrix product keeps NEON's registers: its inner loop is multiply-adds of vectors, spills
// nothing, and keeps the pipes of LLVM's Neoverse V2 busy.
#include <gtest/gtest.h>

#include <algorithm>

#include "polyweft/tuner.h"

namespace polyweft::aarch64_test {
namespace {

TEST(FirstChoice, of_a_product_keeps_the_registers) {
  constexpr double kPipes = 4;  // of Neoverse V2: vector multiply-adds a cycle
  Tuner tuner(find_target("aarch64-v8.6").value(), TunerOptions{});
  const auto program = load_program(PW_SOURCE_DIR "/examples/01_gemm.weft");
  ASSERT_TRUE(program) << program.error().message;
  const auto assembly = tuner.assembly(*program, {});
  ASSERT_TRUE(assembly) << assembly.error().message;
  EXPECT_EQ(assembly->model, "neoverse-v2");
  const auto hot =
      std::find_if(assembly->loops.begin(), assembly->loops.end(), [](const LoopCost& loop) { return loop.hot; });
  ASSERT_NE(hot, assembly->loops.end());
  EXPECT_GE(hot->fmas, 16);
  EXPECT_EQ(hot->spills, 0);
  EXPECT_EQ(hot->stores, 0);
  EXPECT_GE(hot->fmas / (kPipes * hot->cycles), 0.85);
}

}  // namespace
}  // namespace polyweft::aarch64_test
