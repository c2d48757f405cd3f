#include "ir/oracles/bound_program.h"

#include <algorithm>
#include <cmath>

#include "ir/oracles/error_bound.h"
#include "ir/oracles/error_expression.h"
#include "ir/values/interval.h"
#include "ir/values/scalar.h"
#include "ir/values/slots.h"

namespace polyweft::ir {
namespace {

/// Second-order terms that the rules drop, and the rounding of the bound itself.
constexpr double kDropped = 1.1;
/// Of two results each may lie on either side of the exact one.
constexpr double kBothSides = 2;
/// For a combiner: its fold stands for all orders and their differences.
constexpr double kOrdersOfCombiner = 4;

class BoundBuilder {
 public:
  BoundBuilder(const Program& program, NumericsClass cls)
      : out_(normalize(program)), cls_(cls), errors_(out_.tensors.size(), kNoError) {
    out_.name += "_bound";
  }

  Program run() {
    size_t count = out_.equations.size();
    std::vector<TensorId> outputs = out_.outputs();
    find_inexact_tensors();
    for (size_t q = 0; q < count; ++q) add_error_equations(static_cast<EquationId>(q));
    for (TensorId id : outputs) add_output(id, count);
    return normalize(out_);
  }

 private:
  static constexpr TensorId kNoError = UINT32_MAX;

  /// The most terms that a reduction of this equation adds.
  static double terms_of(const Equation& equation, const Reduction& reduction) {
    return most_points(reduction.ranges, slot_intervals(equation));
  }

  ErrorExpression rules_for(const Equation& equation) const {
    auto leaf = [this, &equation](const Expr& e) -> Expr {
      if (e->op != Op::read) return nullptr;
      return error_of_read(equation, e);
    };
    return ErrorExpression(
        leaf, [&equation](const Reduction& reduction) { return terms_of(equation, reduction); }, cls_);
  }

  /// That of the element that is read, where it is sure which one that is.
  Expr error_of_read(const Equation& equation, const Expr& read) const {
    Expr of_index, of_element;
    for (const Subscript& s : read->access.index)
      if (s.data) of_index = plus(of_index, rules_for(equation).error_of_index(s.data));
    if (TensorId error = errors_[read->access.id]; error != kNoError) {
      Access access = read->access;
      access.id = error;
      of_element = make_read(ElementType::f64, std::move(access), read->where);
    }
    if (!of_index) return of_element;
    Expr is_sure = make_op(Op::le, ElementType::boolean, {of_index, f64_literal(0)});  // not where it is NaN
    return make_op(Op::select, ElementType::f64, {is_sure, or_zero(of_element), f64_literal(INFINITY)});
  }

  TensorId declare(const std::string& name, uint32_t rank, TensorKind kind) {
    Tensor tensor;
    tensor.name = name;
    tensor.kind = kind;
    tensor.type = ElementType::f64;
    tensor.rank = rank;
    out_.tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(out_.tensors.size() - 1);
  }

  /// A tensor has an error tensor when an equation of it computes with floats or reads one that has.
  void find_inexact_tensors() {
    bool changed = true;
    while (changed) {
      changed = false;
      for (const Equation& equation : out_.equations) {
        if (errors_[equation.targets.front()] != kNoError || !is_inexact(equation)) continue;
        changed = true;
        for (TensorId id : equation.targets) {
          std::string name = out_.tensors[id].name + "_error";
          errors_[id] = declare(name, out_.tensors[id].rank, TensorKind::local);
        }
        errors_.resize(out_.tensors.size(), kNoError);
      }
    }
  }

  bool is_inexact(const Equation& equation) const {
    const Expr& rhs = equation.rhs;
    const bool combines = rhs->op == Op::reduce && rhs->reduction.reducer == Reducer::combiner;
    if (combines && (cls_ != NumericsClass::strict || rounds(out_.combiners[rhs->reduction.combiner]))) return true;
    ErrorExpression rules = rules_for(equation);
    const bool has_parts = rhs->op == Op::tuple || combines || is_argument(*rhs);
    for (const Expr& e : has_parts ? terms_of_parts(*rhs) : std::vector<Expr>{rhs})
      if (rules.error_of(e)) return true;
    return false;
  }

  /// Of exact terms.
  bool rounds(const Combiner& combiner) const {
    ErrorExpression rules([](const Expr&) { return Expr(); }, [](const Reduction&) { return 1.0; }, cls_);
    return std::any_of(combiner.result.begin(), combiner.result.end(),
                       [&](const Expr& e) { return rules.error_of(e); });
  }

