#include "targets/gpu/emulator/runtime/products.h"

namespace polyweft::emulator {
namespace {

constexpr int kMostRows = 16, kMostDepth = 64, kColumns = 8;

bool is_integer(Kind kind) {
  return kind <= Kind::s32;
}

uint32_t element(const uint32_t* registers, int index, Kind kind) {
  const int bits = bits_of(kind), count = 32 / bits;
  const uint32_t word = registers[index / count] >> (index % count * bits);
  return bits == 32 ? word : word & ((uint32_t{1} << bits) - 1);
}

// ---- which element lies where ----

/// Lanes are eight groups of four. Row `row` of A or C belongs to group row % 8; rows 8 and up to every second
/// register.
struct FragmentPlace {
  int lane, index;  ///< of the lane's elements, from the low bits of its first register on
};
/// In A (the column is along k) and, with row and column exchanged, in B.
FragmentPlace place_along_depth(int row, int depth, Kind kind, int rows) {
  const int per_register = 32 / bits_of(kind), span = 4 * per_register;  // of k that the four lanes' registers hold
  const int halves = rows / 8;
  const int reg = depth / span * halves + row / 8;
  return {row % 8 * 4 + depth % span / per_register, reg * per_register + depth % per_register};
}
FragmentPlace place_in_sum(int row, int column) {
  return {row % 8 * 4 + column / 2, row / 8 * 2 + column % 2};
}

// ---- floats ----

struct Format {
  int mantissa, bias, width;
  bool has_infinity;
};
constexpr Format format_of(Kind kind) {
  switch (kind) {
    case Kind::e4m3:
      return {3, 7, 8, false};
    case Kind::e5m2:
      return {2, 15, 8, true};
    case Kind::f16:
      return {10, 15, 16, true};
    case Kind::bf16:
      return {7, 127, 16, true};
    case Kind::tf32:
      return {10, 127, 19, true};
    default:
      return {23, 127, 32, true};
  }
}

/// significand * 2^exponent, or what is no number.
struct Unpacked {
  int64_t significand = 0;
  int exponent = 0;  ///< of the significand's last place
  bool is_negative = false, is_nan = false, is_infinite = false;
};
Unpacked unpacked(uint32_t bits, const Format& f) {
  Unpacked out;
  const int top = (1 << (f.width - 1 - f.mantissa)) - 1;
  const uint32_t ones = (uint32_t{1} << f.mantissa) - 1, fraction = bits & ones;
  const int field = static_cast<int>(bits >> f.mantissa) & top;
  out.is_negative = (bits >> (f.width - 1) & 1) != 0;
  if (field == top && (f.has_infinity || fraction == ones)) {
    out.is_infinite = f.has_infinity && fraction == 0;
    out.is_nan = !out.is_infinite;
    return out;
  }
  out.significand = field > 0 ? static_cast<int64_t>(fraction | (uint32_t{1} << f.mantissa)) : fraction;
  if (out.is_negative) out.significand = -out.significand;
  out.exponent = (field > 0 ? field : 1) - f.bias - f.mantissa;
  return out;
}

/// value * 2^places, cut off toward zero.
int64_t shifted(int64_t value, int places) {
  if (places >= 0) return value * (int64_t{1} << (places < 62 ? places : 62));
  const int64_t magnitude = value < 0 ? -value : value, cut = -places > 62 ? 0 : magnitude >> -places;
  return value < 0 ? -cut : cut;
}
int leading_place(uint64_t magnitude) {
  return magnitude == 0 ? 0 : 63 - __builtin_clzll(magnitude);
}

enum class Rounding : uint8_t { toward_zero, to_even };
/// number * 2^exponent in f32 or f16; beyond the largest an infinity.
uint32_t packed(int64_t number, int exponent, const Format& f, Rounding rounding) {
  const uint32_t sign = number < 0 ? uint32_t{1} << (f.width - 1) : 0;
  const auto magnitude = static_cast<uint64_t>(number < 0 ? -number : number);
  const int leading = leading_place(magnitude) + exponent, least = 1 - f.bias;
  int lowest = (leading > least ? leading : least) - f.mantissa;
  uint64_t quotient = 0;
  if (exponent >= lowest) {
    quotient = magnitude << (exponent - lowest);
  } else {
    const int cut = lowest - exponent;
    quotient = cut > 62 ? 0 : magnitude >> cut;
    const uint64_t rest = cut > 62 ? 0 : magnitude - (quotient << cut),
                   half = uint64_t{1} << ((cut > 62 ? 62 : cut) - 1);
    if (rounding == Rounding::to_even && (rest > half || (rest == half && (quotient & 1)))) ++quotient;
  }
  if (quotient >> (f.mantissa + 1)) quotient >>= 1, ++lowest;
  const int top = (1 << (f.width - 1 - f.mantissa)) - 1;
  if (quotient >> f.mantissa == 0) return sign | static_cast<uint32_t>(quotient);
  const int field = lowest + f.mantissa + f.bias;
  if (field >= top) return sign | static_cast<uint32_t>(top) << f.mantissa;
  return sign | static_cast<uint32_t>(field) << f.mantissa |
         (static_cast<uint32_t>(quotient) & ((uint32_t{1} << f.mantissa) - 1));
}

constexpr uint32_t nan_of(const Format& f) {
  return (uint32_t{1} << (f.width - 1)) - 1;
}
constexpr uint32_t infinity_of(const Format& f, bool is_negative) {
  return nan_of(f) >> f.mantissa << f.mantissa | (is_negative ? uint32_t{1} << (f.width - 1) : 0);
}

/// One sum: products are exact; all terms are shifted to the largest exponent among them and cut off 25 bits below its
/// place; the sum of what is left is exact, and is rounded once, into f32 toward zero, into f16 to nearest.
class ProductSum {
 public:
  void add(const Unpacked& x, const Unpacked& y, int x_mantissa, int y_mantissa) {
    if (x.is_nan || y.is_nan || x.is_infinite || y.is_infinite) {
      const bool has_zero = (!x.is_infinite && x.significand == 0) || (!y.is_infinite && y.significand == 0);
      not_finite(x.is_nan || y.is_nan || has_zero, x.is_negative != y.is_negative);
      return;
    }
    put(x.significand * y.significand, x.exponent + y.exponent, x.exponent + x_mantissa + y.exponent + y_mantissa);
  }
  void add(const Unpacked& z, int mantissa) {
    if (z.is_nan || z.is_infinite) return not_finite(z.is_nan, z.is_negative);
    put(z.significand, z.exponent, z.exponent + mantissa);
  }
  uint32_t result(const Format& out, bool to_even) const {
    if (is_nan_ || (is_plus_ && is_minus_)) return nan_of(out);
    if (is_plus_ || is_minus_) return infinity_of(out, is_minus_);
    constexpr int kFraction = 25;
    const int lowest = (terms_ ? largest_ : 0) - kFraction;
    int64_t total = 0;
    for (int t = 0; t < count_; ++t) total += shifted(term_[t], exponent_[t] - lowest);
    return packed(total, lowest, out, to_even ? Rounding::to_even : Rounding::toward_zero);
  }

