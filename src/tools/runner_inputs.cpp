#include "runner_inputs.h"

#include <algorithm>

#include "ir/values/float_places.h"
#include "runner_values.h"

namespace polyweft::runner {
namespace {

struct IntegerRange {
  int64_t lo, hi;
};

IntegerRange range_of(ElementType type) {
  switch (type) {
    case ElementType::i64:
      return {INT64_MIN, INT64_MAX};
    case ElementType::i32:
      return {INT32_MIN, INT32_MAX};
    case ElementType::i16:
      return {INT16_MIN, INT16_MAX};
    case ElementType::i8:
      return {INT8_MIN, INT8_MAX};
    case ElementType::u8:
      return {0, UINT8_MAX};
    default:
      return {0, 1};
  }
}

int64_t within(ElementType type, int64_t value) {
  const IntegerRange range = range_of(type);
  return std::clamp(value, range.lo, range.hi);
}

int64_t integer_value(ElementType type, InputSet set, Rng& rng) {
  if (type == ElementType::boolean) return static_cast<int64_t>(rng() & 1);
  switch (set) {
    case InputSet::integer_valued:
      return type == ElementType::u8 ? rng.between(0, 15) : rng.between(-8, 7);
    case InputSet::random:
      return within(type, rng.between(-1000, 1000));
    case InputSet::adversarial:
      break;
  }
  const IntegerRange range = range_of(type);
  const int64_t edges[] = {range.lo, range.hi, 0, 1, within(type, -1), range.hi - 1, range.lo + 1};
  return edges[rng.below(std::size(edges))];
}

/// Small enough that sums of products over any practical extent stay exact in the type they are added in.
double small_integer(ElementType type, Rng& rng) {
  const int64_t reach = type == ElementType::f64 || type == ElementType::f32 ? 4 : 2;
  return static_cast<double>(rng.between(-reach, reach));
}

struct FloatEdges {
  double largest, smallest_denormal;
};

FloatEdges edges_of(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return {std::numeric_limits<double>::max(), std::numeric_limits<double>::denorm_min()};
    case ElementType::f32:
      return {std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min()};
    case ElementType::f16:
      return {65504, std::ldexp(1.0, -24)};
    default:
      return {bf16_value(0x7f7f), bf16_value(0x0001)};
  }
}

double edge_value(ElementType type, int64_t number, Rng& rng) {
  switch (rng.below(4)) {
    case 0:
      return rng.chance(0.5) ? 0.0 : -0.0;
    case 1:
      return edges_of(type).smallest_denormal * static_cast<double>(rng.between(1, 3));
    default:
      return number % 2 == 0 ? 1.0 : -1.0;
  }
}

/// A handful only: one NaN a row would turn every output into NaN and hide everything else.
void sprinkle_specials(ElementType type, int64_t elements, Rng& rng, unsigned char* out) {
  const double inf = std::numeric_limits<double>::infinity(), largest = edges_of(type).largest;
  const double specials[] = {std::numeric_limits<double>::quiet_NaN(), inf, -inf, largest, -largest};
  if (elements < 8) return;
  for (const double special : specials)
    store_value(type, out + rng.below(static_cast<uint64_t>(elements)) * element_bytes(type), special);
}

/// The last two extents of at least 2 are equal: maybe a matrix that the program divides by.
bool holds_square_matrices(const ArgumentSpec& argument) {
  const size_t rank = argument.extents.size();
  return rank >= 2 && argument.extents[rank - 1] == argument.extents[rank - 2] && argument.extents[rank - 1] >= 2;
}

/// Of a matrix whose diagonal is more than all else in its row, and positive.
double dominant_value(const ArgumentSpec& argument, int64_t element, Rng& rng) {
  const int64_t n = argument.extents.back(), column = element % n, row = element / n % n;
  const double small = (2 * rng.uniform() - 1) / (2 * static_cast<double>(n));
  return row == column ? 1 + small : small;
}

double other_value(const ArgumentSpec& argument, Draw draw, int64_t element, Rng& rng) {
  const double share = rng.uniform();
  switch (draw) {
    case Draw::dominant:
      return holds_square_matrices(argument) ? dominant_value(argument, element, rng) : 2 * share - 1;
    case Draw::positive:
      return 0.5 + share / 2;
    case Draw::near_one:
      return 1 + (share - 0.5) / 16;
    default:
      return (1 + share) / 64;
  }
}

/// The promise, or as much of it as usual numbers reach.
void fill_promised_floats(const ArgumentSpec& argument, InputSet set, Rng& rng, unsigned char* out) {
  const auto bytes = static_cast<int64_t>(element_bytes(argument.type));
  const auto value_of = [&](int64_t place) {
    unsigned char element[8];
    store_bits(argument.type, element, ir::bits_at_place(place, bytes));
    return value_at(argument.type, element);
  };
  const double lo = value_of(argument.values_lo), hi = value_of(argument.values_hi - 1);
  const double first = std::ceil(lo), last = std::min(std::floor(hi), first + 8);
  const int64_t elements = element_count(argument.extents);
  for (int64_t i = 0; i < elements; ++i) {
    double value = lo + rng.uniform() * (hi - lo);
    if (set == InputSet::integer_valued && first <= last)
      value = first + static_cast<double>(rng.below(static_cast<uint64_t>(last - first) + 1));
    if (set == InputSet::adversarial && rng.chance(0.5)) value = rng.chance(0.5) ? lo : hi;
    store_value(argument.type, out + static_cast<size_t>(i * bytes), std::clamp(value, lo, hi));
  }
}

void fill_otherwise(const ArgumentSpec& argument, Draw draw, Rng& rng, unsigned char* out) {
  const int64_t elements = element_count(argument.extents);
  for (int64_t i = 0; i < elements; ++i)
    store_value(argument.type, out + static_cast<size_t>(i) * element_bytes(argument.type),
                other_value(argument, draw, i, rng));
}

void fill_floats(const ArgumentSpec& argument, InputSet set, Rng& rng, unsigned char* out) {
  const ElementType type = argument.type;
  const int64_t elements = element_count(argument.extents);
  const size_t step = element_bytes(type);
  for (int64_t i = 0; i < elements; ++i) {
    unsigned char* at = out + static_cast<size_t>(i) * step;
    switch (set) {
      case InputSet::integer_valued:
        store_value(type, at, small_integer(type, rng));
        break;
      case InputSet::random:
        store_value(type, at, 2 * rng.uniform() - 1);
        break;
      case InputSet::adversarial:
        store_value(type, at, edge_value(type, i, rng));
        break;
    }
  }
  if (set == InputSet::adversarial) sprinkle_specials(type, elements, rng, out);
}

int64_t promised_value(const ArgumentSpec& argument, InputSet set, Rng& rng) {
  if (set == InputSet::adversarial && rng.chance(0.5))
    return rng.chance(0.5) ? argument.values_lo : argument.values_hi - 1;
  return rng.between(argument.values_lo, argument.values_hi - 1);
}

}  // namespace