  /// The components of a tuple or of a reduction's body.
  static const std::vector<Expr>& terms_of_parts(const ExprNode& e) {
    return e.args.size() == 1 && e.args[0]->op == Op::tuple ? e.args[0]->args : e.args;
  }

  static bool is_argument(const ExprNode& e) {
    return e.op == Op::reduce && (e.reduction.reducer == Reducer::argmax || e.reduction.reducer == Reducer::argmin);
  }

  Equation like(const Equation& equation, std::vector<TensorId> targets, Expr rhs) const {
    Equation out = equation;
    out.targets = std::move(targets);
    out.rhs = std::move(rhs);
    return out;
  }

  static Expr or_zero(Expr e) { return e ? e : f64_literal(0); }

  void add_error_equations(EquationId q) {
    const Equation equation = out_.equations[q];
    if (errors_[equation.targets.front()] == kNoError) return;
    ErrorExpression rules = rules_for(equation);
    const Expr& rhs = equation.rhs;
    if (is_argument(*rhs)) return add_argument_errors(equation, rules);
    if (rhs->op == Op::reduce && rhs->reduction.reducer == Reducer::combiner)
      return add_combiner_errors(equation, rules);
    std::vector<Expr> parts = rhs->op == Op::tuple ? rhs->args : std::vector<Expr>{rhs};
    for (size_t k = 0; k < parts.size(); ++k)
      out_.equations.push_back(
          like(equation, {errors_[equation.targets[k]]}, or_zero(error_of(rules, equation, parts[k]))));
  }

  /// A whole reduction's value is its own tensor: reading it costs nothing, repeating the reduction would.
  Expr error_of(const ErrorExpression& rules, const Equation& equation, const Expr& part) const {
    Expr error = rules.error_of(part);
    if (!error || part->op != Op::reduce) return error;
    Expr own = own_element(equation, equation.targets[0]);
    return rewrite(error, [&](const Expr& e) -> Expr { return e->op == Op::reduce && equal(e, part) ? own : nullptr; });
  }

  Expr own_element(const Equation& equation, TensorId id) const {
    Access access;
    access.id = id;
    for (const Slot& slot : equation.slots) access.index.push_back({position_of(slot), nullptr, {}, {}});
    return make_read(out_.tensors[id].type, std::move(access));
  }

  /// The best value is as uncertain as any candidate; an index by its distance to those candidates that may be the
  /// best.
  void add_argument_errors(const Equation& equation, const ErrorExpression& rules) {
    const Expr& rhs = equation.rhs;
    Expr error = or_zero(rules.error_of(rhs->args[0]));
    auto greatest = [&](Expr inner) {
      auto node = std::make_shared<ExprNode>(*rhs);
      node->type = ElementType::f64;
      node->reduction.reducer = Reducer::max;
      node->args = {std::move(inner)};
      return Expr(node);
    };
    out_.equations.push_back(like(equation, {errors_[equation.targets[0]]}, greatest(error)));
    Expr best = own_element(equation, equation.targets[0]),
         best_error = own_element(equation, errors_[equation.targets[0]]);
    Expr may_win = may_meet(rhs->args[0], best, plus(error, best_error));
    for (size_t k = 1; k < equation.targets.size(); ++k) {
      Expr index = make_variable(rhs->reduction.ranges[k - 1].var), chosen = own_element(equation, equation.targets[k]);
      Expr distance = magnitude_of(make_op(Op::sub, ElementType::f64, {as_f64(index), as_f64(chosen)}));
      Expr uncertain = make_op(Op::select, ElementType::f64, {may_win, distance, f64_literal(0)});
      out_.equations.push_back(like(equation, {errors_[equation.targets[k]]}, greatest(uncertain)));
    }
  }

