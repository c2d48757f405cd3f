#include "ir/normalize/simplify.h"

#include <algorithm>

#include "ir/normalize/collapse_reductions.h"
#include "ir/normalize/part_reductions.h"
#include "ir/values/scalar.h"
#include "support/abilities.h"

namespace polyweft::ir {
namespace {

/// Operators with one right answer; functions are the targets' own.
bool is_exact_op(Op op) {
  switch (op) {
    case Op::exp:
    case Op::log:
    case Op::tanh:
    case Op::rsqrt:
    case Op::erf:
    case Op::sigmoid:
    case Op::sin:
    case Op::cos:
    case Op::pow:
      return false;
    default:
      return op >= Op::neg && op <= Op::clamp;
  }
}

bool is_literal(const Expr& e) {
  return e->op == Op::literal;
}

bool is_number(const Expr& e, int64_t value) {
  return e->op == Op::literal && is_integer(e->type) && e->literal.i == value;
}

/// x // 1 = x, x * 1 = x, x + 0 = x and their like, of integers.
Expr without_neutral_operand(const Expr& e) {
  if (e->args.size() != 2 || !is_integer(e->type)) return nullptr;
  const int64_t neutral = e->op == Op::mul || e->op == Op::floor_div ? 1 : 0;
  const bool either = e->op == Op::add || e->op == Op::mul || e->op == Op::bit_or || e->op == Op::bit_xor;
  const bool right = either || e->op == Op::sub || e->op == Op::floor_div || e->op == Op::shl || e->op == Op::shr;
  if (right && is_number(e->args[1], neutral)) return e->args[0];
  return either && is_number(e->args[0], neutral) ? e->args[1] : nullptr;
}

/// x - x of integers, and of floats that are integers.
Expr without_difference(const Expr& e) {
  if (e->op != Op::sub || !equal(e->args[0], e->args[1])) return nullptr;
  if (is_integer(e->type)) return make_literal(integer_literal(e->type, 0), e->where);
  const bool is_finite =
      e->args[0]->op == Op::convert && is_integer(e->args[0]->args[0]->type) && e->type != ElementType::f16;
  return is_finite ? make_literal(float_literal(e->type, 0), e->where) : nullptr;
}

/// Of literals, the value; else null. Functions only where the last bits are free. Half types stay: class contract
/// keeps their intermediates in f32.
Expr folded(const Expr& e, NumericsClass cls) {
  const bool is_half = e->type == ElementType::f16 || e->type == ElementType::bf16;
  const bool is_operator =
      is_exact_op(e->op) || (cls == NumericsClass::reassoc && e->op >= Op::neg && e->op <= Op::clamp);
  if (!is_operator || is_half || e->args.empty() || !std::all_of(e->args.begin(), e->args.end(), is_literal))
    return nullptr;
  std::vector<Literal> values;
  for (const Expr& arg : e->args) values.push_back(arg->literal);
  return make_literal(apply(e->op, e->type, values), e->where);
}

class Simplifier {
 public:
  Simplifier(const Program& program, NumericsClass cls) : program_(program), cls_(cls) {}

  /// What stands in subscripts as data stays: integers there do not wrap (exact.h).
  Expr simple(const Expr& e, const AffineFacts& facts) const {
    if (e->op == Op::guarded) return guarded(e, facts);
    if (e->op == Op::reduce) return reduction(e, facts);
    auto copy = std::make_shared<ExprNode>(*e);
    bool changed = false;
    for (Expr& arg : copy->args) {
      Expr next = simple(arg, facts);
      changed |= next != arg;
      arg = std::move(next);
    }
    const Expr out = changed ? Expr(copy) : e;
    if (Expr operand = without_neutral_operand(out)) return operand;
    if (Expr zero = without_difference(out)) return zero;
    const Expr value = folded(out, cls_);
    return value ? value : out;
  }

 private:
  Expr guarded(const Expr& e, const AffineFacts& facts) const {
    const Guard g = without_division(facts.simplified(e->guard));
    Expr then = g.kind == Guard::Kind::any && g.of.empty() ? nullptr : simple(e->args[0], facts.with(g));
    if (g.is_true()) return then;
    Expr otherwise = simple(e->args[1], facts.with(guard_not(g)));
    if (!then || equal(then, otherwise)) return otherwise;
    return g == e->guard && then == e->args[0] && otherwise == e->args[1] ? e : guarded_by(g, then, otherwise);
  }

  /// `facts` and the ranges and conditions of the reduction.
  static AffineFacts inside(const AffineFacts& facts, const Reduction& reduction) {
    AffineFacts out = facts;
    for (const IndexRange& range : reduction.ranges) out = out.with(range);
    return out.with(reduction.where);
  }

  Expr with_simple_terms(const Expr& reduce, const AffineFacts& facts) const {
    auto copy = std::make_shared<ExprNode>(*reduce);
    const AffineFacts body = inside(facts, reduce->reduction);
    for (Expr& arg : copy->args) arg = simple(arg, body);
    return copy;
  }

  Expr reduction(const Expr& e, const AffineFacts& facts) const {
    auto narrow = std::make_shared<ExprNode>(*e);
    narrow->reduction.where = without_division(e->reduction.where);
    narrow->reduction = narrowed(narrow->reduction, facts);
    if (is_empty(narrow->reduction)) return combining_op(e->reduction.reducer) ? identity_literal(program_, *e) : e;
    Expr out = with_simple_terms(narrow, facts);
    for (Expr next = without_neutral_terms(out, facts); next; next = without_neutral_terms(out, facts))
      out = with_simple_terms(next, facts);
    if (is_empty(out->reduction)) return identity_literal(program_, *e);
    if (combining_op(e->reduction.reducer) && is_on("normalize.dense_strides"))
      if (Expr dense = without_strides(out)) return reduction(dense, facts);
    if (Expr rest = is_on("normalize.collapsed_sums") ? without_unused_indices(program_, cls_, out, facts) : nullptr)
      return rest->op == Op::reduce ? reduction(rest, facts) : simple(rest, facts);
    if (is_on("normalize.parted_sums"))
      if (Expr parts = parted(out, cls_, facts,
                              [this](const Expr& part, const AffineFacts& place) { return simple(part, place); }))
        return parts;
    return out;
  }

  static bool is_empty(const Reduction& reduction) {
    return reduction.where.kind == Guard::Kind::any && reduction.where.of.empty();
  }

  const Program& program_;
  NumericsClass cls_;
};

}  // namespace

Program simplified(const Program& program, NumericsClass cls) {
  const Simplifier simplifier(program, cls);
  const AffineFacts assumptions(program);
  Program out = program;
  for (Equation& equation : out.equations) {
    const AffineFacts facts = assumptions.in(scope_of(equation));
    equation.rhs = simplifier.simple(equation.rhs, facts);
  }
  return out;
}

}  // namespace polyweft::ir
