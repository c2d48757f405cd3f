#include "ir/normalize/accumulators.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/normalize/collapse_reductions.h"
#include "ir/normalize/hidden_tensors.h"
#include "ir/values/scalar.h"
#include "ir/values/scope.h"

namespace polyweft::ir {
namespace {

std::optional<Reducer> reducer_of(Op op) {
  for (const Reducer each : {Reducer::sum, Reducer::prod, Reducer::max, Reducer::min, Reducer::any, Reducer::all})
    if (combining_op(each) == op) return each;
  return std::nullopt;
}

/// r[.., k: lo..hi, ..] = r[.., k - 1, ..] + term, or k + 1.
struct OneTermSteps {
  EquationId equation = 0;
  uint32_t dim = 0;
  bool go_up = true;
  Op op = Op::add;
  Expr term;
  Expr first;                 ///< what the same equation says of the first value
  bool first_is_term = true;  ///< with `first`: the first value takes its term in, too
};

/// The steps of one tensor.
class AccumulatingSteps {
 public:
  AccumulatingSteps(const Program& program, NumericsClass cls, TensorId tensor)
      : program_(program), cls_(cls), tensor_(tensor) {}

  std::optional<Program> run() {
    const Tensor& tensor = program_.tensors[tensor_];
    if (tensor.kind != TensorKind::local || tensor.type == ElementType::f16 || tensor.type == ElementType::bf16)
      return std::nullopt;
    const auto makers = makers_of(program_, tensor_);
    if (makers.empty() || makers.size() > 2) return std::nullopt;
    for (const EquationId q : makers) {
      const Equation& equation = program_.equations[q];
      if (equation.targets.size() != 1 || !equation.where.is_true()) return std::nullopt;
      if (!reads(equation.rhs, tensor_)) continue;
      for (uint32_t dim = 0; dim < tensor.rank; ++dim)
        for (const bool go_up : {true, false})
          if (auto out = along(q, makers.size() == 2 ? makers[makers[0] == q] : q, dim, go_up)) return out;
    }
    return std::nullopt;
  }

 private:
  /// A product may leave the range of its type and come back (1e-30 * 1e30 * 1e30), or begin at 0 and stay there; one
  /// that is written step by step says in which order. Of sums the language says what overflow they allow.
  static bool keeps_its_order(const ExprNode& reduce) {
    return reduce.reduction.reducer == Reducer::prod && is_float(reduce.type);
  }

  /// `other`: the equation of the first value, or the same.
  std::optional<Program> along(EquationId q, EquationId other, uint32_t dim, bool go_up) {
    const Equation& equation = program_.equations[q];
    const Slot& slot = equation.slots[dim];
    for (const Slot& each : equation.slots)
      if (each.var == kNoVar || mentions(each.lo, slot.var) || mentions(each.hi, slot.var)) return std::nullopt;
    steps_ = {q, dim, go_up, Op::add, nullptr, nullptr, true};
    is_found_ = is_op_known_ = false;
    if (!find_steps(equation.rhs) || !is_found_) return std::nullopt;
    if ((q == other) != (steps_.first != nullptr)) return std::nullopt;
    if (q == other && !is_never_empty(scope_of(equation), least_parameters(program_), {slot.var, slot.lo, slot.hi}))
      return std::nullopt;  // rows without elements would get a first value
    if (!reducer_of(steps_.op)) return std::nullopt;
    const ExprNode like = reduction(steps_.term, slot.lo, slot.hi);
    if (!may_be_parted(like, cls_) || keeps_its_order(like)) return std::nullopt;
    if (q != other && !is_first_value(program_.equations[other])) return std::nullopt;
    if (!last_alone_is_read()) return std::nullopt;
    return rewritten(other);
  }

  const Equation& equation() const { return program_.equations[steps_.equation]; }
  const Slot& slot() const { return equation().slots[steps_.dim]; }
  Affine before(const Affine& at) const { return at - Affine::of(steps_.go_up ? 1 : -1); }
  Affine begin() const { return steps_.go_up ? slot().lo : slot().hi - Affine::of(1); }
  Affine end() const { return steps_.go_up ? slot().hi - Affine::of(1) : slot().lo; }

  bool is_value_before(const Expr& e) const {
    if (e->op != Op::read || e->access.id != tensor_) return false;
    for (uint32_t d = 0; d < equation().slots.size(); ++d) {
      const Affine at = Affine::variable(equation().slots[d].var);
      const Subscript& s = e->access.index[d];
      if (s.data || !(s.affine == (d == steps_.dim ? before(at) : at))) return false;
    }
    return true;
  }

