// Floats in the order of their values, as integers: neighbours differ by 1, -0 lies just below +0, NaNs beyond the
// infinities. A promise about floats is then a range of integers as one about integers is, and is scanned like it.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "polyweft/loop_nest.h"
#include "polyweft/program.h"

namespace polyweft::ir {

/// Of the bits of a float of so many bytes, as a signed integer of that size: negative floats are sign and magnitude.
constexpr int64_t place_of_bits(int64_t signed_bits, int64_t bytes) {
  return signed_bits >= 0 ? signed_bits : signed_bits ^ (INT64_MAX >> (64 - 8 * bytes));
}
/// The way back is the same.
constexpr int64_t bits_at_place(int64_t place, int64_t bytes) {
  return place_of_bits(place, bytes);
}

int64_t place_of(ElementType type, double value);
double value_at_place(ElementType type, int64_t place);

/// lo .. hi, both belonging to it, as Tensor::values_lo and values_hi keep it. Zeros of both signs belong where one
/// does.
ValueRange places_between(ElementType type, double lo, double hi);
/// The ends of such a range; infinite ones without a promise.
struct FloatRange {
  double lo = 0, hi = 0;
};
FloatRange floats_within(ElementType type, const ValueRange& places);

/// "0.5..2" of floats, both ends belonging to it; "0..8" of integers, half open.
std::string promise_text(ElementType type, const ValueRange& values);
/// "3", "0.25".
std::string value_text(const Literal& value);
/// An element as messages about promises have it: in the order that the promise is kept in.
int64_t place_of(const Literal& value);

}  // namespace polyweft::ir
