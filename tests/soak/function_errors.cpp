#include "soak/function_errors.h"

#include "ir/values/scalar_math.h"

namespace polyweft::soak {

double library(Op op, double x, double y) {
  switch (op) {
    case Op::exp:
      return std::exp(x);
    case Op::log:
      return std::log(x);
    case Op::tanh:
      return std::tanh(x);
    case Op::erf:
      return std::erf(x);
    case Op::sin:
      return std::sin(x);
    case Op::cos:
      return std::cos(x);
    case Op::rsqrt:
      return 1 / std::sqrt(x);
    case Op::sqrt:
      return std::sqrt(x);
    case Op::pow:
      return std::pow(x, y);
    default: {
      const double e = std::exp(-std::fabs(x));
      return (x < 0 ? e : 1) / (1 + e);
    }
  }
}

long double library(Op op, long double x, long double y) {
  if (op == Op::sqrt) return std::sqrt(x);
  return ir::reference_function(op, x, y);
}

Format format_of(ElementType type) {
  if (type == ElementType::f64) return {53, -1022};
  if (type == ElementType::f32) return {24, -126};
  if (type == ElementType::f16) return {11, -14};
  return {8, -126};
}

Exact::Exact() {
  mpfr_init2(x_, 1400);
  mpfr_init2(y_, 300);
  mpfr_init2(value_, 300);
}

Exact::~Exact() {
  mpfr_clear(x_);
  mpfr_clear(y_);
  mpfr_clear(value_);
}

double Exact::error(Op op, double x, double y, double got, const Format& format) {
  mpfr_set_d(x_, x, MPFR_RNDN);
  mpfr_set_d(y_, y, MPFR_RNDN);
  evaluate(op);
  if (mpfr_nan_p(value_) || std::isnan(got)) return mpfr_nan_p(value_) && std::isnan(got) ? 0 : 1e9;
  if (mpfr_inf_p(value_)) return got == mpfr_get_d(value_, MPFR_RNDN) ? 0 : 1e9;
  if (mpfr_zero_p(value_)) return got == 0 ? 0 : 1e9;
  const long exponent = std::max<long>(mpfr_get_exp(value_), format.least + 1) - format.digits;
  if (std::isinf(got)) return std::signbit(got) == (mpfr_sgn(value_) < 0) && rounds_to_infinity(format) ? 0 : 1e9;
  mpfr_sub_d(value_, value_, got, MPFR_RNDN);
  mpfr_div_2si(value_, value_, exponent, MPFR_RNDN);
  return std::fabs(mpfr_get_d(value_, MPFR_RNDN));
}

// Half an ULP beyond the largest number; the largest exponent mirrors the least one. Four ULP of grace below it.
bool Exact::rounds_to_infinity(const Format& format) const {
  mpfr_t limit;
  mpfr_init2(limit, 300);
  mpfr_set_ui_2exp(limit, 1, 2 - format.least, MPFR_RNDN);
  mpfr_t grace;
  mpfr_init2(grace, 300);
  mpfr_set_ui_2exp(grace, 4, 2 - format.least - format.digits, MPFR_RNDN);
  mpfr_sub(limit, limit, grace, MPFR_RNDN);
  const bool out = mpfr_cmpabs(value_, limit) >= 0;
  mpfr_clear(limit);
  mpfr_clear(grace);
  return out;
}

void Exact::evaluate(Op op) {
  switch (op) {
    case Op::exp:
      mpfr_exp(value_, x_, MPFR_RNDN);
      return;
    case Op::log:
      mpfr_log(value_, x_, MPFR_RNDN);
      return;
    case Op::tanh:
      mpfr_tanh(value_, x_, MPFR_RNDN);
      return;
    case Op::erf:
      mpfr_erf(value_, x_, MPFR_RNDN);
      return;
    case Op::sin:
      mpfr_sin(value_, x_, MPFR_RNDN);
      return;
    case Op::cos:
      mpfr_cos(value_, x_, MPFR_RNDN);
      return;
    case Op::rsqrt:
      mpfr_sqrt(value_, x_, MPFR_RNDN);  // of -0 it is -0, and so 1 / -0 the -inf that the language wants
      mpfr_ui_div(value_, 1, value_, MPFR_RNDN);
      return;
    case Op::sqrt:
      mpfr_sqrt(value_, x_, MPFR_RNDN);
      return;
    case Op::pow:
      mpfr_pow(value_, x_, y_, MPFR_RNDN);
      return;
    default:
      mpfr_neg(x_, x_, MPFR_RNDN);
      mpfr_exp(value_, x_, MPFR_RNDN);
      mpfr_add_ui(value_, value_, 1, MPFR_RNDN);
      mpfr_ui_div(value_, 1, value_, MPFR_RNDN);
  }
}

}  // namespace polyweft::soak
