// exp log tanh erf sigmoid sin cos pow rsqrt for f32 and f64, once, as straight-line algorithms over an abstract
// builder.
//
// The same template is run by the LoopNest interpreter (ScalarBuilder of math_scalar.h) and emits LLVM IR over scalars
// or vectors of any width, so scalar code, vector code and interpreter give the same bits. No branches, no calls; every
// step is one of the builder's operations, each with one IEEE meaning. At most 4 ULP for every argument (tests measure
// it), exact at 0, inf and NaN, subnormals kept. f16 and bf16: computed in f32, then rounded.
//
// A builder B has the types F32, F64, I32, I64 (vectors of one width), Mask, and
//   f32(c) f64(c) i32(c) i64(c)        splat of a constant given as double or int64_t
//   add sub mul div fma sqrt floor     on F32 or F64, round to nearest even, fma in one rounding
//   lt eq                              ordered comparison -> Mask (false with NaN);  land lor lnot on Mask;
//   select(mask, a, b) on all bits(x) from_bits_f32(i) from_bits_f64(i) iadd isub iand ior ixor            wrapping;
//   shl lshr ashr by a constant int count widen(F32) -> F64, narrow(F64) -> F32 bool scales(F x)                   is
//   there an instruction for x 2^k in one rounding, k an integer? Then F scale(F x, F k)                  is that; 0
//   for all k so low that |x| < 1.5 vanishes, whatever x is (-inf and NaN too) lookup(table, size, I64 index)
//   table[index] as F64; the index is in [0, size) for every argument, NaN included
//
// Methods: argument reduction and scaling after Cody and Waite, Software Manual for the Elementary Functions (1980);
// sin and cos reduce with the bits of 2/pi (Payne and Hanek 1983) in 26-bit pieces whose products with the argument are
// exact; double-double sums after Dekker (1971). Worked: exp(1): k = round(1 / ln 2) = 1, r = 1 - ln 2 = 0.3068, exp(r)
// = 1.3591, times 2 = 2.7183.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "ir/values/math_scalar.h"
#include "ir/values/math_tables.h"

namespace polyweft::ir::math {

/// The algorithms in one precision: kSingle f32, else f64.
template <class B, bool kSingle>
class Functions {
 public:
  using F = std::conditional_t<kSingle, typename B::F32, typename B::F64>;
  using I = std::conditional_t<kSingle, typename B::I32, typename B::I64>;
  using Mask = typename B::Mask;

  explicit Functions(B& builder) : b(builder) {}

  F exp(F x) {
    F low = c(kSingle ? -104.5 : -746.0), high = c(kSingle ? 89.0 : 710.0);
    F below = b.select(b.lt(high, x), high, x);
    if (b.scales(x)) return exp_of(below);
    // Where it vanishes it is not computed: a result below the normal numbers costs a microcode assist, 250 cycles a
    // vector.
    const auto vanishes = b.lt(below, low);
    return b.select(vanishes, c(0), exp_of(b.select(vanishes, c(0), below)));
  }

  F log(F x) {
    F value;
    if constexpr (kSingle)
      value = log_f32(split(x));
    else
      value = log_f64(split(x));
    return with_log_specials(x, value);
  }

  /// expm1(2|x|) / (expm1(2|x|) + 2).
  F tanh(F x) {
    F size = at_most(abs(x), kSingle ? 10.0 : 20.0);
    Reduced p = reduced(b.add(size, size));
    F power = power_of_two(p.k);
    F t = b.fma(power, expm1_of(p.r), b.sub(power, c(1)));
    return with_sign_of(x, b.div(t, b.add(t, c(2))));
  }

  F sigmoid(F x) {
    F e = exp(negative(abs(x)));
    F numerator = b.select(b.lt(x, c(0)), e, c(1));
    return b.div(numerator, b.add(c(1), e));
  }

  F rsqrt(F x) { return b.div(c(1), b.sqrt(x)); }