  /// Takes the right-hand side apart; false where it is of another form.
  bool find_steps(const Expr& rhs) {
    if (rhs->op != Op::guarded) return take(rhs, steps_.term) && steps_.term;
    const auto later = side_of_later_values(rhs);
    // The value before alone under a condition adds nothing.
    if (!later || is_value_before(rhs->args[*later])) return false;
    steps_.first = rhs->args[1 - *later];
    steps_.first_is_term = false;
    return take(rhs->args[*later], steps_.term) && steps_.term;
  }

  /// Which side of the condition holds for all but the first value?
  std::optional<size_t> side_of_later_values(const Expr& e) const {
    const AffineFacts facts = AffineFacts(program_).in(scope_of(equation()));
    const Affine steps = steps_.go_up ? Affine::variable(slot().var) - begin() : begin() - Affine::variable(slot().var);
    const Guard later = guard_ge0(steps - Affine::of(1)), first = guard_eq0(steps);
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const Guard g = side == 0 ? e->guard : guard_not(e->guard);
      if (facts.with(later).always(g) && facts.with(first).never(g)) return side;
    }
    return std::nullopt;
  }

  /// `rest`: the expression without the value before; null where nothing else is there.
  bool take(const Expr& e, Expr& rest) {
    if (is_value_before(e)) return rest = nullptr, std::exchange(is_found_, true) == false;
    if (e->op == Op::guarded && !steps_.first) {
      const auto later = side_of_later_values(e);
      if (!later || !is_value_before(e->args[*later])) return false;
      steps_.first = e->args[1 - *later];
      return rest = nullptr, std::exchange(is_found_, true) == false;
    }
    const Op op = e->op == Op::sub ? Op::add : e->op;
    if (!reducer_of(op) || e->args.size() != 2) return false;
    const size_t side = has_value_before(e->args[0]) ? 0 : 1;
    if (side == 1 && (e->op == Op::sub || !has_value_before(e->args[1]))) return false;
    if (is_op_known_ && op != steps_.op) return false;
    is_op_known_ = true;
    steps_.op = op;
    Expr inner;
    if (!take(e->args[side], inner)) return false;
    const Expr& other = e->args[1 - side];
    if (inner)
      rest = side == 0 ? make_op(e->op, e->type, {inner, other}, e->where)
                       : make_op(e->op, e->type, {other, inner}, e->where);
    else
      rest = e->op == Op::sub ? make_op(Op::neg, e->type, {other}, e->where) : other;
    return true;
  }

  bool has_value_before(const Expr& e) const {
    if (is_value_before(e)) return true;
    if (e->op == Op::reduce) return false;
    return std::any_of(e->args.begin(), e->args.end(), [&](const Expr& arg) { return has_value_before(arg); });
  }

  /// r[.., lo - 1, ..] = b, for the same values of the other indices.
  bool is_first_value(const Equation& first) const {
    const std::map<VarId, Affine> others = slots_of(first);
    for (uint32_t d = 0; d < first.slots.size(); ++d) {
      const Slot &own = first.slots[d], &step = equation().slots[d];
      if (d == steps_.dim) {
        if (own.var != kNoVar || !(substitute(own.position, others) == before(begin()))) return false;
      } else if (own.var == kNoVar || !(substitute(own.lo, others) == step.lo) ||
                 !(substitute(own.hi, others) == step.hi)) {
        return false;
      }
    }
    return true;
  }

  /// The indices of the equation of the first value, as those of the steps.
  std::map<VarId, Affine> slots_of(const Equation& first) const {
    std::map<VarId, Affine> out;
    for (uint32_t d = 0; d < first.slots.size(); ++d)
      if (first.slots[d].var != kNoVar) out[first.slots[d].var] = Affine::variable(equation().slots[d].var);
    return out;
  }

  bool is_last(const ExprNode& read) const {
    std::map<VarId, Affine> at;
    for (uint32_t d = 0; d < equation().slots.size(); ++d) {
      const Subscript& s = read.access.index[d];
      const VarId var = equation().slots[d].var;
      if (s.data && (d == steps_.dim || mentions(end(), var))) return false;
      at[var] = s.affine;
    }
    return read.access.index[steps_.dim].affine == substitute(end(), at);
  }

