// The functions of LANGUAGE.md section 4 on scalars: by math.h, or by the C library.
#include "ir/values/scalar_math.h"

#include <cmath>

#include "ir/values/math.h"

namespace polyweft::ir {
namespace {

template <bool kSingle, class Float>
Float own_value(Op op, Float x, Float y) {
  math::ScalarBuilder builder;
  math::Functions<math::ScalarBuilder, kSingle> f(builder);
  switch (op) {
    case Op::exp:
      return f.exp(x);
    case Op::log:
      return f.log(x);
    case Op::tanh:
      return f.tanh(x);
    case Op::rsqrt:
      return f.rsqrt(x);
    case Op::erf:
      return f.erf(x);
    case Op::sigmoid:
      return f.sigmoid(x);
    case Op::sin:
      return f.sin(x);
    case Op::cos:
      return f.cos(x);
    default:
      return f.pow(x, y);
  }
}

}  // namespace

bool is_function(Op op) {
  return op == Op::exp || op == Op::log || op == Op::tanh || op == Op::rsqrt || op == Op::erf || op == Op::sigmoid ||
         op == Op::sin || op == Op::cos || op == Op::pow;
}

long double reference_function(Op op, long double x, long double y) {
  switch (op) {
    case Op::exp:
      return std::exp(x);
    case Op::log:
      return std::log(x);
    case Op::tanh:
      return std::tanh(x);
    case Op::rsqrt:
      return 1 / std::sqrt(x);
    case Op::erf:
      return std::erf(x);
    case Op::sigmoid:
      return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
    case Op::sin:
      return std::sin(x);
    case Op::cos:
      return std::cos(x);
    default:
      return std::pow(x, y);
  }
}

double own_function(Op op, ElementType type, double x, double y) {
  if (type == ElementType::f64) return own_value<false>(op, x, y);
  return own_value<true>(op, static_cast<float>(x), static_cast<float>(y));
}

}  // namespace polyweft::ir
