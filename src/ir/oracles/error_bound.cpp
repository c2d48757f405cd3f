#include "ir/oracles/error_bound.h"

#include <algorithm>
#include <cmath>

namespace polyweft::ir {
namespace {

constexpr double kInfinity = INFINITY;

double least_subnormal(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return 0x1p-1074;
    case ElementType::f32:
      return 0x1p-149;
    case ElementType::f16:
      return 0x1p-24;
    case ElementType::bf16:
      return 0x1p-133;
    default:
      return 0;
  }
}

/// Adds `roundings` roundings to type to a value of this magnitude; infinite where the magnitude may overflow.
double rounded(ElementType type, double magnitude, double error, double roundings) {
  if (!(magnitude + error <= greatest_finite(type))) return kInfinity;
  if (!is_float(type)) return error;
  return error + roundings * (unit_roundoff(type) * (magnitude + error) + least_subnormal(type));
}

double magnitude(const Scalar& x) {
  return std::fabs(as_double(x.value));
}

double product_error(const Scalar& a, const Scalar& b) {
  double first = b.error == 0 ? 0 : magnitude(a) * b.error;
  double second = a.error == 0 ? 0 : magnitude(b) * a.error;
  double both = a.error == 0 || b.error == 0 ? 0 : a.error * b.error;
  return first + second + both;
}

double flushed(ElementType type, double factor) {
  return type == ElementType::f32 ? kFlushed * factor : 0;
}

double quotient_error(const Scalar& a, const Scalar& b, double quotient) {
  double least = magnitude(b) - b.error;
  return least > 0 ? (a.error + quotient * b.error) / least : kInfinity;
}

/// f is constant between steps of size one: exact unless a step lies within the error.
template <class Step>
double step_error(const Scalar& a, const Step& step) {
  double value = as_double(a.value);
  return step(value + a.error) - step(value - a.error);
}

double square_root_error(double a, double error) {
  return a > error ? error / (std::sqrt(a) + std::sqrt(a - error)) : kInfinity;
}

double log_error(double a, double error) {
  return a > error ? -std::log1p(-error / a) : kInfinity;
}

double power_error(const Scalar& a, const Scalar& b, double value) {
  double base = magnitude(a), least = base - a.error;
  if (least <= 0) return kInfinity;
  double exponent = magnitude(b) + b.error;
  return value *
         std::expm1(exponent * -std::log1p(-a.error / base) + (std::fabs(std::log(base)) + a.error / least) * b.error);
}

/// sup |f'| over the arguments whose distance from a is at most the error, times the error.
double slope_error(Op op, std::span<const Scalar> args, double value) {
  double a = as_double(args[0].value), error = args[0].error;
  double nearest_zero = std::max(0.0, std::fabs(a) - error);
  switch (op) {
    case Op::exp:
      return value * std::expm1(error);
    case Op::log:
      return log_error(a, error);
    case Op::tanh:
      return error * (1 - std::tanh(nearest_zero) * std::tanh(nearest_zero));
    case Op::sigmoid:
      return error * std::exp(-nearest_zero) / std::pow(1 + std::exp(-nearest_zero), 2);
    case Op::erf:
      return error * 1.1283791670955126 * std::exp(-nearest_zero * nearest_zero);
    case Op::sin:
    case Op::cos:
      return error;
    case Op::rsqrt:
      return a > error ? 0.5 * error / std::pow(a - error, 1.5) : kInfinity;
    default:
      return power_error(args[0], args[1], value);
  }
}

/// No two values of a bounded function are further apart; an infinite error stands for NaN too and stays.
double function_error(Op op, std::span<const Scalar> args, double value) {
  const double error = slope_error(op, args, value);
  const bool is_bounded = op == Op::tanh || op == Op::erf || op == Op::sin || op == Op::cos;
  return error < kInfinity && (is_bounded || op == Op::sigmoid) ? std::min(error, is_bounded ? 2.0 : 1.0) : error;
}

bool is_exact(std::span<const Scalar> args) {
  return std::all_of(args.begin(), args.end(), [](const Scalar& x) { return x.error == 0; });
}

double greatest_error(std::span<const Scalar> args) {
  double out = 0;
  for (const Scalar& x : args) out = std::max(out, x.error);
  return out;
}

double comparison_error(std::span<const Scalar> args) {
  double distance = std::fabs(as_double(args[0].value) - as_double(args[1].value));
  return distance <= args[0].error + args[1].error ? 1 : 0;
}

/// An operand that decides the result alone settles it.
double logic_error(Op op, std::span<const Scalar> args) {
  int64_t deciding = op == Op::logical_or ? 1 : 0;
  for (const Scalar& x : args)
    if (x.error == 0 && x.value.i == deciding && op != Op::logical_not) return 0;
  return greatest_error(args);
}

double select_error(std::span<const Scalar> args) {
  double chosen = args[0].value.i ? args[1].error : args[2].error;
  if (args[0].error == 0) return chosen;
  double distance = std::fabs(as_double(args[1].value) - as_double(args[2].value));
  return std::isfinite(distance) ? distance + std::max(args[1].error, args[2].error) : kInfinity;
}

double conversion_error(const Scalar& a, const Literal& value) {
  if (is_float(value.type)) {
    return converts_exactly(a.value.type, value.type) ? a.error : rounded(value.type, std::fabs(value.f), a.error, 1);
  }
  if (a.error == 0) return 0;
  if (value.type == ElementType::boolean) return 1;
  return is_float(a.value.type) ? step_error(a, [](double x) { return std::trunc(x); })
                                : rounded(value.type, std::fabs(as_double(value)), a.error, 0);
}

double integer_error(Op op, std::span<const Scalar> args, const Literal& value) {
  if (is_exact(args)) return 0;
  double size = std::fabs(as_double(value));
  switch (op) {
    case Op::neg:
    case Op::abs:
      return rounded(value.type, size, args[0].error, 0);
    case Op::add:
    case Op::sub:
      return rounded(value.type, size, args[0].error + args[1].error, 0);
    case Op::mul:
      return rounded(value.type, size, product_error(args[0], args[1]), 0);
    case Op::min:
    case Op::max:
    case Op::clamp:
      return greatest_error(args);
    default:
      return kInfinity;
  }
}

double float_error(Op op, std::span<const Scalar> args, const Literal& value) {
  ElementType type = value.type;
  double size = std::fabs(value.f);
  switch (op) {
    case Op::neg:
    case Op::abs:
      return args[0].error;
    case Op::min:
    case Op::max:
    case Op::clamp:
      return greatest_error(args);
    case Op::floor:
      return step_error(args[0], [](double x) { return std::floor(x); });
    case Op::ceil:
      return step_error(args[0], [](double x) { return std::ceil(x); });
    case Op::round:
      return step_error(args[0], [](double x) { return std::nearbyint(x); });
    case Op::add:
    case Op::sub:
      return rounded(type, size, args[0].error + args[1].error, 1);
    case Op::mul:
      return rounded(type, size,
                     product_error(args[0], args[1]) + flushed(type, magnitude(args[0]) + magnitude(args[1])), 1);
    case Op::fma:
      return rounded(type, size, product_error(args[0], args[1]) + args[2].error, 1);
    case Op::div:
      return rounded(type, size, is_exact(args) ? 0 : quotient_error(args[0], args[1], size), 1);
    case Op::sqrt:
      return rounded(type, size, is_exact(args) ? 0 : square_root_error(args[0].value.f, args[0].error), 1);
    default:
      return rounded(type, size, is_exact(args) ? 0 : function_error(op, args, size), 8);
  }
}

/// What leaves the reals: exact operands, or one that is itself infinite or NaN, give the same special value
/// everywhere.
double special_error(std::span<const Scalar> args) {
  bool special =
      std::any_of(args.begin(), args.end(), [](const Scalar& x) { return !std::isfinite(as_double(x.value)); });
  return is_exact(args) || (special && greatest_error(args) < kInfinity) ? 0 : kInfinity;
}

}  // namespace