  F erf(F x) {
    F size = abs(x), square = b.mul(size, size), small, large;
    if constexpr (kSingle) {
      small = b.fma(size, polynomial(kErfSmallF32, square), size);
      large = exp_of(polynomial(kLogErfcF32, at_most(size, 4.1)));
    } else {
      small = b.fma(size, polynomial(kErfSmallF64, square), size);
      large = erfc_f64(at_most(size, 6.1));
    }
    return with_sign_of(x, b.select(b.lt(size, c(1)), small, b.sub(c(1), large)));
  }

  F sin(F x) { return trigonometric(x, 0); }
  F cos(F x) { return trigonometric(x, 1); }

  F pow(F x, F y) {
    if constexpr (kSingle) {
      Functions<B, false> wide(b);
      return b.narrow(wide.pow_special(b.widen(x), b.widen(y), wide.pow_by_log(b.widen(x), b.widen(y))));
    } else {
      return pow_special(x, y, pow_by_long_log(x, y));
    }
  }

 private:
  template <class, bool>
  friend class Functions;

  static constexpr int kMantissa = kSingle ? 23 : 52;
  static constexpr int kBias = kSingle ? 127 : 1023;
  static constexpr double kMagic =
      kSingle ? 12582912.0 : 6755399441055744.0;  ///< 1.5 * 2^mantissa: adding it rounds to an integer
  static constexpr double kInf = __builtin_inf();

  struct Reduced {
    F r;
    I k;
    F value;  ///< k as a float
  };
  struct Split {
    F fraction;  ///< m - 1, m in [sqrt(1/2), sqrt(2))
    F exponent;
  };
  struct Double {
    F high, low;
  };

  F c(double value) {
    if constexpr (kSingle)
      return b.f32(value);
    else
      return b.f64(value);
  }
  I ic(int64_t value) {
    if constexpr (kSingle)
      return b.i32(value);
    else
      return b.i64(value);
  }
  F from_bits(I value) {
    if constexpr (kSingle)
      return b.from_bits_f32(value);
    else
      return b.from_bits_f64(value);
  }
  I sign_bit() { return b.shl(ic(1), kMantissa + (kSingle ? 8 : 11)); }
  F abs(F x) { return from_bits(b.lshr(b.shl(b.bits(x), 1), 1)); }
  F negative(F x) { return from_bits(b.ixor(b.bits(x), sign_bit())); }
  /// For a magnitude (or NaN) and the argument whose sign it gets.
  F with_sign_of(F x, F magnitude) { return from_bits(b.ior(b.bits(magnitude), b.iand(b.bits(x), sign_bit()))); }
  F at_most(F x, double limit) { return b.select(b.lt(c(limit), x), c(limit), x); }

  template <size_t N>
  F polynomial(const double (&coefficients)[N], F x) {
    F sum = c(coefficients[N - 1]);
    for (size_t k = N - 1; k-- > 0;) sum = b.fma(sum, x, c(coefficients[k]));
    return sum;
  }

  F power_of_two(I k) { return from_bits(b.shl(b.iadd(k, ic(kBias)), kMantissa)); }

  /// In two steps: the first product is exact, the second rounds once also into the subnormals.
  F scaled(F x, const Reduced& p) {
    if (b.scales(x)) return b.scale(x, p.value);
    I half = b.ashr(p.k, 1);
    return b.mul(b.mul(x, power_of_two(half)), power_of_two(b.isub(p.k, half)));
  }

  /// The integer nearest to x (times a factor, in one rounding), |x| < 2^(mantissa - 2): as a float and as an integer.
  struct Rounded {
    F value;
    I integer;
  };
  Rounded unshifted(F shifted) { return {b.sub(shifted, c(kMagic)), b.isub(b.bits(shifted), b.bits(c(kMagic)))}; }
  Rounded nearest(F x) { return unshifted(b.add(x, c(kMagic))); }
  Rounded nearest(F x, double factor) { return unshifted(b.fma(x, c(factor), c(kMagic))); }
  F float_of(I small) { return b.sub(from_bits(b.iadd(b.bits(c(kMagic)), small)), c(kMagic)); }

