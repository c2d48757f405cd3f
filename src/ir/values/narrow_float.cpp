// f16 and bf16: conversion by one correct rounding from double.
#include <cmath>

#include "ir/values/scalar.h"

namespace polyweft::ir {
namespace {

/// A binary format: stored mantissa bits, least normal exponent, the bits of infinity.
struct Format {
  int mantissa_bits;
  int least_exponent;
  uint16_t infinity;
};
constexpr Format kF16 = {10, -14, 0x7c00};
constexpr Format kBf16 = {7, -126, 0x7f80};

/// With e = max(exponent, least) and m = |v| / 2^(e - mantissa) rounded to an integer, the bits are (e - least) *
/// 2^mantissa + m: the hidden bit of m carries into the exponent field, and so does a mantissa that rounds up to a
/// power of two. Worked for f16: 1.0 has e = 0, m = 1024, bits = 14 * 1024 + 1024 = 0x3c00.
uint16_t narrow_bits(const Format& format, double value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return static_cast<uint16_t>(sign | format.infinity | (1u << (format.mantissa_bits - 1)));
  double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | format.infinity;
  if (magnitude == 0) return sign;
  int exponent = std::max(std::ilogb(magnitude), format.least_exponent);
  if (exponent > -format.least_exponent + 1) return sign | format.infinity;
  double mantissa = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  uint32_t bits = (static_cast<uint32_t>(exponent - format.least_exponent) << format.mantissa_bits) +
                  static_cast<uint32_t>(mantissa);
  return static_cast<uint16_t>(sign | std::min<uint32_t>(bits, format.infinity));
}

double narrow_value(const Format& format, uint16_t bits) {
  uint32_t magnitude = bits & 0x7fffu;
  uint32_t mantissa = magnitude & ((1u << format.mantissa_bits) - 1);
  int field = static_cast<int>(magnitude >> format.mantissa_bits);
  double value;
  if (magnitude >= format.infinity)
    value = mantissa ? std::nan("") : INFINITY;
  else if (field == 0)
    value = std::ldexp(mantissa, format.least_exponent - format.mantissa_bits);
  else
    value =
        std::ldexp(mantissa + (1u << format.mantissa_bits), field - 1 + format.least_exponent - format.mantissa_bits);
  return (bits & 0x8000u) ? -value : value;
}

}  // namespace

uint16_t f16_bits(double value) {
  return narrow_bits(kF16, value);
}

uint16_t bf16_bits(double value) {
  return narrow_bits(kBf16, value);
}

double f16_value(uint16_t bits) {
  return narrow_value(kF16, bits);
}

double bf16_value(uint16_t bits) {
  return narrow_value(kBf16, bits);
}

double round_to(ElementType type, double value) {
  switch (type) {
    case ElementType::f32:
      return static_cast<float>(value);
    case ElementType::f16:
      return f16_value(f16_bits(value));
    case ElementType::bf16:
      return bf16_value(bf16_bits(value));
    default:
      return value;
  }
}

}  // namespace polyweft::ir
