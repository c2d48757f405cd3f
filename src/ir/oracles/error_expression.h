// Error rules of error_bound.h as expressions of the language. A null Expr is an error that is zero for all data.
#pragma once

#include <functional>

#include "polyweft/program.h"

namespace polyweft::ir {

class ErrorExpression {
 public:
  using Leaf = std::function<Expr(const Expr&)>;
  /// `leaf` gives the errors of reads and (in combiners) of variables; `terms` the most terms of a reduction. In class
  /// strict a rounding of exact operands gives the same number everywhere; only functions are not exact then.
  ErrorExpression(Leaf leaf, std::function<double(const Reduction&)> terms, NumericsClass cls)
      : leaf_(std::move(leaf)), terms_(std::move(terms)), is_strict_(cls == NumericsClass::strict) {}

  /// The error of a scalar expression; f64 or null.
  Expr error_of(const Expr& e) const;
  /// Zero where exact integers (exact.h) are the same in every evaluation, something else where they may not be.
  Expr error_of_index(const Expr& data) const;

 private:
  Expr of_chain(const Expr& e) const;
  Expr of_float(const Expr& e, const Expr& a, const Expr& b) const;
  Expr of_integer(const Expr& e, const Expr& a, const Expr& b) const;
  Expr of_function(const Expr& e, const Expr& a, const Expr& b) const;
  Expr of_conversion(const Expr& e, const Expr& a) const;
  Expr of_select(const Expr& e) const;
  Expr of_reduction(const Expr& e) const;
  Expr worst_of(const std::vector<Expr>& args) const;
  /// Of the operation e, to whose result its operands' errors bring `operands`.
  Expr with_rounding(const Expr& e, const Expr& operands, const Expr& rounding) const;

  Leaf leaf_;
  std::function<double(const Reduction&)> terms_;
  bool is_strict_ = false;
};

// Building blocks: f64 expressions in which null is zero.
Expr f64_literal(double value);
Expr as_f64(const Expr& value);
Expr magnitude_of(const Expr& value);
Expr plus(const Expr& a, const Expr& b);
Expr times(const Expr& a, const Expr& b);
Expr larger(const Expr& a, const Expr& b);
/// Whether a and b, which have this error together, may be the same or in the other order. An error that is NaN is
/// one of any size.
Expr may_meet(const Expr& a, const Expr& b, const Expr& error);
/// error where value is finite, else 0.
Expr where_finite(const Expr& value, const Expr& error);

}  // namespace polyweft::ir
