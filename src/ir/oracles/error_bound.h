// Running error bounds (LANGUAGE.md section 4, "Same result").
//
// Every scalar carries an error E: a bound, computed in f64, on the distance between the exact value of the expression
// over the reals and the result of *any* evaluation that its class allows (any tree of a reduction, contracted or not,
// functions within 4 ULP). Two such evaluations differ by at most 2 E. Rules are first order with the second-order
// terms kept where they are cheap:
//
//   a + b     Ea + Eb + u (|a+b| + Ea + Eb)              u: unit roundoff, 2^-24 for f32
//   a * b     |a| Eb + |b| Ea + Ea Eb + u |ab|
//   sum x_k   sum E_k + ((1+u)^n - 1) (sum |x_k| + sum E_k)      any tree: Higham, Accuracy and Stability, section 4.2
//   f(a)      E_a sup |f'| over [a - Ea, a + Ea] + 8 u |f(a)|    4 ULP are at most 8 u
//
// Worked: sum of 3 products of f32 with |x_k| = 1: E = 3 u + 3 u 3 = 12 u, reported 24 u, about 1.4e-6.
#pragma once

#include <span>

#include "ir/oracles/tag.h"
#include "ir/values/scalar.h"

namespace polyweft::ir {

/// A value with its error. `known` is false for a value that waits for another element.
struct Scalar {
  Literal value;
  double error = 0;
  bool known = true;
  Tag tag = {};  ///< in tag mode, see tag.h
};

/// bf16 operands and f32 partial sums below this may be flushed to zero by a tensor unit.
inline constexpr double kFlushed = 0x1p-126;

/// Unit roundoff: half the distance from 1 to the next number; 0 for integers and bool.
double unit_roundoff(ElementType type);

/// The greatest finite value.
double greatest_finite(ElementType type);

/// Whether every value of `from` is a value of the float type `to`.
bool converts_exactly(ElementType from, ElementType to);

/// The error of value = apply(op, type, args).
double error_of(Op op, std::span<const Scalar> args, const Literal& value);

/// Collects the terms of one sum, prod, max, min, any or all.
class ReductionError {
 public:
  ReductionError(Reducer reducer, ElementType type) : reducer_(reducer), type_(type) {}
  void add(const Scalar& term);
  /// The error of the reduction's result over all terms added.
  double result(const Literal& value) const;

 private:
  Reducer reducer_;
  ElementType type_;
  int64_t count_ = 0;
  double magnitudes_ = 0;  ///< sum of |x| + E
  double errors_ = 0;      ///< sum of E
  double greatest_ = 0;    ///< greatest E
  double product_ = 1;     ///< product of |x| + E
  bool non_finite_ = false;
};

}  // namespace polyweft::ir
