// Errors of function values in units of the last place: against the C library one precision wider, which is quick, and
// against MPFR, which is right.
#pragma once

#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "polyweft/program.h"

namespace polyweft::soak {

/// f(x, y) by the C library; y counts for pow only.
double library(Op op, double x, double y);
long double library(Op op, long double x, long double y);

struct Format {
  int digits, least;  ///< of the significand, and the exponent of the least normal number
};
Format format_of(ElementType type);

/// By MPFR. 300 bits are enough for every f64 argument of sin and cos; exponents as wide as MPFR has them.
class Exact {
 public:
  Exact();
  ~Exact();
  Exact(const Exact&) = delete;

  /// |got - f(x, y)| in ULP of a type with these digits and this least exponent.
  double error(Op op, double x, double y, double got, const Format& format);

 private:
  bool rounds_to_infinity(const Format& format) const;
  void evaluate(Op op);
  mpfr_t x_, y_, value_;
};

/// ULP, or 1e9 where only one is a NaN or an infinity.
template <class Wide>
double error_of(double got, Wide want, const Format& format) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : 1e9;
  // Half an ULP beyond the largest number the nearest value is infinity.
  const Wide limit = std::ldexp(2 - std::ldexp(static_cast<Wide>(1), -format.digits), 1 - format.least);
  if (std::isinf(got)) return std::fabs(want) >= limit && std::signbit(want) == std::signbit(got) ? 0 : 1e9;
  if (std::isinf(want)) return 1e9;
  if (want == 0) return got == 0 ? 0 : 1e9;
  const int exponent = std::max(std::ilogb(want), format.least) - (format.digits - 1);
  return static_cast<double>(std::fabs(std::ldexp(want - static_cast<Wide>(got), -exponent)));
}
/// The same, quicker, for finite normal f32 results.
inline double error_of_f32(float got, double want) {
  const uint64_t exponent = std::bit_cast<uint64_t>(want) >> 52 & 2047;
  if (exponent < 1023 - 126 || exponent > 1023 + 127 || !std::isfinite(got))
    return error_of<double>(static_cast<double>(got), want, {24, -126});
  return std::fabs(want - static_cast<double>(got)) * std::bit_cast<double>((2 * uint64_t{1023} - exponent + 23) << 52);
}

}  // namespace polyweft::soak
