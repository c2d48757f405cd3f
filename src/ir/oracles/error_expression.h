// Error rules of error_bound.h as expressions of the language. A null Expr is an error that is zero for all data.
#pragma once

#include <functional>

#include "polyweft/program.h"

namespace polyweft::ir {

class ErrorExpression {
 public:
  using Leaf = std::function<Expr(const Expr&)>;
  /// `leaf` gives the errors of reads and (in combiners) of variables; `roundings` the most terms of a reduction.
  ErrorExpression(Leaf leaf, std::function<double(const Reduction&)> terms)
      : leaf_(std::move(leaf)), terms_(std::move(terms)) {}

  /// The error of a scalar expression; f64 or null.
  Expr error_of(const Expr& e) const;

 private:
  /// Right where the value is finite, and anything elsewhere. In a sum that is enough: it is not finite either then.
  Expr error_where_finite(const Expr& e) const;
  Expr of_chain(const Expr& e) const;
  Expr of_float(const Expr& e, const Expr& a, const Expr& b) const;
  Expr of_integer(const Expr& e, const Expr& a, const Expr& b) const;
  Expr of_function(const Expr& e, const Expr& a, const Expr& b) const;
  Expr of_conversion(const Expr& e, const Expr& a) const;
  Expr of_select(const Expr& e) const;
  Expr of_reduction(const Expr& e) const;
  Expr worst_of(const std::vector<Expr>& args) const;

  Leaf leaf_;
  std::function<double(const Reduction&)> terms_;
};

// Building blocks: f64 expressions in which null is zero.
Expr f64_literal(double value);
Expr as_f64(const Expr& value);
Expr magnitude_of(const Expr& value);
Expr plus(const Expr& a, const Expr& b);
Expr times(const Expr& a, const Expr& b);
Expr larger(const Expr& a, const Expr& b);
/// error where value is finite, else 0.
Expr where_finite(const Expr& value, const Expr& error);

}  // namespace polyweft::ir
