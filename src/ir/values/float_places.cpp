#include "ir/values/float_places.h"

#include <cstdio>

#include "ir/values/scalar.h"

namespace polyweft::ir {
namespace {

int64_t signed_bits(ElementType type, double value) {
  switch (type) {
    case ElementType::f64:
      return std::bit_cast<int64_t>(value);
    case ElementType::f32:
      return std::bit_cast<int32_t>(static_cast<float>(value));
    case ElementType::f16:
      return static_cast<int16_t>(f16_bits(value));
    default:
      return static_cast<int16_t>(bf16_bits(value));
  }
}

std::string decimal_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

}  // namespace

int64_t place_of(ElementType type, double value) {
  return place_of_bits(signed_bits(type, value), size_bytes(type));
}

double value_at_place(ElementType type, int64_t place) {
  const int64_t bits = bits_at_place(place, size_bytes(type));
  switch (type) {
    case ElementType::f64:
      return std::bit_cast<double>(bits);
    case ElementType::f32:
      return std::bit_cast<float>(static_cast<int32_t>(bits));
    case ElementType::f16:
      return f16_value(static_cast<uint16_t>(bits));
    default:
      return bf16_value(static_cast<uint16_t>(bits));
  }
}

ValueRange places_between(ElementType type, double lo, double hi) {
  return {place_of(type, lo == 0 ? -0.0 : lo), place_of(type, hi == 0 ? 0.0 : hi) + 1};
}

FloatRange floats_within(ElementType type, const ValueRange& places) {
  const double lo = value_at_place(type, places.lo), hi = value_at_place(type, places.hi - 1);
  return {lo == 0 ? 0.0 : lo, hi};
}

std::string promise_text(ElementType type, const ValueRange& values) {
  if (!is_float(type)) return std::to_string(values.lo) + ".." + std::to_string(values.hi);
  const FloatRange range = floats_within(type, values);
  return decimal_text(range.lo) + ".." + decimal_text(range.hi);
}

std::string value_text(const Literal& value) {
  return is_float(value.type) ? decimal_text(value.f) : std::to_string(value.i);
}

int64_t place_of(const Literal& value) {
  return is_float(value.type) ? place_of(value.type, value.f) : value.i;
}

}  // namespace polyweft::ir