  /// x = k ln 2 + r, |r| <= ln(2) / 2. The product with the high part of ln 2 cancels exactly in the fma.
  Reduced reduced(F x) {
    Rounded k = kSingle ? nearest(x, 1.4426950408889634) : nearest(b.mul(x, c(1.4426950408889634)));
    F r = b.fma(k.value, c(-(kSingle ? kLn2HighF32 : kLn2High)), x);
    return {b.fma(k.value, c(-(kSingle ? kLn2LowF32 : kLn2Low)), r), k.integer, k.value};
  }
  F exp_tail(F r) {
    if constexpr (kSingle)
      return polynomial(kExpF32, r);
    else
      return polynomial(kExpF64, r);
  }
  F expm1_of(F r) { return b.fma(b.mul(r, r), exp_tail(r), r); }
  /// f32: an operation fewer, and still within 0.9 ULP.
  F exp_of_rest(F r) { return kSingle ? b.fma(b.fma(exp_tail(r), r, c(1)), r, c(1)) : b.add(c(1), expm1_of(r)); }
  /// exp(x + tail) for x in the range of exp, |tail| tiny.
  F exp_of(F x, F tail) {
    Reduced p = reduced(x);
    return scaled(exp_of_rest(b.add(p.r, tail)), p);
  }
  F exp_of(F x) {
    Reduced p = reduced(x);
    return scaled(exp_of_rest(p.r), p);
  }

  /// x = m 2^exponent for positive finite x; subnormals are scaled up first.
  Split split(F x) {
    Mask tiny = b.lt(x, from_bits(b.shl(ic(1), kMantissa)));
    F normal = b.select(tiny, b.mul(x, c(kSingle ? 0x1p25 : 0x1p54)), x);
    I root = b.bits(c(kSingle ? 0.70710677 : 0.7071067811865476));
    I exponent = b.ashr(b.isub(b.bits(normal), root), kMantissa);
    F m = from_bits(b.isub(b.bits(normal), b.shl(exponent, kMantissa)));
    F shift = b.select(tiny, c(kSingle ? -25 : -54), c(0));
    return {b.sub(m, c(1)), b.add(float_of(exponent), shift)};
  }
  F log_f32(Split x) {
    F f = x.fraction, square = b.mul(f, f);
    F sum = b.fma(b.mul(square, f), polynomial(kLogF32, f), b.mul(x.exponent, c(kLn2LowF32)));
    sum = b.add(b.fma(square, c(-0.5), sum), f);
    return b.fma(x.exponent, c(kLn2HighF32), sum);
  }
  /// With s = f / (2 + f): log(1 + f) = f - (f^2/2 - s (f^2/2 + R(s^2))).
  F log_f64(Split x) {
    F f = x.fraction, s = b.div(f, b.add(f, c(2))), z = b.mul(s, s);
    F series = b.mul(z, polynomial(kAtanhF64, z));
    F half = b.mul(b.mul(f, f), c(0.5));
    F low = b.fma(s, b.add(half, series), b.mul(x.exponent, c(kLn2Low)));
    return b.fma(x.exponent, c(kLn2High), b.sub(f, b.sub(half, low)));
  }
  F with_log_specials(F x, F value) {
    value = b.select(b.lt(x, c(kInf)), value, x);
    value = b.select(b.eq(x, c(0)), c(-kInf), value);
    return b.select(b.lt(x, c(0)), c(__builtin_nan("")), value);
  }

  F erfc_f64(F x) {
    F u = b.fma(b.div(c(1), b.add(x, c(3))), c(kScaledErfcScale), c(kScaledErfcShift));
    return b.mul(exp_of(negative(b.mul(x, x))), polynomial(kScaledErfcF64, u));
  }

  Double sum_of(F a, F x) {
    F sum = b.add(a, x), part = b.sub(sum, a);
    return {sum, b.add(b.sub(a, b.sub(sum, part)), b.sub(x, part))};
  }
  Double ordered_sum(F large, F small) {
    F sum = b.add(large, small);
    return {sum, b.sub(small, b.sub(sum, large))};
  }
  Double product_of(Double x, Double y) {
    F high = b.mul(x.high, y.high);
    F low = b.fma(x.high, y.high, negative(high));
    return {high, b.fma(x.low, y.high, b.fma(x.high, y.low, low))};
  }