double unit_roundoff(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return 0x1p-53;
    case ElementType::f32:
      return 0x1p-24;
    case ElementType::f16:
      return 0x1p-11;
    case ElementType::bf16:
      return 0x1p-8;
    default:
      return 0;
  }
}

double greatest_finite(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return 0x1.fffffffffffffp1023;
    case ElementType::f32:
      return 0x1.fffffep127;
    case ElementType::f16:
      return 65504;
    case ElementType::bf16:
      return 0x1.fep127;
    default:
      return static_cast<double>(greatest_of(type));
  }
}

bool converts_exactly(ElementType from, ElementType to) {
  if (!is_float(to)) return false;
  if (is_float(from)) return unit_roundoff(to) <= unit_roundoff(from) && (to != ElementType::f16 || from == to);
  double values = std::ldexp(1.0, static_cast<int>(8 * size_bytes(from)));
  return from == ElementType::boolean || values * unit_roundoff(to) <= 1;
}

double error_of(Op op, std::span<const Scalar> args, const Literal& value) {
  if (op == Op::select) return select_error(args);
  if (op >= Op::eq && op <= Op::ge) return is_exact(args) ? 0 : comparison_error(args);
  if (op == Op::logical_not || op == Op::logical_and || op == Op::logical_or) return logic_error(op, args);
  double error;
  if (is_float(value.type) && !std::isfinite(value.f))
    error = special_error(args);
  else if (op == Op::convert || op == Op::saturate)
    error = conversion_error(args[0], value);
  else
    error = is_float(value.type) ? float_error(op, args, value) : integer_error(op, args, value);
  return std::isnan(error) ? kInfinity : error;
}

void ReductionError::add(const Scalar& term) {
  double size = magnitude(term);
  ++count_;
  non_finite_ |= !std::isfinite(size);
  magnitudes_ += size + term.error;
  errors_ += term.error;
  greatest_ = std::max(greatest_, term.error);
  product_ *= size + term.error;
}

double ReductionError::result(const Literal& value) const {
  bool chooses = reducer_ != Reducer::sum && reducer_ != Reducer::prod;
  if (chooses) return greatest_;
  if (non_finite_) return greatest_ < kInfinity ? 0 : kInfinity;
  if (!is_float(type_)) {
    if (errors_ == 0) return 0;
    double size = reducer_ == Reducer::sum ? magnitudes_ : product_;
    return size <= greatest_finite(type_)
               ? (reducer_ == Reducer::sum ? errors_ : product_ - std::fabs(as_double(value)))
               : kInfinity;
  }
  double growth = std::expm1(static_cast<double>(count_) * unit_roundoff(type_));
  double size = reducer_ == Reducer::sum ? magnitudes_ : product_;
  if (!(size * (1 + growth) <= greatest_finite(type_))) return kInfinity;
  double underflow = static_cast<double>(count_) * (least_subnormal(type_) + flushed(type_, 1));
  if (reducer_ == Reducer::sum) return errors_ + growth * magnitudes_ + underflow;
  return product_ * (1 + growth) - std::fabs(value.f) + growth * product_ + underflow;
}

}  // namespace polyweft::ir
