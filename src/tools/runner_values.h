// Elements of any type as doubles and back, for filling inputs and comparing outputs. Independent of the code generator
// and of the evaluator.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "polyweft/program.h"

namespace polyweft::runner {

/// Of an element in a buffer; size_bytes() of the library, repeated here so that the worker stands alone.
constexpr size_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::f64:
    case ElementType::i64:
      return 8;
    case ElementType::f32:
    case ElementType::i32:
      return 4;
    case ElementType::f16:
    case ElementType::bf16:
    case ElementType::i16:
      return 2;
    default:
      return 1;
  }
}
constexpr bool is_floating(ElementType type) {
  return type <= ElementType::bf16;
}
/// Bits of the significand, the hidden one included: integers up to 2^this are exact.
constexpr int significand_bits(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return 53;
    case ElementType::f32:
      return 24;
    case ElementType::f16:
      return 11;
    case ElementType::bf16:
      return 8;
    default:
      return 63;
  }
}

inline double f16_value(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  if (exponent == 31)
    return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

/// Rounded to nearest, ties to even (std::nearbyint in the default mode); overflow to infinity.
inline uint16_t f16_bits(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  if (magnitude >= 65520) return sign | 0x7c00;
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int scale = std::max(exponent - 11, -24);  // of the last bit
  const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, -scale)));
  return static_cast<uint16_t>(sign + units + (static_cast<uint32_t>(scale + 24) << 10));
}

inline double bf16_value(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
inline uint16_t bf16_bits(double value) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (std::isnan(value)) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

template <class T>
T load(const unsigned char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void store(unsigned char* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

/// The element as an integer; integer types and bool only.
inline int64_t integer_at(ElementType type, const unsigned char* at) {
  switch (type) {
    case ElementType::i64:
      return load<int64_t>(at);
    case ElementType::i32:
      return load<int32_t>(at);
    case ElementType::i16:
      return load<int16_t>(at);
    case ElementType::i8:
      return load<int8_t>(at);
    default:
      return *at;
  }
}
inline double value_at(ElementType type, const unsigned char* at) {
  switch (type) {
    case ElementType::f64:
      return load<double>(at);
    case ElementType::f32:
      return load<float>(at);
    case ElementType::f16:
      return f16_value(load<uint16_t>(at));
    case ElementType::bf16:
      return bf16_value(load<uint16_t>(at));
    default:
      return static_cast<double>(integer_at(type, at));
  }
}
inline void store_value(ElementType type, unsigned char* at, double value) {
  switch (type) {
    case ElementType::f64:
      return store(at, value);
    case ElementType::f32:
      return store(at, static_cast<float>(value));
    case ElementType::f16:
      return store(at, f16_bits(value));
    case ElementType::bf16:
      return store(at, bf16_bits(value));
    default:
      break;
  }
}
/// The low bytes of these bits.
inline void store_bits(ElementType type, unsigned char* at, int64_t bits) {
  std::memcpy(at, &bits, element_bytes(type));
}
inline void store_integer(ElementType type, unsigned char* at, int64_t value) {
  switch (type) {
    case ElementType::i64:
      return store(at, value);
    case ElementType::i32:
      return store(at, static_cast<int32_t>(value));
    case ElementType::i16:
      return store(at, static_cast<int16_t>(value));
    default:
      *at = static_cast<unsigned char>(value);
  }
}

inline int64_t element_count(const std::vector<int64_t>& extents) {
  int64_t n = 1;
  for (const int64_t extent : extents) n *= extent;
  return n;
}

}  // namespace polyweft::runner