  /// A combiner over (values, errors): its value part is the original one.
  uint32_t combiner_with_errors(uint32_t original) {
    Combiner c = out_.combiners[original];
    size_t n = c.types.size();
    auto widened = [n](const Expr& e) -> Expr {
      if (e->op != Op::variable) return nullptr;
      auto copy = std::make_shared<ExprNode>(*e);
      if (e->var >= n) copy->var = static_cast<VarId>(e->var + n);
      return copy;
    };
    auto leaf = [n](const Expr& e) -> Expr {
      if (e->op != Op::variable) return nullptr;
      auto copy = std::make_shared<ExprNode>(*e);
      copy->type = ElementType::f64;
      copy->var = static_cast<VarId>(e->var + n);
      return copy;
    };
    ErrorExpression rules(
        leaf, [](const Reduction&) { return 1.0; }, cls_);
    std::vector<Expr> errors;
    for (Expr& result : c.result) {
      result = rewrite(result, widened);
      errors.push_back(or_zero(rules.error_of(result)));
    }
    c.result.insert(c.result.end(), errors.begin(), errors.end());
    for (size_t k = 0; k < n; ++k) {
      c.left.push_back(c.left[k] + "_error");
      c.right.push_back(c.right[k] + "_error");
      c.types.push_back(ElementType::f64);
      c.identity.push_back({ElementType::f64, 0, 0});
    }
    c.name += "_error";
    c.associative = c.commutative = false;
    out_.combiners.push_back(std::move(c));
    return static_cast<uint32_t>(out_.combiners.size() - 1);
  }

  void add_combiner_errors(const Equation& equation, const ErrorExpression& rules) {
    const Expr& rhs = equation.rhs;
    auto node = std::make_shared<ExprNode>(*rhs);
    node->reduction.combiner = combiner_with_errors(rhs->reduction.combiner);
    std::vector<Expr> values = terms_of_parts(*rhs);
    std::vector<Expr> terms = values;
    for (const Expr& value : values) terms.push_back(or_zero(rules.error_of(value)));
    node->args = terms;
    std::vector<TensorId> targets, folded;
    for (TensorId id : equation.targets)
      targets.push_back(declare(out_.tensors[id].name + "_again", out_.tensors[id].rank, TensorKind::local));
    for (size_t k = 0; k < equation.targets.size(); ++k)
      out_.tensors[targets[k]].type = out_.tensors[equation.targets[k]].type;
    for (TensorId id : equation.targets)
      folded.push_back(declare(out_.tensors[id].name + "_fold", out_.tensors[id].rank, TensorKind::local));
    targets.insert(targets.end(), folded.begin(), folded.end());
    out_.equations.push_back(like(equation, targets, node));
    for (size_t k = 0; k < equation.targets.size(); ++k) {
      Expr error = times(f64_literal(kOrdersOfCombiner), own_element(equation, folded[k]));
      add_plain(equation, errors_[equation.targets[k]], error);
    }
  }

  /// An equation over the slots of another, without its reduction.
  void add_plain(const Equation& slots, TensorId target, Expr rhs) {
    Equation out = like(slots, {target}, std::move(rhs));
    out.index_names.resize(bound_indices(slots));
    out_.equations.push_back(std::move(out));
  }

  /// O_bound over all equations of O. Near overflow infinite; 0 where the value itself is not finite.
  void add_output(TensorId id, size_t equations) {
    out_.tensors[id].kind = TensorKind::local;
    TensorId bound = declare(out_.tensors[id].name + "_bound", out_.tensors[id].rank, TensorKind::output);
    out_.tensors[bound].partial = out_.tensors[id].partial;
    out_.tensors[id].partial = false;
    for (size_t q = 0; q < equations; ++q) {
      const Equation equation = out_.equations[q];
      if (std::find(equation.targets.begin(), equation.targets.end(), id) == equation.targets.end()) continue;
      add_plain(equation, bound, bound_of(equation, id));
    }
  }

  Expr bound_of(const Equation& equation, TensorId id) const {
    if (errors_[id] == kNoError) return f64_literal(0);
    Expr error = own_element(equation, errors_[id]), value = own_element(equation, id);
    double largest = is_float(value->type) ? greatest_finite(value->type) : 0x1p62;
    Expr inside = make_op(Op::le, ElementType::boolean, {plus(magnitude_of(value), error), f64_literal(largest)});
    Expr bound = make_op(Op::select, ElementType::f64,
                         {inside, times(f64_literal(kDropped * kBothSides), error), f64_literal(INFINITY)});
    return is_float(value->type) ? where_finite(value, bound) : bound;
  }

  Program out_;
  NumericsClass cls_;
  std::vector<TensorId> errors_;  ///< of each tensor, its error tensor
};

}  // namespace

Program bound_program(const Program& bound, NumericsClass cls) {
  return BoundBuilder(bound, cls).run();
}

}  // namespace polyweft::ir