  // ---- sin and cos, in f64 for both precisions ----

  F trigonometric(F x, int which) {
    if constexpr (kSingle) {
      Functions<B, false> wide(b);
      return b.narrow(wide.template trigonometric_f64<true>(b.widen(x), which));
    } else {
      return trigonometric_f64<false>(x, which);
    }
  }

  struct Angle {
    Double quarter_turns;  ///< in [-1/2, 1/2] up to rounding
    F quadrant;            ///< 0, 1, 2 or 3
  };

  template <bool kShortArgument>
  F trigonometric_f64(F x, int which) {
    F size = abs(x);
    Angle angle = reduced_angle<kShortArgument>(size);
    Double r = product_of(angle.quarter_turns, {c(kHalfPiHigh), c(kHalfPiLow)});
    F s = sin_of(r), k = cos_of(r);
    F q = angle.quadrant;
    Mask first = b.eq(q, c(1)), second = b.eq(q, c(2)), third = b.eq(q, c(3));
    Mask odd = b.lor(first, third);
    F magnitude = which == 0 ? b.select(odd, k, s) : b.select(odd, s, k);
    Mask flip = which == 0 ? b.lor(second, third) : b.lor(first, second);
    F value = b.select(flip, negative(magnitude), magnitude);
    if (which == 0) value = from_bits(b.ixor(b.bits(value), b.iand(b.bits(x), sign_bit())));
    value = b.select(b.lt(size, c(0x1p-30)), which == 0 ? x : c(1), value);
    return b.select(b.lt(size, c(kInf)), value, c(__builtin_nan("")));
  }

  /// |x| = M 2^e with an integer M. Pieces of 2/pi whose products with M are multiples of 4 are left out; of the others
  /// each product of 27 by 26 bits is exact, is taken modulo 4, and added in double-double. Whole quarter turns leave
  /// the sum at each step, so that its low part keeps its precision where x is close to a multiple of pi/2.
  template <bool kShortArgument>
  Angle reduced_angle(F size) {
    I pattern = b.bits(size);
    I exponent = b.isub(b.lshr(pattern, 52), ic(1075));
    F m = from_bits(b.ior(b.iand(pattern, ic((int64_t{1} << 52) - 1)), ic(int64_t{1075} << 52)));
    F high = from_bits(b.iand(b.bits(m), ic(~((int64_t{1} << 26) - 1)))), low = b.sub(m, high);
    F skipped = b.mul(b.sub(float_of(exponent), c(kShortArgument ? -27 + 12.5 : 2 + 12.5)), c(1.0 / 26));
    Rounded first = nearest(b.select(b.lt(skipped, c(0)), c(0), skipped));
    F offset = b.mul(first.value, c(26));
    Angle out = {{c(0), c(0)}, c(0)};
    F weight = power_of_two(b.isub(exponent, nearest(offset).integer));
    for (int piece = 0; piece < (kShortArgument ? 5 : 9); ++piece) {
      weight = b.mul(weight, c(0x1p-26));
      F bits_of_two_over_pi = b.lookup(kTwoOverPi, 48, b.iadd(first.integer, ic(piece)));
      add_turns(out, b.mul(b.mul(high, bits_of_two_over_pi), weight));
      if (!kShortArgument) add_turns(out, b.mul(b.mul(low, bits_of_two_over_pi), weight));
    }
    out.quadrant = b.fma(b.floor(b.mul(out.quadrant, c(0.25))), c(-4), out.quadrant);
    return out;
  }
  void add_turns(Angle& angle, F turns) {
    F part = b.fma(b.floor(b.mul(turns, c(0.25))), c(-4), turns);
    Double sum = sum_of(angle.quarter_turns.high, part);
    sum = ordered_sum(sum.high, b.add(sum.low, angle.quarter_turns.low));
    F whole = nearest(sum.high).value;
    angle.quadrant = b.add(angle.quadrant, whole);
    angle.quarter_turns = ordered_sum(b.sub(sum.high, whole), sum.low);
  }
  F sin_of(Double r) {
    F z = b.mul(r.high, r.high);
    F tail = b.fma(b.mul(z, r.high), polynomial(kSin, z), b.fma(b.mul(z, c(-0.5)), r.low, r.low));
    return b.add(r.high, tail);
  }
  F cos_of(Double r) {
    F z = b.mul(r.high, r.high), half = b.mul(z, c(0.5)), w = b.sub(c(1), half);
    F tail = b.fma(b.mul(z, z), polynomial(kCos, z), negative(b.mul(r.high, r.low)));
    return b.add(w, b.add(b.sub(b.sub(c(1), w), half), tail));
  }

