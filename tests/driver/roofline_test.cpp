// Bounds that no measurement beats: the peak of the fastest unit that a program can use, and of its record's target.
#include <gtest/gtest.h>

#include "driver/tune_start.h"

namespace polyweft {
namespace {

Task product_of(const std::string& factor, const std::string& sum, const Target& target) {
  auto program = parse_program("program p(N = 64)\nin A: " + factor + "[N, N]\nin B: " + factor +
                               "[N, N]\nout C[i: N, j: N] = sum[k: N] " + sum + "(A[i, k]) * " + sum + "(B[k, j])\n");
  EXPECT_TRUE(program.ok()) << program.error().message;
  return make_task(*program, {}, target).value();
}

struct UnitCase {
  const char *target, *factor, *sum;
  double rate;  ///< of multiply-adds of f32 in vectors
};

/// Lanes of bytes hold four times as many; a tile of 16 x 64 x 16 bytes takes as long as 32 multiply-adds of 16 lanes.
TEST(Roofline, the_fastest_unit_that_a_program_can_use_bounds_it) {
  for (const UnitCase& c : {UnitCase{"x86-64-v3", "f32", "f32", 1},
                            {"x86-64-v3", "f64", "f64", 0.5},
                            {"x86-64-v3", "i8", "i32", 4},
                            {"x86-64-v3", "i16", "i32", 2},
                            {"x86-64-v3", "i32", "i32", 1},
                            {"x86-64-v3", "i64", "i64", 0.5},
                            {"x86-64-v3", "u8", "f32", 4},
                            {PW_SOURCE_DIR "/targets/descriptions/amx-server.toml", "i8", "i32", 32},
                            {PW_SOURCE_DIR "/targets/descriptions/amx-server.toml", "bf16", "f32", 16}}) {
    const auto target = find_target(c.target);
    ASSERT_TRUE(target.ok()) << target.error().message;
    EXPECT_DOUBLE_EQ(fastest_factor(product_of(c.factor, c.sum, *target), *target), c.rate)
        << c.target << " " << c.factor;
  }
}

TEST(Roofline, a_bound_that_a_measurement_beats_is_none) {
  EXPECT_EQ(believable_bound_ns(222, 507), 222);
  EXPECT_EQ(believable_bound_ns(507, 500), 500) << "within the noise of two measurements";
  EXPECT_EQ(believable_bound_ns(507, 222), 0);
  EXPECT_EQ(believable_bound_ns(507, 0), 507) << "nothing was measured";
}

TEST(Roofline, the_peak_of_a_tensor_instruction_is_taken_as_it_is) {
  TuneStart plan;
  plan.fastest_over_peak = 4;
  EXPECT_EQ(fastest_gflops(plan, 100, "f32 multiply-adds"), 400);
  EXPECT_EQ(fastest_gflops(plan, 100, "tdpbusd"), 100);
}

}  // namespace
}  // namespace polyweft
