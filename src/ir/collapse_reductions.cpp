#include "ir/collapse_reductions.h"

#include <algorithm>

#include "ir/scalar.h"

namespace polyweft::ir {
namespace {

bool is_argument(const Reduction& reduction) {
  return reduction.reducer == Reducer::argmax || reduction.reducer == Reducer::argmin;
}

bool is_idempotent(Reducer reducer) {
  return reducer == Reducer::max || reducer == Reducer::min || reducer == Reducer::any || reducer == Reducer::all;
}

Expr converted(ElementType type, Expr e) {
  if (e->type == type) return e;
  if (e->op == Op::literal) return make_literal(apply(Op::convert, type, std::vector<Literal>{e->literal}), e->where);
  const Span where = e->where;
  return make_op(Op::convert, type, {std::move(e)}, where);
}

Expr data_of(const Affine& e, Span where) {
  return substitute(make_variable(0, where), {{0, e}});
}

struct Peeled {
  Guard guard;
  Expr term;  ///< where it holds; elsewhere the term is neutral
};

Expr with_arg(const Expr& e, size_t k, Expr arg) {
  auto copy = std::make_shared<ExprNode>(*e);
  copy->args[k] = std::move(arg);
  return copy;
}

/// Zero times an integer is zero; the negation and the conversion of a zero are zeros.
std::optional<Peeled> peeled(const Expr& e, Reducer reducer) {
  if (e->op == Op::guarded) {
    if (is_neutral(e->args[1], reducer)) return Peeled{e->guard, e->args[0]};
    if (is_neutral(e->args[0], reducer)) return Peeled{guard_not(e->guard), e->args[1]};
    return std::nullopt;
  }
  if (reducer != Reducer::sum) return std::nullopt;
  const bool keeps_zero = e->op == Op::neg || e->op == Op::convert || (e->op == Op::mul && is_integer(e->type));
  for (size_t k = 0; k < e->args.size() && keeps_zero; ++k)
    if (auto inner = peeled(e->args[k], reducer)) return Peeled{inner->guard, with_arg(e, k, inner->term)};
  return std::nullopt;
}

/// Conditions that move with the reduction.
std::ptrdiff_t own_conditions(const Reduction& reduction) {
  const auto parts = conjuncts(reduction.where);
  return std::count_if(parts.begin(), parts.end(), [&](const Guard& g) {
    return !g.is_true() && std::any_of(reduction.ranges.begin(), reduction.ranges.end(), [&](const IndexRange& range) { return mentions(g, range.var); });
  });
}

/// The first point, where the ranges alone say what it is.
std::optional<std::vector<Affine>> first_of(const Reduction& reduction) {
  if (!reduction.where.is_true()) return std::nullopt;
  std::vector<Affine> out;
  std::map<VarId, Affine> known;
  for (const IndexRange& range : reduction.ranges) {
    out.push_back(substitute(range.lo, known));
    known[range.var] = out.back();
  }
  return out;
}

class Collapser {
 public:
  Collapser(const Program& program, NumericsClass cls, const Expr& reduce, const AffineFacts& around) : program_(program), cls_(cls), source_(reduce), around_(around) {}

  Expr run() {
    const Reduction& reduction = source_->reduction;
    if (is_argument(reduction)) return first_index();
    if (Expr out = without_factors()) return out;
    const bool counts = reduction.reducer == Reducer::sum && (is_integer(source_->type) || cls_ == NumericsClass::reassoc);
    if (!counts && !is_idempotent(reduction.reducer)) return nullptr;
    Reduction rest = reduction;
    Expr term = source_->args[0];
    bool changed = false;
    for (size_t k = rest.ranges.size(); k-- > 0;) {
      if (mentions(term, rest.ranges[k].var)) continue;
      auto projected = without_index(rest, k, counts ? Projected::counted : Projected::exists, around_);
      if (!projected) continue;
      if (counts) term = times(projected->count, term);
      rest = narrowed(projected->rest, around_);
      changed = true;
      k = rest.ranges.size();
    }
    return changed ? with_rest(std::move(rest), std::move(term)) : nullptr;
  }

 private:
  /// Integers: b * (a + c) = b * a + b * c modulo 2^n. Where there may be no term, the factor may not be there either.
  Expr without_factors() const {
    if (source_->reduction.reducer != Reducer::sum || !is_integer(source_->type) || source_->args[0]->op != Op::mul) return nullptr;
    std::vector<Expr> factors, fixed;
    collect_factors(source_->args[0], factors);
    const auto& ranges = source_->reduction.ranges;
    const auto moves = [&](const Expr& e) { return std::any_of(ranges.begin(), ranges.end(), [&](const IndexRange& range) { return mentions(e, range.var); }); };
    const auto first_fixed = std::stable_partition(factors.begin(), factors.end(), moves);
    if (first_fixed == factors.begin() || first_fixed == factors.end() || !is_never_empty()) return nullptr;
    fixed.assign(first_fixed, factors.end());
    factors.erase(first_fixed, factors.end());
    fixed.insert(fixed.begin(), with_rest(source_->reduction, product(factors)));
    return product(fixed);
  }

  static void collect_factors(const Expr& e, std::vector<Expr>& out) {
    if (e->op != Op::mul) return out.push_back(e);
    for (const Expr& arg : e->args) collect_factors(arg, out);
  }

  static Expr product(const std::vector<Expr>& factors) {
    Expr out = factors.front();
    for (size_t k = 1; k < factors.size(); ++k) out = make_op(Op::mul, out->type, {out, factors[k]}, out->where);
    return out;
  }

