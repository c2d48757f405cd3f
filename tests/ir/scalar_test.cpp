#include "ir/values/scalar.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

namespace polyweft {
namespace {

using enum ElementType;

Literal real(ElementType type, double value) {
  return ir::float_literal(type, value);
}
Literal whole(ElementType type, int64_t value) {
  return ir::integer_literal(type, value);
}
Literal of(Op op, ElementType type, std::vector<Literal> args) {
  return ir::apply(op, type, args);
}

TEST(Scalar, integers_wrap) {
  EXPECT_EQ(of(Op::add, i8, {whole(i8, 127), whole(i8, 1)}).i, -128);
  EXPECT_EQ(of(Op::mul, i64, {whole(i64, INT64_MAX), whole(i64, 2)}).i, -2);
  EXPECT_EQ(of(Op::neg, i16, {whole(i16, -32768)}).i, -32768);
  EXPECT_EQ(of(Op::abs, i32, {whole(i32, INT32_MIN)}).i, INT32_MIN);
  EXPECT_EQ(of(Op::sub, u8, {whole(u8, 0), whole(u8, 1)}).i, 255);
}

TEST(Scalar, division_floors_and_never_traps) {
  EXPECT_EQ(of(Op::floor_div, i32, {whole(i32, -7), whole(i32, 2)}).i, -4);
  EXPECT_EQ(of(Op::floor_mod, i32, {whole(i32, -7), whole(i32, 2)}).i, 1);
  EXPECT_EQ(of(Op::floor_mod, i32, {whole(i32, 7), whole(i32, -2)}).i, -1);
  EXPECT_EQ(of(Op::floor_div, i64, {whole(i64, 5), whole(i64, 0)}).i, 0);
  EXPECT_EQ(of(Op::floor_mod, i64, {whole(i64, 5), whole(i64, 0)}).i, 0);
  EXPECT_EQ(of(Op::floor_div, i64, {whole(i64, INT64_MIN), whole(i64, -1)}).i, INT64_MIN);
  EXPECT_EQ(of(Op::floor_div, i8, {whole(i8, -128), whole(i8, -1)}).i, -128);
  EXPECT_EQ(of(Op::floor_mod, i64, {whole(i64, INT64_MIN), whole(i64, -1)}).i, 0);
}

TEST(Scalar, shifts_take_their_count_modulo_the_width) {
  EXPECT_EQ(of(Op::shl, i8, {whole(i8, 1), whole(i8, 9)}).i, 2);
  EXPECT_EQ(of(Op::shr, i32, {whole(i32, -8), whole(i32, 33)}).i, -4);
  EXPECT_EQ(of(Op::shr, u8, {whole(u8, 200), whole(u8, 3)}).i, 25);
  EXPECT_EQ(of(Op::shl, i64, {whole(i64, 1), whole(i64, -1)}).i, INT64_MIN);
}

TEST(Scalar, float_to_integer_truncates_and_saturates) {
  EXPECT_EQ(of(Op::convert, i8, {real(f32, -3.9)}).i, -3);
  EXPECT_EQ(of(Op::convert, i8, {real(f32, 300)}).i, 127);
  EXPECT_EQ(of(Op::convert, u8, {real(f32, -1)}).i, 0);
  EXPECT_EQ(of(Op::convert, i64, {real(f64, 1e30)}).i, INT64_MAX);
  EXPECT_EQ(of(Op::convert, i64, {real(f64, -1e30)}).i, INT64_MIN);
  EXPECT_EQ(of(Op::convert, i32, {real(f64, NAN)}).i, 0);
}

TEST(Scalar, integer_conversions_wrap_and_saturate_clamps) {
  EXPECT_EQ(of(Op::convert, i8, {whole(i32, 200)}).i, -56);
  EXPECT_EQ(of(Op::saturate, i8, {whole(i32, 200)}).i, 127);
  EXPECT_EQ(of(Op::saturate, u8, {whole(i32, -5)}).i, 0);
  EXPECT_EQ(of(Op::convert, f32, {{boolean, 0, 1}}).f, 1);
}

TEST(Scalar, max_and_min_propagate_nan_and_order_zeros) {
  EXPECT_TRUE(std::isnan(of(Op::max, f32, {real(f32, NAN), real(f32, 1)}).f));
  EXPECT_TRUE(std::isnan(of(Op::min, f64, {real(f64, 1), real(f64, NAN)}).f));
  EXPECT_FALSE(std::signbit(of(Op::max, f32, {real(f32, -0.0), real(f32, 0.0)}).f));
  EXPECT_TRUE(std::signbit(of(Op::min, f32, {real(f32, 0.0), real(f32, -0.0)}).f));
  EXPECT_EQ(of(Op::clamp, f32, {real(f32, 5), real(f32, 0), real(f32, 2)}).f, 2);
  EXPECT_EQ(of(Op::clamp, i32, {whole(i32, 5), whole(i32, 7), whole(i32, 2)}).i, 2);
}

TEST(Scalar, comparisons_with_nan_are_false_but_not_equal) {
  for (Op op : {Op::eq, Op::lt, Op::le, Op::gt, Op::ge})
    EXPECT_EQ(of(op, boolean, {real(f32, NAN), real(f32, 1)}).i, 0);
  EXPECT_EQ(of(Op::ne, boolean, {real(f32, NAN), real(f32, NAN)}).i, 1);
}

TEST(Scalar, round_is_half_to_even) {
  EXPECT_EQ(of(Op::round, f64, {real(f64, 2.5)}).f, 2);
  EXPECT_EQ(of(Op::round, f64, {real(f64, -3.5)}).f, -4);
}

TEST(Scalar, narrow_floats_round_to_nearest_even_once) {
  EXPECT_EQ(real(f16, 1 + 0x1p-11).f, 1);
  EXPECT_EQ(real(f16, 1 + 0x1p-11 + 0x1p-40).f, 1 + 0x1p-10);
  EXPECT_EQ(real(bf16, 1 + 0x1p-8 + 0x1p-50).f, 1 + 0x1p-7);
  EXPECT_EQ(real(f16, 65519.99).f, 65504);
  EXPECT_TRUE(std::isinf(real(f16, 65520).f));
  EXPECT_EQ(real(f16, 0x1p-25).f, 0);
  EXPECT_EQ(real(f16, 0x1.001p-25).f, 0x1p-24);
  EXPECT_EQ(of(Op::convert, bf16, {whole(i64, (int64_t{1} << 62) + (int64_t{1} << 54) + 1)}).f, 0x1.02p62);
}

/// Independent search: the nearest of all values, the even pattern on ties.
TEST(Scalar, every_f16_pattern_round_trips_and_midpoints_go_to_even) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    double value = ir::f16_value(static_cast<uint16_t>(bits)), next = ir::f16_value(static_cast<uint16_t>(bits + 1));
    EXPECT_EQ(ir::f16_bits(value), bits);
    EXPECT_EQ(ir::f16_bits(-value), bits | 0x8000);
    if (bits + 1 == 0x7c00) continue;
    double middle = (value + next) / 2;
    EXPECT_EQ(ir::f16_bits(middle), bits & 1 ? bits + 1 : bits);
    EXPECT_EQ(ir::f16_bits(std::nextafter(middle, 1e9)), bits + 1);
    EXPECT_EQ(ir::f16_bits(std::nextafter(middle, -1.0)), bits);
  }
}

