// Errors of math.h in ULP against the C library's long double functions (64-bit mantissa, so 2^-11 ULP of f64 at most
// off).
#include "ir/values/math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "ir/values/scalar.h"

namespace polyweft {
namespace {

using ir::math::Functions;
using ir::math::ScalarBuilder;

constexpr double kInf = INFINITY;

template <bool kSingle>
struct Precision {
  using Float = std::conditional_t<kSingle, float, double>;
  using Bits = std::conditional_t<kSingle, uint32_t, uint64_t>;
  static constexpr int kMantissa = kSingle ? 23 : 52, kLeastExponent = kSingle ? -126 : -1022;
};

/// Distance in units of the last place of `want` rounded to T; 0 for equal specials, huge for unequal ones.
template <bool kSingle>
double ulps(typename Precision<kSingle>::Float got, long double want) {
  using Float = typename Precision<kSingle>::Float;
  Float rounded = static_cast<Float>(want);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) && std::isnan(got) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(got)) return rounded == got ? 0 : 1e9;
  if (want == 0) return got == 0 && std::signbit(got) == std::signbit(want) ? 0 : 1e9;
  int exponent = std::max(std::ilogb(want), Precision<kSingle>::kLeastExponent) - Precision<kSingle>::kMantissa;
  return static_cast<double>(std::fabs(std::ldexp(want - static_cast<long double>(got), -exponent)));
}

template <bool kSingle>
class Worst {
 public:
  using Float = typename Precision<kSingle>::Float;
  void check(Float x, Float y, Float got, long double want) {
    double u = ulps<kSingle>(got, want);
    if (u <= worst_) return;
    worst_ = u;
    x_ = x;
    y_ = y;
  }
  void expect_at_most(double limit, const char* name) const {
    EXPECT_LE(worst_, limit) << name << (kSingle ? "_f32" : "_f64") << " at " << x_ << ", " << y_;
  }

 private:
  double worst_ = 0;
  Float x_ = 0, y_ = 0;
};

const double kSpecial[] = {0.0,    -0.0,   1.0,     -1.0,    0.5,    kInf,     -kInf,    NAN,      1e-45,
                           -1e-45, 1e-310, -1e-310, 1.2e-38, 3.4e38, -3.4e38,  1.7e308,  -1.7e308, 88.72,
                           88.73,  -87.3,  -103.9,  -104.0,  709.7,  709.79,   -745.1,   -745.2,   3.9,
                           4.1,    5.9,    6.1,     22.0,    1e22,   0x1p-149, 0x1p-1074};
constexpr int kSamples = 40000;

template <bool kSingle, class Own, class Reference>
void measure(const char* name, const Own& own, const Reference& reference) {
  using Float = typename Precision<kSingle>::Float;
  using Bits = typename Precision<kSingle>::Bits;
  Worst<kSingle> worst;
  auto check = [&](double value) {
    Float x = static_cast<Float>(value);
    worst.check(x, 0, own(x), reference(static_cast<long double>(x)));
  };
  for (double x : kSpecial) check(x);
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> near(-2, 2), middle(-30, 30), wide(-750, 750);
  for (int k = 0; k < kSamples; ++k) {
    check(static_cast<double>(std::bit_cast<Float>(static_cast<Bits>(random()))));
    check(near(random));
    check(middle(random));
    check(wide(random));
    check(1 + 1e-3 * near(random));
  }
  worst.expect_at_most(4, name);
}

