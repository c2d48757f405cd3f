#include "ir/values/scalar.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ir/values/compare.h"
#include "ir/values/scalar_math.h"

namespace polyweft::ir {
namespace {

int width_bits(ElementType type) {
  return static_cast<int>(size_bytes(type) * 8);
}

uint64_t bits(int64_t value) {
  return static_cast<uint64_t>(value);
}

int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(0 - bits(a));
  int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

int64_t floor_remainder(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/// The double nearest to the value among those with an odd last bit unless exact: rounding it again to at most 51 bits
/// is the same as rounding the integer once.
double round_to_odd(int64_t value) {
  double nearest = static_cast<double>(value);
  if (std::fabs(nearest) < 0x1p53) return nearest;
  __int128 error = static_cast<__int128>(value) - static_cast<__int128>(nearest);
  if (error == 0) return nearest;
  uint64_t pattern = std::bit_cast<uint64_t>(nearest);
  if (pattern & 1) return nearest;
  bool away_from_zero = (error > 0) == (nearest > 0);
  return std::bit_cast<double>(away_from_zero ? pattern + 1 : pattern - 1);
}

double float_of_integer(ElementType type, int64_t value) {
  if (type == ElementType::f64) return static_cast<double>(value);
  if (type == ElementType::f32) return static_cast<float>(value);
  return round_to(type, round_to_odd(value));
}

int64_t saturated(ElementType type, int64_t value) {
  return std::clamp(value, least_of(type), greatest_of(type));
}

int64_t integer_of_float(ElementType type, double value) {
  if (std::isnan(value)) return 0;
  double whole = std::trunc(value);
  if (whole >= 0x1p63) return greatest_of(type);
  if (whole < -0x1p63) return least_of(type);
  return saturated(type, static_cast<int64_t>(whole));
}

Literal convert(ElementType type, const Literal& from) {
  bool from_float = is_float(from.type);
  if (is_float(type)) return float_literal(type, from_float ? from.f : float_of_integer(type, from.i));
  if (type == ElementType::boolean) return integer_literal(type, from_float ? from.f != 0 : from.i != 0);
  return integer_literal(type, from_float ? integer_of_float(type, from.f) : from.i);
}

Literal saturate(ElementType type, const Literal& from) {
  return is_float(from.type) ? convert(type, from) : integer_literal(type, saturated(type, from.i));
}

double float_max(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::nan("");
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

double float_min(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::nan("");
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

/// One IEEE operation in T, the type's working precision (f32 also for f16 and bf16).
template <class T>
T float_arithmetic(Op op, T a, T b, T c) {
  switch (op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::div:
      return a / b;
    case Op::sqrt:
      return std::sqrt(a);
    case Op::fma:
      return std::fma(a, b, c);
    default:
      PW_CHECK(!"an operator on floats");
  }
  return 0;
}

Literal apply_function(Op op, ElementType type, std::span<const Literal> args, MathLibrary library) {
  double x = args[0].f, y = op == Op::pow ? args[1].f : 0;
  if (library == MathLibrary::own) return float_literal(type, own_function(op, type, x, y));
  long double value = reference_function(op, x, y);
  return float_literal(type, type == ElementType::f64 ? static_cast<double>(value) : static_cast<float>(value));
}

double float_exact(Op op, double a, double b, double c) {
  switch (op) {
    case Op::neg:
      return -a;
    case Op::abs:
      return std::fabs(a);
    case Op::floor:
      return std::floor(a);
    case Op::ceil:
      return std::ceil(a);
    case Op::round:
      return std::nearbyint(a);
    case Op::max:
      return float_max(a, b);
    case Op::min:
      return float_min(a, b);
    case Op::clamp:
      return float_min(float_max(a, b), c);
    default:
      PW_CHECK(!"an exact operator on floats");
  }
  return 0;
}

bool is_rounded(Op op) {
  return op == Op::add || op == Op::sub || op == Op::mul || op == Op::div || op == Op::sqrt || op == Op::fma;
}

Literal apply_float(Op op, ElementType type, std::span<const Literal> args, MathLibrary library) {
  if (is_function(op)) return apply_function(op, type, args, library);
  double a = args[0].f, b = args.size() > 1 ? args[1].f : 0, c = args.size() > 2 ? args[2].f : 0;
  if (!is_rounded(op)) return float_literal(type, float_exact(op, a, b, c));
  if (type == ElementType::f64) return float_literal(type, float_arithmetic<double>(op, a, b, c));
  return float_literal(
      type, float_arithmetic<float>(op, static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)));
}

int64_t shift_right(ElementType type, int64_t a, int count) {
  return type == ElementType::u8 ? static_cast<int64_t>(bits(a) >> count) : a >> count;
}

int64_t integer_value(Op op, ElementType type, std::span<const Literal> args) {
  int64_t a = args[0].i, b = args.size() > 1 ? args[1].i : 0, c = args.size() > 2 ? args[2].i : 0;
  int count = static_cast<int>(bits(b) & static_cast<uint64_t>(width_bits(type) - 1));
  switch (op) {
    case Op::neg:
      return static_cast<int64_t>(0 - bits(a));
    case Op::bit_not:
      return ~a;
    case Op::abs:
      return a < 0 ? static_cast<int64_t>(0 - bits(a)) : a;
    case Op::add:
      return static_cast<int64_t>(bits(a) + bits(b));
    case Op::sub:
      return static_cast<int64_t>(bits(a) - bits(b));
    case Op::mul:
      return static_cast<int64_t>(bits(a) * bits(b));
    case Op::fma:
      return static_cast<int64_t>(bits(a) * bits(b) + bits(c));
    case Op::floor_div:
      return floor_quotient(a, b);
    case Op::floor_mod:
      return floor_remainder(a, b);
    case Op::bit_and:
      return a & b;
    case Op::bit_or:
      return a | b;
    case Op::bit_xor:
      return a ^ b;
    case Op::shl:
      return static_cast<int64_t>(bits(a) << count);
    case Op::shr:
      return shift_right(type, a, count);
    case Op::min:
      return std::min(a, b);
    case Op::max:
      return std::max(a, b);
    case Op::clamp:
      return std::min(std::max(a, b), c);
    default:
      PW_CHECK(!"an operator on integers");
  }
  return 0;
}

bool truth(Op op, std::span<const Literal> args) {
  if (op == Op::logical_not) return args[0].i == 0;
  if (op == Op::logical_and) return args[0].i != 0 && args[1].i != 0;
  if (op == Op::logical_or) return args[0].i != 0 || args[1].i != 0;
  return is_float(args[0].type) ? compares(op, args[0].f, args[1].f) : compares(op, args[0].i, args[1].i);
}

bool gives_bool(Op op) {
  return op == Op::logical_not || (op >= Op::eq && op <= Op::logical_or);
}

}  // namespace

int64_t least_of(ElementType type) {
  if (type == ElementType::boolean || type == ElementType::u8) return 0;
  return std::numeric_limits<int64_t>::min() >> (64 - width_bits(type));
}

int64_t greatest_of(ElementType type) {
  if (type == ElementType::boolean) return 1;
  if (type == ElementType::u8) return 255;
  return std::numeric_limits<int64_t>::max() >> (64 - width_bits(type));
}

int64_t wrap_to(ElementType type, int64_t value) {
  if (type == ElementType::boolean) return value != 0;
  if (type == ElementType::u8) return value & 255;
  int unused = 64 - width_bits(type);
  return static_cast<int64_t>(bits(value) << unused) >> unused;
}

Literal float_literal(ElementType type, double value) {
  return {type, round_to(type, value), 0};
}

Literal integer_literal(ElementType type, int64_t value) {
  return {type, 0, wrap_to(type, value)};
}

double as_double(const Literal& value) {
  return is_float(value.type) ? value.f : static_cast<double>(value.i);
}

Literal apply(Op op, ElementType type, std::span<const Literal> args, MathLibrary library) {
  if (op == Op::convert) return convert(type, args[0]);
  if (op == Op::saturate) return saturate(type, args[0]);
  if (op == Op::select) return args[0].i ? args[1] : args[2];
  if (gives_bool(op)) return integer_literal(ElementType::boolean, truth(op, args));
  if (is_float(type)) return apply_float(op, type, args, library);
  return integer_literal(type, integer_value(op, type, args));
}

Literal identity(Reducer reducer, ElementType type) {
  bool real = is_float(type);
  switch (reducer) {
    case Reducer::prod:
      return real ? float_literal(type, 1) : integer_literal(type, 1);
    case Reducer::max:
    case Reducer::argmax:
      return real ? float_literal(type, -INFINITY) : integer_literal(type, least_of(type));
    case Reducer::min:
    case Reducer::argmin:
      return real ? float_literal(type, INFINITY) : integer_literal(type, greatest_of(type));
    case Reducer::all:
      return integer_literal(type, 1);
    default:
      return real ? float_literal(type, 0) : integer_literal(type, 0);
  }
}

Literal combine(Reducer reducer, const Literal& state, const Literal& value) {
  Literal args[2] = {state, value};
  switch (reducer) {
    case Reducer::sum:
      return apply(Op::add, state.type, args);
    case Reducer::prod:
      return apply(Op::mul, state.type, args);
    case Reducer::max:
      return apply(Op::max, state.type, args);
    case Reducer::min:
      return apply(Op::min, state.type, args);
    case Reducer::any:
      return apply(Op::logical_or, ElementType::boolean, args);
    case Reducer::all:
      return apply(Op::logical_and, ElementType::boolean, args);
    default:
      PW_CHECK(!"a reducer with a single value as its state");
  }
  return state;
}

bool beats(Reducer reducer, const Literal& value, std::span<const int64_t> index, const Literal& best,
           std::span<const int64_t> best_index) {
  bool value_nan = is_float(value.type) && std::isnan(value.f);
  bool best_nan = is_float(best.type) && std::isnan(best.f);
  bool earlier = std::lexicographical_compare(index.begin(), index.end(), best_index.begin(), best_index.end());
  if (value_nan || best_nan) return value_nan && (!best_nan || earlier);
  Op strictly = reducer == Reducer::argmax ? Op::gt : Op::lt;
  Literal args[2] = {value, best};
  if (truth(strictly, args)) return true;
  return truth(Op::eq, args) && earlier;
}

}  // namespace polyweft::ir