  bool is_never_empty() const {
    Reduction rest = source_->reduction;
    while (!rest.ranges.empty()) {
      const auto projected = without_index(rest, rest.ranges.size() - 1, Projected::exists, around_);
      if (!projected) return false;
      rest = projected->rest;
    }
    return around_.always(rest.where);
  }

  Expr with_rest(Reduction rest, Expr term) const {
    if (rest.ranges.empty()) return guarded_by(rest.where, term, identity_literal(program_, *source_));
    auto copy = std::make_shared<ExprNode>(*source_);
    copy->reduction = std::move(rest);
    copy->args = {std::move(term)};
    return copy;
  }

  /// Half types count in f32: they hold few integers.
  Expr times(const Affine& count, const Expr& term) const {
    if (count.is_constant() && count.constant == 1) return term;
    const ElementType type = term->type;
    const bool is_narrow = type == ElementType::f16 || type == ElementType::bf16;
    const ElementType wide = is_narrow ? ElementType::f32 : type;
    const Expr number = converted(wide, data_of(count, term->where));
    return converted(type, make_op(Op::mul, wide, {number, converted(wide, term)}, term->where));
  }

  /// The least index of equal values; of several, those that the value does not use.
  Expr first_index() const {
    const Reduction& reduction = source_->reduction;
    const auto first = first_of(reduction);
    const bool uses_any = std::any_of(reduction.ranges.begin(), reduction.ranges.end(), [&](const IndexRange& range) { return mentions(source_->args[0], range.var); });
    if (!first || uses_any) return nullptr;
    std::vector<Expr> index;
    for (const Affine& e : *first) index.push_back(data_of(e, source_->where));
    return index.size() == 1 ? index[0] : make_op(Op::tuple, ElementType::i64, index, source_->where);
  }

  const Program& program_;
  NumericsClass cls_;
  const Expr& source_;
  const AffineFacts& around_;
};

}  // namespace

std::optional<Op> combining_op(Reducer reducer) {
  switch (reducer) {
    case Reducer::sum:
      return Op::add;
    case Reducer::prod:
      return Op::mul;
    case Reducer::max:
      return Op::max;
    case Reducer::min:
      return Op::min;
    case Reducer::any:
      return Op::logical_or;
    case Reducer::all:
      return Op::logical_and;
    default:
      return std::nullopt;
  }
}

bool may_be_parted(const ExprNode& reduce, NumericsClass cls) {
  const Reducer reducer = reduce.reduction.reducer;
  if (!combining_op(reducer)) return false;
  return is_idempotent(reducer) || !is_float(reduce.type) || cls == NumericsClass::reassoc;
}

bool is_neutral(const Expr& e, Reducer reducer) {
  if (e->op != Op::literal || !combining_op(reducer)) return false;
  if (reducer == Reducer::sum && is_float(e->type)) return e->literal.f == 0;
  return e->literal == identity(reducer, e->type);
}

Expr identity_literal(const Program& program, const ExprNode& reduce) {
  if (reduce.reduction.reducer != Reducer::combiner) return make_literal(identity(reduce.reduction.reducer, reduce.type), reduce.where);
  std::vector<Expr> components;
  for (const Literal& value : program.combiners[reduce.reduction.combiner].identity) components.push_back(make_literal(value, reduce.where));
  return components.size() == 1 ? components[0] : make_op(Op::tuple, components[0]->type, components, reduce.where);
}

Expr guarded_by(const Guard& g, Expr then, Expr otherwise) {
  if (g.is_true()) return then;
  if (g.kind == Guard::Kind::any && g.of.empty()) return otherwise;
  auto out = std::make_shared<ExprNode>();
  out->op = Op::guarded;
  out->type = then->type;
  out->guard = g;
  out->where = then->where;
  out->args = {std::move(then), std::move(otherwise)};
  return out;
}

Expr without_neutral_terms(const Expr& reduce, const AffineFacts& around) {
  if (!combining_op(reduce->reduction.reducer)) return nullptr;
  const auto inner = peeled(reduce->args[0], reduce->reduction.reducer);
  if (!inner) return nullptr;
  auto copy = std::make_shared<ExprNode>(*reduce);
  copy->reduction.where = guard_all({reduce->reduction.where, inner->guard});
  copy->reduction = narrowed(copy->reduction, around);
  if (own_conditions(copy->reduction) > own_conditions(reduce->reduction)) return nullptr;
  copy->args = {inner->term};
  return copy;
}

Expr without_single_indices(const Expr& reduce, const Reduction& domain, const AffineFacts& around) {
  Reduction rest = domain;
  Expr term = reduce->args[0];
  for (size_t k = rest.ranges.size(); k-- > 0;) {
    const IndexRange single = rest.ranges[k];
    if (!(single.hi - single.lo == Affine::of(1))) continue;
    const std::map<VarId, Affine> value = {{single.var, single.lo}};
    rest.ranges.erase(rest.ranges.begin() + static_cast<std::ptrdiff_t>(k));
    for (IndexRange& range : rest.ranges) range = {range.var, substitute(range.lo, value), substitute(range.hi, value)};
    rest.where = substitute(rest.where, value);
    term = substitute(term, value);
  }
  if (rest.ranges.empty()) return guarded_by(rest.where, term, make_literal(identity(domain.reducer, reduce->type), reduce->where));
  auto copy = std::make_shared<ExprNode>(*reduce);
  copy->reduction = narrowed(rest, around);
  copy->args = {std::move(term)};
  return copy;
}

Expr without_unused_indices(const Program& program, NumericsClass cls, const Expr& reduce, const AffineFacts& around) {
  return Collapser(program, cls, reduce, around).run();
}

}  // namespace polyweft::ir