long double reference_sigmoid(long double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

template <bool kSingle>
void measure_all() {
  ScalarBuilder builder;
  Functions<ScalarBuilder, kSingle> f(builder);
  using L = long double;
  measure<kSingle>(
      "exp", [&](auto x) { return f.exp(x); }, [](L x) { return std::exp(x); });
  measure<kSingle>(
      "log", [&](auto x) { return f.log(x); }, [](L x) { return std::log(x); });
  measure<kSingle>(
      "tanh", [&](auto x) { return f.tanh(x); }, [](L x) { return std::tanh(x); });
  measure<kSingle>(
      "erf", [&](auto x) { return f.erf(x); }, [](L x) { return std::erf(x); });
  measure<kSingle>(
      "sigmoid", [&](auto x) { return f.sigmoid(x); }, reference_sigmoid);
  measure<kSingle>(
      "rsqrt", [&](auto x) { return f.rsqrt(x); }, [](L x) { return 1 / std::sqrt(x); });
  measure<kSingle>(
      "sin", [&](auto x) { return f.sin(x); }, [](L x) { return std::sin(x); });
  measure<kSingle>(
      "cos", [&](auto x) { return f.cos(x); }, [](L x) { return std::cos(x); });
}

template <bool kSingle>
void measure_pow() {
  using Float = typename Precision<kSingle>::Float;
  ScalarBuilder builder;
  Functions<ScalarBuilder, kSingle> f(builder);
  Worst<kSingle> worst;
  auto check = [&](double a, double e) {
    Float x = static_cast<Float>(a), y = static_cast<Float>(e);
    worst.check(x, y, f.pow(x, y), std::pow(static_cast<long double>(x), static_cast<long double>(y)));
  };
  const double special[] = {0.0, -0.0,  1.0,    -1.0,   2.0,    -2.0,    3.0,   -3.0, 0.5,   -0.5, kInf, -kInf,
                            NAN, 1e-45, -1e-45, 1e-310, 3.4e38, -3.4e38, 1e300, 1e17, -1e17, 7.0,  -7.5};
  for (double x : special)
    for (double y : special) check(x, y);
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> base(0, 3), exponent(-30, 30), log_of_result(-700, 700), large(-1000, 1000);
  for (int k = 0; k < kSamples; ++k) {
    check(base(random), exponent(random));
    check(-base(random), std::floor(exponent(random)));
    check(1 + 1e-3 * base(random), large(random));
    double y = exponent(random);
    check(std::exp(log_of_result(random) * (kSingle ? 0.12 : 1) / y), y);
  }
  worst.expect_at_most(4, "pow");
}

TEST(Math, f32_functions_are_within_four_ulp) {
  measure_all<true>();
}

TEST(Math, f64_functions_are_within_four_ulp) {
  measure_all<false>();
}

TEST(Math, pow_is_within_four_ulp) {
  measure_pow<true>();
  measure_pow<false>();
}

TEST(Math, arguments_next_to_multiples_of_half_pi) {
  ScalarBuilder builder;
  Functions<ScalarBuilder, false> wide(builder);
  Functions<ScalarBuilder, true> narrow(builder);
  for (double x :
       {6381956970095103.0 * 0x1p797, 5.319372648326541e255, 3.141592653589793, 1.5707963267948966, 1e300, 0x1p1023}) {
    EXPECT_LE(ulps<false>(wide.sin(x), std::sin(static_cast<long double>(x))), 4) << x;
    EXPECT_LE(ulps<false>(wide.cos(x), std::cos(static_cast<long double>(x))), 4) << x;
  }
  for (float x : {16367173.0f * 0x1p72f, 3.1415927f, 1.5707964f, 8.6e37f, 3.4e38f}) {
    EXPECT_LE(ulps<true>(narrow.sin(x), std::sin(static_cast<long double>(x))), 1) << x;
    EXPECT_LE(ulps<true>(narrow.cos(x), std::cos(static_cast<long double>(x))), 1) << x;
  }
}

TEST(Math, rsqrt_of_minus_zero_is_minus_infinity) {
  ScalarBuilder builder;
  EXPECT_EQ((Functions<ScalarBuilder, true>(builder).rsqrt(-0.0f)), -INFINITY);
  EXPECT_EQ((Functions<ScalarBuilder, false>(builder).rsqrt(-0.0)), -INFINITY);
}

TEST(Math, narrow_types_are_within_two_ulp) {
  for (ElementType type : {ElementType::f16, ElementType::bf16}) {
    for (uint32_t bits = 0; bits < 0x8000; ++bits) {
      double x = type == ElementType::f16 ? ir::f16_value(static_cast<uint16_t>(bits))
                                          : ir::bf16_value(static_cast<uint16_t>(bits));
      Literal arg = {type, x, 0};
      double got = ir::apply(Op::tanh, type, {&arg, 1}, ir::MathLibrary::own).f;
      double want = ir::round_to(type, std::tanh(x));
      EXPECT_TRUE((std::isnan(got) && std::isnan(want)) ||
                  std::fabs(got - want) <= std::ldexp(std::fabs(want), type == ElementType::f16 ? -10 : -7) + 1e-40)
          << name_of(type) << " " << x;
    }
  }
}

}  // namespace
}  // namespace polyweft