 private:
  void not_finite(bool is_nan, bool is_negative) {
    is_nan_ = is_nan_ || is_nan;
    if (!is_nan) (is_negative ? is_minus_ : is_plus_) = true;
  }
  void put(int64_t term, int exponent, int place) {
    if (term == 0) return;
    if (!terms_ || place > largest_) largest_ = place;
    terms_ = true;
    term_[count_] = term, exponent_[count_++] = exponent;
  }

  int64_t term_[kMostDepth + 1];
  int exponent_[kMostDepth + 1];
  int count_ = 0, largest_ = 0;
  bool terms_ = false, is_nan_ = false, is_plus_ = false, is_minus_ = false;
};

/// x + y of one format (f32 or f16), rounded to nearest.
uint32_t added(uint32_t x, uint32_t y, const Format& f) {
  const Unpacked a = unpacked(x, f), b = unpacked(y, f);
  if (a.is_nan || b.is_nan || (a.is_infinite && b.is_infinite && a.is_negative != b.is_negative)) return nan_of(f);
  if (a.is_infinite || b.is_infinite) return infinity_of(f, a.is_infinite ? a.is_negative : b.is_negative);
  if (f.width == 32) {
    const float sum = __builtin_bit_cast(float, x) + __builtin_bit_cast(float, y);
    return __builtin_bit_cast(uint32_t, sum);
  }
  constexpr int kLeastOfF16 = -24;
  const int64_t sum =
      shifted(a.significand, a.exponent - kLeastOfF16) + shifted(b.significand, b.exponent - kLeastOfF16);
  if (sum == 0) return x & y & (uint32_t{1} << (f.width - 1));
  return packed(sum, kLeastOfF16, f, Rounding::to_even);
}

// ---- one warp ----

/// Operands as matrices of bits.
struct Operands {
  uint32_t a[kMostRows][kMostDepth], b[kMostDepth][kColumns], c[kMostRows][kColumns];
};
void gather(const ProductShape& shape, const Fragment& a, const Fragment& b, const Fragment& c, Operands& out) {
  for (int k = 0; k < shape.k; ++k) {
    for (int row = 0; row < shape.m; ++row) {
      const FragmentPlace at = place_along_depth(row, k, shape.a, shape.m);
      out.a[row][k] = element(a[at.lane], at.index, shape.a);
    }
    for (int column = 0; column < shape.n; ++column) {
      const FragmentPlace at = place_along_depth(column, k, shape.b, 8);
      out.b[k][column] = element(b[at.lane], at.index, shape.b);
    }
  }
  for (int row = 0; row < shape.m; ++row)
    for (int column = 0; column < shape.n; ++column) {
      const FragmentPlace at = place_in_sum(row, column);
      out.c[row][column] = element(c[at.lane], at.index, shape.c);
    }
}

int64_t integer_of(uint32_t bits, Kind kind) {
  switch (kind) {
    case Kind::s4:
      return static_cast<int64_t>(bits) - (bits & 8 ? 16 : 0);
    case Kind::s8:
      return static_cast<int8_t>(bits);
    case Kind::s32:
      return static_cast<int32_t>(bits);
    default:
      return bits;
  }
}

uint32_t integer_sum(const ProductShape& shape, const Operands& of, int row, int column) {
  int64_t sum = integer_of(of.c[row][column], shape.c);
  for (int k = 0; k < shape.k; ++k) sum += integer_of(of.a[row][k], shape.a) * integer_of(of.b[k][column], shape.b);
  if (shape.saturates) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
  return static_cast<uint32_t>(sum);
}

uint32_t operand_bits(uint32_t bits, Kind kind) {
  return kind == Kind::tf32 ? bits >> 13 : bits;
}
void add_products(const ProductShape& shape, const Operands& of, int row, int column, int k, ProductSum& sum) {
  const Format fa = format_of(shape.a), fb = format_of(shape.b);
  sum.add(unpacked(operand_bits(of.a[row][k], shape.a), fa), unpacked(operand_bits(of.b[k][column], shape.b), fb),
          fa.mantissa, fb.mantissa);
}

uint32_t float_sum(const ProductShape& shape, const Operands& of, int row, int column) {
  const Format fc = format_of(shape.c), fd = format_of(shape.d);
  ProductSum sum;
  for (int k = 0; k < shape.k; ++k) add_products(shape, of, row, column, k, sum);
  sum.add(unpacked(of.c[row][column], fc), fc.mantissa);
  return sum.result(fd, shape.d == Kind::f16);
}

/// 8-bit floats, as sm_90's assembler writes them: two products of half the depth, first of k % 4 < 2, from 0; then C
/// is added, rounded to nearest.
uint32_t sum_by_halves(const ProductShape& shape, const Operands& of, int row, int column) {
  const Format f = format_of(shape.d);
  uint32_t part = 0;
  for (int half = 0; half < 2; ++half) {
    ProductSum sum;
    for (int k = 0; k < shape.k; ++k)
      if (k % 4 / 2 == half) add_products(shape, of, row, column, k, sum);
    sum.add(unpacked(part, f), f.mantissa);
    part = sum.result(f, shape.d == Kind::f16);
  }
  return added(of.c[row][column], part, f);
}

uint32_t sum_of(const ProductShape& shape, const Operands& of, int row, int column) {
  if (is_integer(shape.a)) return integer_sum(shape, of, row, column);
  return bits_of(shape.a) == 8 ? sum_by_halves(shape, of, row, column) : float_sum(shape, of, row, column);
}

}  // namespace

void multiply(const ProductShape& shape, const Fragment& a, const Fragment& b, const Fragment& c, Fragment& d) {
  Operands of;
  gather(shape, a, b, c, of);
  for (auto& lane : d)
    for (uint32_t& word : lane) word = 0;
  for (int row = 0; row < shape.m; ++row)
    for (int column = 0; column < shape.n; ++column) {
      const FragmentPlace at = place_in_sum(row, column);
      const int per_register = 32 / bits_of(shape.d);
      d[at.lane][at.index / per_register] |= sum_of(shape, of, row, column)
                                             << (at.index % per_register * bits_of(shape.d));
    }
}

uint32_t product_sum(const SumKinds& kinds, const uint32_t* row, const uint32_t* column, int depth, uint32_t start) {
  if (is_integer(kinds.a)) {
    int64_t out = static_cast<int32_t>(start);
    for (int k = 0; k < depth; ++k) out += integer_of(row[k], kinds.a) * integer_of(column[k], kinds.b);
    return static_cast<uint32_t>(out);
  }
  const Format fa = format_of(kinds.a), fb = format_of(kinds.b), fd = format_of(kinds.d);
  ProductSum sum;
  for (int k = 0; k < depth; ++k)
    sum.add(unpacked(operand_bits(row[k], kinds.a), fa), unpacked(operand_bits(column[k], kinds.b), fb), fa.mantissa,
            fb.mantissa);
  sum.add(unpacked(start, fd), fd.mantissa);
  return sum.result(fd, kinds.d == Kind::f16);
}

}  // namespace polyweft::emulator