  bool last_alone_is_read() const {
    bool out = true;
    const auto look = [&](const Expr& e) {
      visit(e, [&](const ExprNode& node) {
        out = out && (node.op != Op::read || node.access.id != tensor_ || is_last(node));
      });
    };
    for (EquationId q = 0; q < program_.equations.size(); ++q)
      if (q != steps_.equation) look(program_.equations[q].rhs);
    look(steps_.term);
    if (steps_.first) look(steps_.first);
    return out;
  }

  /// A range that begins at a number begins at 0: terms are then told apart from others less often (common_values.h).
  ExprNode reduction(Expr term, Affine lo, Affine hi) const {
    if (lo.is_constant() && lo.constant != 0) {
      term = substitute(term, {{slot().var, Affine::variable(slot().var) + lo}});
      hi = hi - lo;
      lo = Affine::of(0);
    }
    ExprNode out;
    out.op = Op::reduce;
    out.type = program_.tensors[tensor_].type;
    out.where = equation().rhs->where;
    out.reduction.reducer = *reducer_of(steps_.op);
    out.reduction.ranges = {{slot().var, std::move(lo), std::move(hi)}};
    out.args = {std::move(term)};
    return out;
  }

  /// Of all terms that are not the first value.
  Expr combined(const Expr& first) const {
    Affine lo = slot().lo, hi = slot().hi;
    if (steps_.first && !steps_.first_is_term) (steps_.go_up ? lo : hi) = steps_.go_up ? lo + Affine::of(1) : begin();
    const bool is_negated = steps_.op == Op::add && steps_.term->op == Op::neg;
    const Expr& term = is_negated ? steps_.term->args[0] : steps_.term;
    // The first value may be the term before all others.
    const Affine step_before = steps_.go_up ? lo - Affine::of(1) : hi;
    if (!is_negated && equal(first, substitute(term, {{slot().var, step_before}}))) {
      (steps_.go_up ? lo : hi) = steps_.go_up ? step_before : hi + Affine::of(1);
      return std::make_shared<ExprNode>(reduction(term, lo, hi));
    }
    const Expr all = std::make_shared<ExprNode>(reduction(term, lo, hi));
    const Expr neutral = identity_literal(program_, *all);
    const bool is_alone = is_neutral(first, all->reduction.reducer);
    if (is_negated)
      return is_alone ? make_op(Op::neg, all->type, {all}, all->where)
                      : make_op(Op::sub, all->type, {first, all}, all->where);
    return is_alone ? all : make_op(steps_.op, all->type, {first, all}, all->where);
  }

  Program rewritten(EquationId other) const {
    Program out = program_;
    Equation& made = out.equations[steps_.equation];
    Expr first = steps_.first ? substitute(steps_.first, {{slot().var, begin()}}) : nullptr;
    if (!first) {
      const Equation& equation = program_.equations[other];
      std::map<VarId, Affine> map = slots_of(equation);
      for (size_t k = map.size(); k < equation.index_names.size(); ++k) {
        map[program_.index_var(static_cast<uint32_t>(k))] =
            Affine::variable(program_.index_var(static_cast<uint32_t>(made.index_names.size())));
        made.index_names.push_back(equation.index_names[k]);
      }
      first = substitute(equation.rhs, map);
    }
    made.rhs = combined(first);
    made.slots.erase(made.slots.begin() + steps_.dim);
    renumber(program_, made);
    --out.tensors[tensor_].rank;
    for (Equation& each : out.equations)
      each.rhs = rewrite(each.rhs, [&](const Expr& e) -> Expr {
        if (e->op != Op::read || e->access.id != tensor_ || e->access.index.size() != equation().slots.size())
          return nullptr;
        Access access = e->access;
        access.index.erase(access.index.begin() + steps_.dim);
        return make_read(e->type, std::move(access), e->where);
      });
    if (other != steps_.equation) out.equations.erase(out.equations.begin() + other);
    return out;
  }

  const Program& program_;
  NumericsClass cls_;
  TensorId tensor_;
  OneTermSteps steps_;
  bool is_found_ = false, is_op_known_ = false;
};

}  // namespace

Program with_accumulators_as_reductions(Program program, NumericsClass cls) {
  for (TensorId id = 0; id < program.tensors.size(); ++id)
    for (auto next = AccumulatingSteps(program, cls, id).run(); next; next = AccumulatingSteps(program, cls, id).run())
      program = *std::move(next);
  return program;
}

}  // namespace polyweft::ir