TEST(Scalar, every_bf16_pattern_is_the_top_half_of_an_f32) {
  for (uint32_t bits = 0; bits < 0x7f80; ++bits) {
    float value = std::bit_cast<float>(bits << 16);
    EXPECT_EQ(ir::bf16_value(static_cast<uint16_t>(bits)), value);
    EXPECT_EQ(ir::bf16_bits(value), bits);
    EXPECT_EQ(ir::bf16_bits(std::bit_cast<float>((bits << 16) + 0x8000)), bits & 1 ? bits + 1 : bits);
    EXPECT_EQ(ir::bf16_bits(std::bit_cast<float>((bits << 16) + 0x8001)), bits + 1);
  }
}

TEST(Scalar, f16_arithmetic_rounds_after_each_operation) {
  double third = of(Op::div, f16, {real(f16, 1), real(f16, 3)}).f;
  EXPECT_EQ(third, 0x1.554p-2);
  EXPECT_EQ(of(Op::add, bf16, {real(bf16, 256), real(bf16, 1)}).f, 256);
}

TEST(Scalar, argmax_prefers_nan_then_the_first_index) {
  int64_t first[] = {1}, second[] = {2};
  EXPECT_TRUE(ir::beats(Reducer::argmax, real(f32, NAN), second, real(f32, 9), first));
  EXPECT_FALSE(ir::beats(Reducer::argmax, real(f32, NAN), second, real(f32, NAN), first));
  EXPECT_FALSE(ir::beats(Reducer::argmin, real(f32, 3), second, real(f32, 3), first));
  EXPECT_TRUE(ir::beats(Reducer::argmin, real(f32, 2), second, real(f32, 3), first));
  EXPECT_FALSE(ir::beats(Reducer::argmax, real(f32, 2), second, real(f32, NAN), first));
}

TEST(Scalar, identities) {
  EXPECT_EQ(ir::identity(Reducer::max, f32).f, -INFINITY);
  EXPECT_EQ(ir::identity(Reducer::max, i16).i, -32768);
  EXPECT_EQ(ir::identity(Reducer::min, u8).i, 255);
  EXPECT_EQ(ir::identity(Reducer::all, boolean).i, 1);
  EXPECT_EQ(ir::identity(Reducer::prod, i32).i, 1);
}

}  // namespace
}  // namespace polyweft
