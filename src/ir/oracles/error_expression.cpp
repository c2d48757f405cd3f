#include "ir/oracles/error_expression.h"

#include <cmath>

#include "ir/oracles/error_bound.h"
#include "ir/text/loop_nest_text.h"
#include "ir/values/exact.h"
#include "ir/values/scalar_math.h"

namespace polyweft::ir {
namespace {

constexpr ElementType kF64 = ElementType::f64;

Expr op(Op what, std::vector<Expr> args) {
  return make_op(what, kF64, std::move(args));
}

Expr minus(const Expr& a, const Expr& b) {
  return op(Op::sub, {a, b});
}

Expr over(const Expr& a, const Expr& b) {
  return a ? op(Op::div, {a, b}) : nullptr;
}

/// value where a > b, else infinity (NaN counts as not above).
Expr where_above(const Expr& a, const Expr& b, const Expr& value) {
  Expr condition = make_op(Op::gt, ElementType::boolean, {a, b});
  return op(Op::select, {condition, value, f64_literal(INFINITY)});
}

/// Zero where the operand's error is zero: the formula may divide zero by zero there.
Expr unless_exact(const Expr& error, const Expr& formula) {
  Expr exact = make_op(Op::eq, ElementType::boolean, {error, f64_literal(0)});
  return op(Op::select, {exact, f64_literal(0), formula});
}

/// What `count` operations may lose below the normal numbers.
Expr underflow_of(ElementType type, double count) {
  return f64_literal(count * (type == kF64 ? 0x1p-1022 : type == ElementType::f16 ? 0x1p-24 : kFlushed));
}

/// The unit roundoff and the underflow unit of one operation on a value of this type.
Expr rounding(const Expr& value, double count) {
  if (!is_float(value->type)) return nullptr;
  return plus(times(f64_literal(count * unit_roundoff(value->type)), magnitude_of(value)),
              underflow_of(value->type, count));
}

/// Steps of a function that is constant between them: step(v + e) - step(v - e).
Expr step_error_expression(Op step, const Expr& value, const Expr& error) {
  if (!error) return nullptr;
  return minus(op(step, {plus(as_f64(value), error)}), op(step, {minus(as_f64(value), error)}));
}

/// Truncation: floor(|v| + e) - floor(|v| - e), and where the sign may change, both sides of zero.
Expr truncation_error(const Expr& value, const Expr& error) {
  if (!error) return nullptr;
  Expr size = magnitude_of(value);
  Expr same_sign = make_op(Op::ge, ElementType::boolean, {size, error});
  Expr below = op(Op::select,
                  {same_sign, op(Op::floor, {minus(size, error)}), op(Op::neg, {op(Op::floor, {minus(error, size)})})});
  return minus(op(Op::floor, {plus(size, error)}), below);
}

bool is_sum(Op what) {
  return what == Op::add || what == Op::sub;
}

/// The operands of a chain of + and -.
void collect_terms(const Expr& e, std::vector<Expr>& out) {
  if (!is_sum(e->op)) {
    out.push_back(e);
    return;
  }
  collect_terms(e->args[0], out);
  collect_terms(e->args[1], out);
}

bool is_logic(Op what) {
  return what == Op::logical_not || what == Op::logical_and || what == Op::logical_or;
}

Expr infinite_unless_zero(const Expr& error) {
  if (!error) return nullptr;
  Expr exact = make_op(Op::eq, ElementType::boolean, {error, f64_literal(0)});
  return op(Op::select, {exact, f64_literal(0), f64_literal(INFINITY)});
}

Expr below(const Expr& error, double limit) {
  return make_op(Op::lt, ElementType::boolean, {error, f64_literal(limit)});
}

/// No two values of a bounded function are further apart; an infinite error stands for NaN too and stays.
Expr at_most(double distance, const Expr& error) {
  return op(Op::select, {below(error, INFINITY), op(Op::min, {f64_literal(distance), error}), error});
}

/// The errors of both sides of `e`, each where its side is.
Expr guarded(const Expr& e, const Expr& then, const Expr& otherwise) {
  if (!then && !otherwise) return nullptr;
  auto node = std::make_shared<ExprNode>(*e);
  node->type = kF64;
  node->args = {then ? then : f64_literal(0), otherwise ? otherwise : f64_literal(0)};
  return node;
}

/// 0 where it is infinite or NaN: another factor's error does not matter there.
Expr finite_size(const Expr& value) {
  return is_float(value->type) ? where_finite(value, magnitude_of(value)) : magnitude_of(value);
}

Expr product_error_expression(const Expr& x, const Expr& y, const Expr& a, const Expr& b) {
  return plus(plus(b ? times(finite_size(x), b) : nullptr, a ? times(finite_size(y), a) : nullptr),
              a && b ? times(a, b) : nullptr);
}

}  // namespace

Expr f64_literal(double value) {
  return make_literal({kF64, value, 0});
}

Expr as_f64(const Expr& value) {
  return value->type == kF64 ? value : make_op(Op::convert, kF64, {value});
}

Expr magnitude_of(const Expr& value) {
  return op(Op::abs, {as_f64(value)});
}

Expr plus(const Expr& a, const Expr& b) {
  if (!a || !b) return a ? a : b;
  return op(Op::add, {a, b});
}

Expr times(const Expr& a, const Expr& b) {
  if (!a || !b) return nullptr;
  return op(Op::mul, {a, b});
}

Expr larger(const Expr& a, const Expr& b) {
  if (!a || !b) return a ? a : b;
  return op(Op::max, {a, b});
}

Expr may_meet(const Expr& a, const Expr& b, const Expr& error) {
  Expr apart = op(Op::abs, {minus(as_f64(a), as_f64(b))});
  // Also where one of them is NaN, which another evaluation may not have.
  Expr near = make_op(Op::logical_not, ElementType::boolean, {make_op(Op::gt, ElementType::boolean, {apart, error})});
  Expr inexact = make_op(Op::gt, ElementType::boolean, {error, f64_literal(0)});
  Expr unknown = make_op(Op::ne, ElementType::boolean, {error, error});
  Expr meets = make_op(Op::logical_and, ElementType::boolean, {near, inexact});
  return make_op(Op::logical_or, ElementType::boolean, {meets, unknown});
}

Expr where_finite(const Expr& value, const Expr& error) {
  if (!error) return nullptr;
  Expr finite = make_op(Op::lt, ElementType::boolean, {magnitude_of(value), f64_literal(INFINITY)});
  return op(Op::select, {finite, error, f64_literal(0)});
}

Expr ErrorExpression::worst_of(const std::vector<Expr>& args) const {
  Expr out;
  for (const Expr& arg : args) out = larger(out, error_of(arg));
  return out;
}

// What leaves the reals: exact operands, or one that is itself infinite or NaN, give the same special value everywhere;
// finite ones that are not exact may or may not have overflowed.
Expr ErrorExpression::with_rounding(const Expr& e, const Expr& operands, const Expr& rounding) const {
  if (!rounding) return operands;
  if (!operands) return is_strict_ ? nullptr : where_finite(e, rounding);
  Expr sizes;
  for (const Expr& arg : e->args) sizes = plus(sizes, magnitude_of(arg));
  Expr special = op(Op::select, {below(sizes, INFINITY), f64_literal(INFINITY), f64_literal(0)});
  return plus(operands, op(Op::select, {below(magnitude_of(e), INFINITY), rounding, special}));
}

Expr ErrorExpression::error_of_index(const Expr& data) const {
  if (!is_exact_operator(*data) && !is_exact_condition(*data)) return error_of(data);
  Expr errors[3], out;
  for (size_t k = 0; k < data->args.size(); ++k) out = plus(out, errors[k] = error_of_index(data->args[k]));
  return data->op == Op::guarded ? guarded(data, errors[0], errors[1]) : out;
}

Expr ErrorExpression::error_of(const Expr& e) const {
  switch (e->op) {
    case Op::literal:
    case Op::affine:
      return nullptr;
    case Op::variable:
    case Op::read:
      return leaf_(e);
    case Op::guarded:
      return guarded(e, error_of(e->args[0]), error_of(e->args[1]));
    case Op::reduce:
      return of_reduction(e);
    case Op::select:
      return of_select(e);
    case Op::convert:
    case Op::saturate:
      return of_conversion(e, error_of(e->args[0]));
    default:
      break;
  }
  if (is_logic(e->op)) return worst_of(e->args);
  if (is_float(e->type) && is_sum(e->op)) return of_chain(e);
  Expr a = error_of(e->args[0]), b = e->args.size() > 1 ? error_of(e->args[1]) : nullptr;
  if (is_comparison(e->op)) {
    Expr both = plus(a, b);
    if (!both) return nullptr;
    return op(Op::select, {may_meet(e->args[0], e->args[1], both), f64_literal(1), f64_literal(0)});
  }
  if (e->op == Op::min || e->op == Op::max || e->op == Op::clamp) return worst_of(e->args);
  if (e->op == Op::neg || e->op == Op::abs) return a;
  return is_float(e->type) ? of_float(e, a, b) : of_integer(e, a, b);
}

/// A chain of m terms at once, so that the expression stays short: sum E_k + (m - 1) u (sum |x_k|). One sum is u |x +
/// y|.
Expr ErrorExpression::of_chain(const Expr& e) const {
  std::vector<Expr> terms;
  collect_terms(e, terms);
  Expr errors, sizes;
  for (const Expr& term : terms) {
    errors = plus(errors, error_of(term));
    sizes = plus(sizes, magnitude_of(term));
  }
  double roundings = static_cast<double>(terms.size() - 1);
  if (terms.size() == 2) return with_rounding(e, errors, rounding(e, 1));
  return with_rounding(
      e, errors, plus(times(f64_literal(roundings * unit_roundoff(e->type)), sizes), underflow_of(e->type, roundings)));
}

Expr ErrorExpression::of_float(const Expr& e, const Expr& a, const Expr& b) const {
  const Expr& x = e->args[0];
  switch (e->op) {
    case Op::floor:
    case Op::ceil:
    case Op::round:
      return step_error_expression(e->op, x, a);
    case Op::mul:
      return with_rounding(e, product_error_expression(x, e->args[1], a, b), rounding(e, 1));
    case Op::div: {
      Expr error = plus(a, b ? times(finite_size(e), b) : nullptr);
      Expr size = magnitude_of(e->args[1]);
      if (b)
        error = where_above(size, times(f64_literal(2), b), over(error, minus(size, b)));
      else
        error = over(error, size);
      return with_rounding(e, error, rounding(e, 1));
    }
    case Op::sqrt: {
      Expr error = a ? unless_exact(a, where_above(as_f64(x), a, over(a, as_f64(e)))) : nullptr;
      return with_rounding(e, error, rounding(e, 1));
    }
    default:
      return plus(of_function(e, a, b), where_finite(e, rounding(e, 8)));
  }
}

Expr ErrorExpression::of_function(const Expr& e, const Expr& a, const Expr& b) const {
  if (!a && !b) return nullptr;
  const Expr& x = e->args[0];
  Expr size = magnitude_of(x), value = magnitude_of(e);
  switch (e->op) {
    case Op::exp:
      return op(Op::select,
                {below(a, 1), unless_exact(a, times(value, plus(a, times(a, a)))),
                 op(Op::select, {below(a, INFINITY), times(value, op(Op::exp, {a})), f64_literal(INFINITY)})});
    case Op::log:
      return unless_exact(a, where_above(as_f64(x), a, over(a, minus(size, a))));
    case Op::sigmoid:
      return at_most(
          1, times(op(Op::min, {f64_literal(0.25),
                                op(Op::exp, {minus(f64_literal(0), op(Op::max, {f64_literal(0), minus(size, a)}))})}),
                   a));
    case Op::erf:
      return at_most(2, times(f64_literal(1.13), a));
    case Op::tanh:
    case Op::sin:
    case Op::cos:
      return at_most(2, a);
    case Op::rsqrt:
      return unless_exact(
          a, where_above(as_f64(x), times(f64_literal(2), a), over(times(times(f64_literal(1.5), a), value), size)));
    default:
      break;
  }
  Expr exponent = magnitude_of(e->args[1]);
  Expr from_base = a ? over(times(times(f64_literal(2), exponent), a), size) : nullptr;
  Expr from_exponent = times(op(Op::abs, {op(Op::log, {size})}), b);
  Expr relative = plus(from_base, from_exponent);
  Expr error = where_above(f64_literal(0.5), relative, times(f64_literal(1.5), times(value, relative)));
  return unless_exact(plus(a, b), a ? where_above(size, times(f64_literal(2), a), error) : error);
}

Expr ErrorExpression::of_integer(const Expr& e, const Expr& a, const Expr& b) const {
  if (e->op == Op::add || e->op == Op::sub) return plus(a, b);
  if (e->op == Op::mul) return product_error_expression(e->args[0], e->args[1], a, b);
  return infinite_unless_zero(plus(a, b));
}

Expr ErrorExpression::of_conversion(const Expr& e, const Expr& a) const {
  ElementType from = e->args[0]->type;
  if (!is_float(e->type)) return is_float(from) ? truncation_error(e->args[0], a) : a;
  return converts_exactly(from, e->type) ? a : with_rounding(e, a, rounding(e, 1));
}

/// An uncertain condition adds the distance of the two values to the larger of their errors.
Expr ErrorExpression::of_select(const Expr& e) const {
  Expr a = error_of(e->args[1]), b = error_of(e->args[2]), unsure = error_of(e->args[0]);
  Expr chosen;
  if (a || b) chosen = op(Op::select, {e->args[0], a ? a : f64_literal(0), b ? b : f64_literal(0)});
  if (!unsure) return chosen;
  Expr apart = op(Op::abs, {minus(as_f64(e->args[1]), as_f64(e->args[2]))});
  Expr is_unsure = make_op(Op::gt, ElementType::boolean, {unsure, f64_literal(0)});
  return op(Op::select, {is_unsure, plus(apart, larger(a, b)), chosen ? chosen : f64_literal(0)});
}

/// sum: one reduction, E_k + g (|x_k| + E_k) with g = (1+u)^n - 1 for the most terms n; prod: (prod (|x_k| + E_k)(1 +
/// 2u)) - |value|.
Expr ErrorExpression::of_reduction(const Expr& e) const {
  const Expr& body = e->args[0];
  bool sums = e->reduction.reducer == Reducer::sum || e->reduction.reducer == Reducer::prod;
  Expr error = error_of(body);
  if (is_strict_ && !error) return nullptr;
  auto reduced = [&](Reducer reducer, Expr inner) {
    auto node = std::make_shared<ExprNode>(*e);
    node->type = kF64;
    node->reduction.reducer = reducer;
    node->args = {std::move(inner)};
    return Expr(node);
  };
  if (!is_float(e->type) || !sums) {
    if (!error) return nullptr;
    if (e->reduction.reducer == Reducer::sum) return reduced(Reducer::sum, error);
    if (e->reduction.reducer == Reducer::prod) return infinite_unless_zero(reduced(Reducer::sum, error));
    return larger(f64_literal(0), reduced(Reducer::max, error));
  }
  double terms = terms_(e->reduction), growth = std::expm1(terms * unit_roundoff(e->type));
  if (e->reduction.reducer == Reducer::sum) {
    Expr size = plus(times(f64_literal(growth), plus(where_finite(body, magnitude_of(body)), error)),
                     f64_literal(e->type == kF64 ? 0x1p-1022 : kFlushed));
    return reduced(Reducer::sum, plus(error, size));
  }
  Expr factor = times(plus(magnitude_of(body), error), f64_literal(1 + 2 * unit_roundoff(e->type)));
  Expr product = reduced(Reducer::prod, factor);
  Expr finite = plus(minus(product, magnitude_of(e)),
                     plus(times(f64_literal(terms * 0x1p-51), product), f64_literal(terms * kFlushed)));
  Expr special = error ? infinite_unless_zero(reduced(Reducer::sum, error)) : f64_literal(0);
  return op(Op::select, {below(magnitude_of(e), INFINITY), finite, special});
}

}  // namespace polyweft::ir