  // ---- pow, in f64 for both precisions ----

  /// Good to f32: the error of one log times the exponent, below 2^-45.
  F pow_by_log(F x, F y) { return exp(b.mul(y, log(abs(x)))); }

  /// The log to about 2^-66, so that 709 times its error does not show.
  F pow_by_long_log(F x, F y) {
    F size = abs(x);
    Double l = long_log(split(size));
    F special = with_log_specials(size, l.high);
    Mask finite = b.land(b.lt(c(0), size), b.lt(size, c(kInf)));
    F product = b.mul(y, special);
    F rest = b.fma(y, special, negative(product));
    rest = b.fma(y, l.low, rest);
    Mask in_range = b.lt(abs(product), c(1000));
    rest = b.select(b.land(finite, in_range), rest, c(0));
    F inside = b.select(b.lt(product, c(-746)), c(-746), b.select(b.lt(c(710), product), c(710), product));
    return exp_of(inside, rest);
  }
  /// e ln 2 + 2 atanh(s), s = f / (2 + f): the terms s and s^3 in double-double.
  Double long_log(Split x) {
    F f = x.fraction;
    Double denominator = sum_of(c(2), f);
    F s = b.div(f, denominator.high);
    F rest = b.fma(negative(s), denominator.high, f);
    Double quotient = {s, b.div(b.fma(negative(s), denominator.low, rest), denominator.high)};
    Double z = product_of(quotient, quotient);
    F tail = b.mul(z.high, tail_of_atanh(z.high));
    Double series = sum_of(c(kTwoThirdsHigh), tail);
    series.low = b.add(series.low, c(kTwoThirdsLow));
    Double cubic = product_of(quotient, product_of(z, series));
    F two_s = b.add(s, s);
    Double fraction = ordered_sum(two_s, cubic.high);
    F low = b.add(fraction.low, b.fma(c(2), quotient.low, cubic.low));
    Double total = sum_of(b.mul(x.exponent, c(kLn2ShortHigh)), fraction.high);
    return ordered_sum(total.high, b.add(total.low, b.fma(x.exponent, c(kLn2ShortLow), low)));
  }
  F tail_of_atanh(F z) {
    constexpr size_t kTerms = sizeof(kAtanhF64) / sizeof(double);
    F sum = c(kAtanhF64[kTerms - 1]);
    for (size_t k = kTerms - 1; k-- > 1;) sum = b.fma(sum, z, c(kAtanhF64[k]));
    return sum;
  }
  /// The cases of ISO C, annex F: signs for odd exponents, NaN for roots of negative numbers, 1 for x = 1, y = 0 and
  /// (-1)^inf.
  F pow_special(F x, F y, F value) {
    F size = abs(x), half = b.mul(y, c(0.5));
    Mask integer = b.eq(b.floor(y), y);
    Mask odd = b.land(integer, b.lnot(b.eq(b.floor(half), half)));
    F sign = b.select(odd, x, c(0));
    value = from_bits(b.ixor(b.bits(value), b.iand(b.bits(sign), sign_bit())));
    Mask root = b.land(b.land(b.lt(x, c(0)), b.lt(size, c(kInf))), b.lnot(integer));
    value = b.select(b.land(root, b.eq(y, y)), c(__builtin_nan("")), value);
    Mask one = b.lor(b.eq(y, c(0)), b.eq(x, c(1)));
    one = b.lor(one, b.land(b.eq(size, c(1)), b.eq(abs(y), c(kInf))));
    return b.select(one, c(1), value);
  }

  B& b;
};

}  // namespace polyweft::ir::math
