#include "ir/normalize/collapse_reductions.h"

#include <algorithm>

#include "ir/normalize/periodic.h"
#include "ir/values/scalar.h"
#include "support/integer_division.h"

namespace polyweft::ir {
namespace {

bool is_idempotent(Reducer reducer) {
  return reducer == Reducer::max || reducer == Reducer::min || reducer == Reducer::any || reducer == Reducer::all;
}

Expr converted_to(ElementType type, Expr e) {
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
    return !g.is_true() && std::any_of(reduction.ranges.begin(), reduction.ranges.end(),
                                       [&](const IndexRange& range) { return mentions(g, range.var); });
  });
}

/// index % den == rest, and nothing else.
struct Stride {
  int64_t den = 1, rest = 0;
};
std::optional<Stride> stride_of(const Guard& g, VarId index) {
  if (g.kind != Guard::Kind::eq0 || g.e.terms.size() != 2) return std::nullopt;
  const int64_t sign = g.e.coefficient(index);
  const Term& division = g.e.terms.back();
  if (std::abs(sign) != 1 || !division.quasi || division.quasi->kind != Quasi::Kind::floor_div) return std::nullopt;
  const int64_t den = division.quasi->den, shift = division.quasi->e.constant;
  if (division.coeff != -sign * den || !(division.quasi->e == Affine::variable(index) + Affine::of(shift)))
    return std::nullopt;
  const int64_t rest = shift - sign * g.e.constant;  // of index + shift
  if (rest < 0 || rest >= den) return std::nullopt;
  return Stride{den, floor_remainder(rest - shift, den)};
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
  Collapser(const Program& program, NumericsClass cls, const Expr& reduce, const AffineFacts& around)
      : program_(program), cls_(cls), source_(reduce), around_(around) {}

  Expr run() {
    const Reduction& reduction = source_->reduction;
    if (is_argument(reduction.reducer)) return first_index();
    if (Expr out = without_factors()) return out;
    const bool is_free = is_integer(source_->type) || cls_ == NumericsClass::reassoc;
    if (is_free && is_power()) return power();
    const bool counts = is_free && reduction.reducer == Reducer::sum;
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
    for (size_t k = 0; k < rest.ranges.size(); ++k) changed |= shorten(rest, k, term, counts);
    return changed ? with_rest(std::move(rest), std::move(term)) : nullptr;
  }

 private:
  /// A product of equal floats. Beside others it stays: the power alone may leave the range of the type where no
  /// product on the way does.
  bool is_power() const {
    const auto& ranges = source_->reduction.ranges;
    return source_->reduction.reducer == Reducer::prod && is_float(source_->type) &&
           std::none_of(ranges.begin(), ranges.end(),
                        [&](const IndexRange& range) { return mentions(source_->args[0], range.var); });
  }

  /// Few factors stay: a power costs as much as many of them. Its exponents are whole numbers, which the type has to
  /// hold.
  Expr power() const {
    Reduction rest = source_->reduction;
    Expr term = source_->args[0];
    Affine number = Affine::of(1);
    bool is_small = true;
    while (!rest.ranges.empty()) {
      const auto projected = without_index(rest, rest.ranges.size() - 1, Projected::counted, around_);
      if (!projected) return nullptr;
      rest = narrowed(projected->rest, around_);
      const Affine& count = projected->count;
      if (std::any_of(rest.ranges.begin(), rest.ranges.end(),
                      [&](const IndexRange& range) { return mentions(count, range.var); }))
        return nullptr;
      if (count.is_constant() && count.constant < kMostPower) {
        number = count.constant * number;
      } else {
        if (!around_.is_nonnegative(Affine::of(kMostPower) - count)) return nullptr;
        term = raised(term, count);
        is_small = false;
      }
      if (number.constant > kMostPower) return nullptr;
    }
    if (is_small && number.constant < kLeastPower) return nullptr;
    return with_rest(rest, number.constant == 1 ? term : raised(term, number));
  }

  /// Terms that come again and again stand once.
  bool shorten(Reduction& rest, size_t k, Expr& term, bool counts) const {
    IndexRange& range = rest.ranges[k];
    const auto period = period_of(term, range.var);
    if (!period || mentions(rest.where, range.var)) return false;
    for (const IndexRange& other : rest.ranges)
      if (mentions(other.lo, range.var) || mentions(other.hi, range.var)) return false;
    AffineFacts facts = around_;
    for (size_t n = 0; n < k; ++n) facts = facts.with(rest.ranges[n]);
    const Affine end = range.lo + Affine::of(*period),
                 count = floor_div(range.hi - Affine::of(1) - Affine::variable(range.var), *period) + Affine::of(1);
    if (end == range.hi || !facts.is_nonnegative(range.hi - end)) return false;
    if (counts) term = times(count, term);
    range.hi = end;
    return true;
  }

  /// Integers: b * (a + c) = b * a + b * c modulo 2^n. Where there may be no term, the factor may not be there either;
  /// whether there is none may be decided outside.
  Expr without_factors() const {
    if (source_->reduction.reducer != Reducer::sum || !is_integer(source_->type) || source_->args[0]->op != Op::mul)
      return nullptr;
    std::vector<Expr> factors, fixed;
    collect_factors(source_->args[0], factors);
    const auto& ranges = source_->reduction.ranges;
    const auto moves = [&](const auto& e) {
      return std::any_of(ranges.begin(), ranges.end(), [&](const IndexRange& range) { return mentions(e, range.var); });
    };
    const auto first_fixed = std::stable_partition(factors.begin(), factors.end(), moves);
    if (first_fixed == factors.begin() || first_fixed == factors.end()) return nullptr;
    std::vector<Guard> own = conjuncts(source_->reduction.where);
    const auto first_outer = std::stable_partition(own.begin(), own.end(), moves);
    const Guard outer = guard_all({first_outer, own.end()});
    own.erase(first_outer, own.end());
    Reduction rest = source_->reduction;
    rest.where = guard_all(std::move(own));
    const AffineFacts facts = around_.with(outer);
    if (!is_never_empty(rest, facts)) return nullptr;
    fixed.assign(first_fixed, factors.end());
    factors.erase(first_fixed, factors.end());
    fixed.insert(fixed.begin(), with_rest(rest, product(factors)));
    return guarded_by(outer, product(fixed), identity_literal(program_, *source_));
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

  static bool is_never_empty(Reduction rest, const AffineFacts& facts) {
    while (!rest.ranges.empty()) {
      const auto projected = without_index(rest, rest.ranges.size() - 1, Projected::exists, facts);
      if (!projected) return false;
      rest = projected->rest;
    }
    return facts.always(rest.where);
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
    const Expr number = converted_to(wide, data_of(count, term->where));
    return converted_to(type, make_op(Op::mul, wide, {number, converted_to(wide, term)}, term->where));
  }

  static Expr raised(const Expr& term, const Affine& count) {
    const ElementType type = term->type;
    const bool is_narrow = type == ElementType::f16 || type == ElementType::bf16;
    const ElementType wide = is_narrow ? ElementType::f32 : type;
    return converted_to(
        type, make_op(Op::pow, wide, {converted_to(wide, term), converted_to(wide, data_of(count, term->where))},
                      term->where));
  }

  /// The least index of equal values; of several, those that the value does not use.
  Expr first_index() const {
    const Reduction& reduction = source_->reduction;
    const auto first = first_of(reduction);
    const bool uses_any = std::any_of(reduction.ranges.begin(), reduction.ranges.end(),
                                      [&](const IndexRange& range) { return mentions(source_->args[0], range.var); });
    if (!first || uses_any) return nullptr;
    std::vector<Expr> index;
    for (const Affine& e : *first) index.push_back(data_of(e, source_->where));
    return index.size() == 1 ? index[0] : make_op(Op::tuple, ElementType::i64, index, source_->where);
  }

  static constexpr int64_t kLeastPower = 16, kMostPower = int64_t{1} << 24;

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
  if (reduce.reduction.reducer != Reducer::combiner)
    return make_literal(identity(reduce.reduction.reducer, reduce.type), reduce.where);
  std::vector<Expr> components;
  for (const Literal& value : program.combiners[reduce.reduction.combiner].identity)
    components.push_back(make_literal(value, reduce.where));
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
  if (rest.ranges.empty())
    return guarded_by(rest.where, term, make_literal(identity(domain.reducer, reduce->type), reduce->where));
  auto copy = std::make_shared<ExprNode>(*reduce);
  copy->reduction = narrowed(rest, around);
  copy->args = {std::move(term)};
  return copy;
}

Expr without_strides(const Expr& reduce) {
  const Reduction& reduction = reduce->reduction;
  const std::vector<Guard> conditions = conjuncts(reduction.where);
  for (size_t k = 0; k < reduction.ranges.size(); ++k)
    for (const Guard& g : conditions) {
      const IndexRange& range = reduction.ranges[k];
      const auto stride = stride_of(g, range.var);
      if (!stride || !range.lo.is_constant() || !range.hi.is_constant()) continue;
      const std::map<VarId, Affine> value = {
          {range.var, Affine::variable(range.var, stride->den) + Affine::of(stride->rest)}};
      auto copy = std::make_shared<ExprNode>(*reduce);
      std::vector<Guard> others;
      for (const Guard& other : conditions)
        if (!(other == g)) others.push_back(substitute(other, value));
      copy->reduction.where = guard_all(std::move(others));
      for (IndexRange& other : copy->reduction.ranges)
        other = {other.var, substitute(other.lo, value), substitute(other.hi, value)};
      const auto first_from = [&](const Affine& bound) {
        return Affine::of(ceil_quotient(bound.constant - stride->rest, stride->den));
      };
      copy->reduction.ranges[k] = {range.var, first_from(range.lo), first_from(range.hi)};
      for (Expr& arg : copy->args) arg = substitute(arg, value);
      return copy;
    }
  return nullptr;
}

Expr without_unused_indices(const Program& program, NumericsClass cls, const Expr& reduce, const AffineFacts& around) {
  return Collapser(program, cls, reduce, around).run();
}

}  // namespace polyweft::ir
