// compare_outputs: what run --verify says of two results.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "driver/kernel_impl.h"

namespace polyweft {
namespace {

TensorData floats(ElementType type, const std::vector<double>& values) {
  TensorData data = make_tensor(type, {2, static_cast<int64_t>(values.size()) / 2});
  for (size_t i = 0; i < values.size(); ++i) data.set(static_cast<int64_t>(i), {type, values[i], 0});
  return data;
}

ArgumentSpec output() {
  ArgumentSpec spec;
  spec.name = "C";
  spec.type = ElementType::f32;
  spec.extents = {2, 2};
  spec.is_output = true;
  return spec;
}

Comparison compare(const std::vector<double>& got, const std::vector<double>& want, const Tolerance& tolerance) {
  return compare_outputs({output()}, {floats(ElementType::f32, got)}, {floats(ElementType::f32, want)}, tolerance,
                         "the kernel");
}

TEST(CompareOutputs, each_element_has_its_own_bound) {
  const Tolerance tolerance{false, 0, {floats(ElementType::f64, {0.5, 0.5, 0.5, 0.125})}};
  const Comparison within = compare({1, 2, 3, 4.125}, {1.25, 2, 3, 4}, tolerance);
  EXPECT_TRUE(within.equal);
  EXPECT_EQ(within.detail, "4 elements of the kernel equal the base nest's (at most 1.000 of the error bound)");
  const Comparison outside = compare({1, 2, 3, 4.25}, {1.25, 2, 3, 4}, tolerance);
  EXPECT_FALSE(outside.equal);
  EXPECT_EQ(outside.detail, "C[1,1] is 4.25, the reference has 4; they may differ by 0.125");
}

TEST(CompareOutputs, strict_results_agree_bit_for_bit) {
  const Tolerance tolerance{true, 1, {}};
  EXPECT_EQ(compare({1, 2, 3, 4}, {1, 2, 3, 4}, tolerance).detail,
            "4 elements of the kernel equal the base nest's, bit for bit");
  EXPECT_EQ(compare({1, 2, 3, 4}, {1, 2.0000002384185791, 3, 4}, tolerance).detail,
            "C[0,1] is 2, the reference has 2.00000024");
}

TEST(CompareOutputs, without_bounds_the_rule_of_thumb_counts_and_says_so) {
  const Tolerance tolerance{false, 0.25, {}};
  EXPECT_EQ(compare({1, 2, 3, 4}, {1, 2, 3, 4}, tolerance).detail,
            "4 elements of the kernel equal the base nest's (at most 0.000 of the rule of thumb)");
  EXPECT_FALSE(compare({1, 2, 3, 5.5}, {1, 2, 3, 4}, tolerance).equal);
}

TEST(CompareOutputs, values_below_the_normal_numbers_are_rounded_by_absolute_amounts) {
  const Tolerance tolerance{false, 1e-6, {}};
  EXPECT_TRUE(compare({0, 0, 0, 0}, {0, 0, 0, -0x1p-149}, tolerance).equal);
  EXPECT_FALSE(compare({0, 0, 0, 0}, {0, 0, 0, 0x1p-126}, tolerance).equal);
}

TEST(CompareOutputs, what_is_not_finite_is_not_judged_and_said) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const Tolerance some{false, 0, {floats(ElementType::f64, {nan, 0.5, 0.5, 0.5})}};
  const Comparison two = compare({1, 9, 3, 4}, {1.1, inf, 3, 4.5}, some);
  EXPECT_TRUE(two.equal && two.is_tested);
  EXPECT_EQ(two.detail,
            "2 elements of the kernel equal the base nest's (at most 1.000 of the error bound); 2 more are not judged: "
            "C[0,0] has no finite error bound");
  EXPECT_FALSE(compare({1, 9, 3, 5.5}, {1.1, inf, 3, 4.5}, some).equal) << "the others are";
  EXPECT_FALSE(compare({1, nan, 3, 4}, {1.1, 2, 3, 4}, some).equal) << "a NaN of the kernel's own";
  const Comparison none = compare({1, 2, 3, 4}, {nan, nan, inf, -inf}, {false, 1, {}});
  EXPECT_FALSE(none.is_tested);
  EXPECT_EQ(none.detail, "none of the 4 elements is judged: C[0,0] is nan in the reference");
  EXPECT_TRUE(compare({nan, 2, 3, 4}, {nan, 2, 3, 4}, {true, 0, {}}).equal);
  EXPECT_FALSE(compare({nan, 2, 3, 4}, {1, 2, 3, 4}, {true, 0, {}}).equal) << "strict";
}

TEST(CompareOutputs, whole_numbers_that_a_comparison_decides_may_differ_by_their_bound) {
  ArgumentSpec spec = output();
  spec.type = ElementType::i32;
  const auto whole = [](const std::vector<int64_t>& values) {
    TensorData data = make_tensor(ElementType::i32, {2, 2});
    for (size_t i = 0; i < values.size(); ++i) data.set(static_cast<int64_t>(i), {ElementType::i32, 0, values[i]});
    return data;
  };
  const auto said = [&](const std::vector<int64_t>& got, std::vector<TensorData> bounds) {
    return compare_outputs({spec}, {whole(got)}, {whole({1, 2, 3, 4})},
                           {false, 1, std::move(bounds), "'z <= 4.0' in line 9"}, "the kernel");
  };
  const std::vector<TensorData> bounds = {floats(ElementType::f64, {0, 2, 0, 0})};
  const Comparison within = said({1, 4, 3, 4}, bounds);
  EXPECT_TRUE(within.equal);
  EXPECT_NE(within.detail.find("; 1 whole numbers differ by no more than 'z <= 4.0' in line 9 lets them"),
            std::string::npos)
      << within.detail;
  EXPECT_EQ(said({1, 5, 3, 4}, bounds).detail,
            "C[0,1] is 5, the reference has 2; they may differ by 2, which 'z <= 4.0' in line 9 decides");
  EXPECT_EQ(said({1, 2, 3, 5}, bounds).detail, "C[1,1] is 5, the reference has 4");
  EXPECT_FALSE(said({1, 3, 3, 4}, {}).equal) << "without bounds whole numbers are exact";
}

}  // namespace
}  // namespace polyweft