bool changes(Draw draw, const ArgumentSpec& argument) {
  const bool is_drawn = is_floating(argument.type) && !argument.has_values;
  return is_drawn && (draw != Draw::dominant || holds_square_matrices(argument));
}

const char* name_of(Draw draw) {
  switch (draw) {
    case Draw::usual:
      return "the usual numbers";
    case Draw::dominant:
      return "square matrices with a dominant diagonal";
    case Draw::positive:
      return "numbers of 0.5 to 1";
    case Draw::near_one:
      return "numbers near 1";
    case Draw::smaller:
      return "numbers of 1/64 to 1/32";
  }
  return "unknown numbers";
}

void fill_input(const ArgumentSpec& argument, InputSet set, Rng rng, unsigned char* out, Draw draw) {
  const bool is_float = is_floating(argument.type);
  if (is_float && argument.has_values) return fill_promised_floats(argument, set, rng, out);
  if (is_float && draw != Draw::usual) return fill_otherwise(argument, draw, rng, out);
  if (is_float) return fill_floats(argument, set, rng, out);
  const int64_t elements = element_count(argument.extents);
  for (int64_t i = 0; i < elements; ++i) {
    const int64_t value =
        argument.has_values ? promised_value(argument, set, rng) : integer_value(argument.type, set, rng);
    store_integer(argument.type, out + static_cast<size_t>(i) * element_bytes(argument.type), value);
  }
}

unsigned char poison_byte(ElementType type) {
  return is_floating(type) ? 0xff : 0xa5;
}

}  // namespace polyweft::runner
