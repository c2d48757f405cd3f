#include "ir/normalize/combiner_stages.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "ir/normalize/collapse_reductions.h"
#include "ir/normalize/hidden_tensors.h"
#include "ir/normalize/invariant_dims.h"
#include "ir/values/scalar.h"
#include "ir/values/scope.h"

namespace polyweft::ir {
namespace {

/// How a component of the combined value comes from those of the two sides.
struct Component {
  Reducer reducer = Reducer::sum;
  std::optional<size_t> scale;   ///< of a scaled sum: the component that is the maximum
  bool drops_least = false;      ///< a term beside -inf counts as 0, whatever it is
  bool is_zero_of_none = false;  ///< the scale of -inf to -inf is 0, not a NaN
};

bool is_literal_of(const Expr& e, double value) {
  return e->op == Op::literal && is_float(e->type) && e->literal.f == value;
}

bool is_least(const Expr& e) {
  return is_literal_of(e, -std::numeric_limits<double>::infinity());
}

bool is_zero(const Expr& e) {
  return is_literal_of(e, 0);
}

class CombinerForm {
 public:
  explicit CombinerForm(const Combiner& combiner) : combiner_(combiner), n_(combiner.types.size()) {}

  /// Nothing where a component has another form.
  std::optional<std::vector<Component>> components() const {
    std::vector<Component> out(n_);
    for (size_t k = 0; k < n_; ++k) {
      if (const auto reducer = fold(k))
        out[k].reducer = *reducer;
      else if (const auto scaled = scaled_sum(k))
        out[k] = *scaled;
      else
        return std::nullopt;
    }
    return out;
  }

 private:
  bool is_part(const Expr& e, size_t component) const {
    return e->op == Op::variable && e->var == static_cast<VarId>(component);
  }

  /// f(a, b) or f(b, a).
  template <class A, class B>
  static bool both(const Expr& e, Op op, const A& a, const B& b) {
    return e->op == op && ((a(e->args[0]) && b(e->args[1])) || (a(e->args[1]) && b(e->args[0])));
  }

  std::optional<Reducer> fold(size_t k) const {
    const auto left = [&](const Expr& e) { return is_part(e, k); };
    const auto right = [&](const Expr& e) { return is_part(e, n_ + k); };
    for (const Reducer each : {Reducer::sum, Reducer::prod, Reducer::max, Reducer::min, Reducer::any, Reducer::all})
      if (both(combiner_.result[k], *combining_op(each), left, right) &&
          combiner_.identity[k] == identity(each, combiner_.types[k]))
        return each;
    return std::nullopt;
  }

  std::optional<Component> scaled_sum(size_t k) const {
    const Expr& sum = combiner_.result[k];
    const ElementType type = combiner_.types[k];
    if (sum->op != Op::add || (type != ElementType::f32 && type != ElementType::f64) || combiner_.identity[k].f != 0)
      return std::nullopt;
    for (size_t m = 0; m < n_; ++m) {
      if (combiner_.types[m] != type || fold(m) != Reducer::max) continue;
      for (const size_t left : {size_t{0}, size_t{1}}) {
        Component out, of_right;
        out.scale = of_right.scale = m;
        if (!is_scaled(sum->args[left], k, m, out) || !is_scaled(sum->args[1 - left], n_ + k, n_ + m, of_right))
          continue;
        if (out.drops_least != of_right.drops_least || out.is_zero_of_none != of_right.is_zero_of_none) continue;
        return out;
      }
    }
    return std::nullopt;
  }

  /// value * exp(own maximum - common maximum), perhaps 0 where the own maximum is -inf.
  bool is_scaled(const Expr& e, size_t value, size_t maximum, Component& out) const {
    const Expr product = without_least(e, maximum);
    out.drops_least = product != e;
    return both(
        product, Op::mul, [&](const Expr& part) { return is_part(part, value); },
        [&](const Expr& part) {
          const Expr scale = without_least(part, maximum);
          if (scale->op != Op::exp || scale->args[0]->op != Op::sub || !is_part(scale->args[0]->args[0], maximum))
            return false;
          const Expr &common = scale->args[0]->args[1], number = without_least_common(common, maximum % n_);
          out.is_zero_of_none = scale != part || number != common;
          return is_common(number, maximum % n_);
        });
  }

  bool is_common(const Expr& e, size_t maximum) const {
    return both(
        e, Op::max, [&](const Expr& part) { return is_part(part, maximum); },
        [&](const Expr& part) { return is_part(part, n_ + maximum); });
  }

  /// x of select(part == -inf, 0, x); else the expression.
  Expr without_least(const Expr& e, size_t part) const {
    const bool is_guarded = e->op == Op::select && is_zero(e->args[1]) &&
                            both(
                                e->args[0], Op::eq, [&](const Expr& side) { return is_part(side, part); }, is_least);
    return is_guarded ? e->args[2] : e;
  }
  /// The same of the common maximum, select(c == -inf, 0, c).
  Expr without_least_common(const Expr& e, size_t maximum) const {
    const auto is_it = [&](const Expr& side) { return is_common(side, maximum); };
    return e->op == Op::select && is_zero(e->args[1]) && both(e->args[0], Op::eq, is_it, is_least) ? e->args[2] : e;
  }

  const Combiner& combiner_;
  size_t n_;
};

/// One equation by a combiner, as an equation a component.
class StageWriter {
 public:
  StageWriter(const Program& program, const Equation& equation, std::vector<Component> components)
      : program_(program), equation_(equation), components_(std::move(components)) {}

  std::vector<Equation> run() const {
    std::vector<Equation> out;
    for (size_t k = 0; k < components_.size(); ++k) {
      Equation made = equation_;
      made.targets = {equation_.targets[k]};
      made.rhs = components_[k].scale ? scaled_sum(k, made) : fold(k);
      if (made.rhs->op == Op::reduce) made.where_defined = equation_.where_defined;
      out.push_back(std::move(made));
    }
    return out;
  }

 private:
  const Reduction& reduction() const { return equation_.rhs->reduction; }

  Expr reduced(Reducer reducer, Expr term) const {
    auto out = std::make_shared<ExprNode>(*equation_.rhs);
    out->type = term->type;
    out->reduction.reducer = reducer;
    out->reduction.combiner = 0;
    out->args = {std::move(term)};
    return out;
  }

  Expr fold(size_t k) const { return reduced(components_[k].reducer, equation_.rhs->args[k]); }

  static Expr or_zero(const Expr& e, const Expr& where_least) {
    const Expr least = make_literal(float_literal(e->type, -std::numeric_limits<double>::infinity()));
    const Expr is_least = make_op(Op::eq, ElementType::boolean, {where_least, least});
    return make_op(Op::select, e->type, {is_least, make_literal(float_literal(e->type, 0)), e});
  }

  /// sum exp(a - max a) * v. The maximum has indices of its own.
  Expr scaled_sum(size_t k, Equation& made) const {
    const Component& component = components_[k];
    const Expr &a = equation_.rhs->args[*component.scale], &v = equation_.rhs->args[k];
    std::map<VarId, Affine> own;
    for (const IndexRange& range : reduction().ranges) {
      own[range.var] = Affine::variable(program_.index_var(static_cast<uint32_t>(made.index_names.size())));
      made.index_names.push_back(new_name(made, made.index_names[range.var - program_.index_var(0)]));
    }
    Expr greatest = substitute(reduced(Reducer::max, a), own);
    if (component.is_zero_of_none || component.drops_least) greatest = or_zero(greatest, greatest);
    const Expr scale = make_op(Op::exp, a->type, {make_op(Op::sub, a->type, {a, greatest})});
    if (is_literal_of(v, 1)) return reduced(Reducer::sum, scale);
    const Expr term = make_op(Op::mul, a->type, {scale, v});
    const bool is_number = v->op == Op::literal;  // finite: beside -inf it adds nothing
    return reduced(Reducer::sum, component.drops_least && !is_number ? or_zero(term, a) : term);
  }

  static std::string new_name(const Equation& equation, std::string name) {
    do name += "m";
    while (std::find(equation.index_names.begin(), equation.index_names.end(), name) != equation.index_names.end());
    return name;
  }

  const Program& program_;
  const Equation& equation_;
  std::vector<Component> components_;
};

/// Is the value a reduction, or does it read a local that is one?
bool reads_sums(const Program& program, const Expr& e) {
  bool out = has_reduction(e);
  visit(e, [&](const ExprNode& node) {
    if (node.op != Op::read || program.tensors[node.access.id].kind == TensorKind::input) return;
    for (const EquationId q : makers_of(program, node.access.id)) out = out || has_reduction(program.equations[q].rhs);
  });
  return out;
}

bool has_stages(const Program& program, const Equation& equation, const std::vector<Component>& components,
                NumericsClass cls) {
  const Combiner& combiner = program.combiners[equation.rhs->reduction.combiner];
  for (size_t k = 0; k < components.size(); ++k) {
    const ElementType type = combiner.types[k];
    if (equation.rhs->args[k]->type != type || type == ElementType::f16 || type == ElementType::bf16) return false;
    const bool is_exact = !components[k].scale && (!is_float(type) || components[k].reducer == Reducer::max ||
                                                   components[k].reducer == Reducer::min);
    if (!is_exact && (cls != NumericsClass::reassoc || !combiner.associative || !combiner.commutative)) return false;
  }
  // Values that are sums themselves are partial results: who wrote them has cut the index into blocks, for one pass.
  for (size_t k = 0; k < components.size(); ++k)
    if (components[k].scale && reads_sums(program, equation.rhs->args[k])) return false;
  // A recurrence through the tuple keeps its equation: readers of one component would need the others' order.
  return std::none_of(equation.targets.begin(), equation.targets.end(),
                      [&](TensorId target) { return reads(equation.rhs, target); });
}

/// Dimensions that a component made by this equation alone does not have.
void add_unused_dims(const Program& program, const Equation& made, Dims& out) {
  const TensorId target = made.targets[0];
  if (program.tensors[target].kind != TensorKind::local || makers_of(program, target).size() != 1 ||
      !made.where.is_true())
    return;
  const ExprScope scope = scope_of(made);
  for (uint32_t d = 0; d < made.slots.size(); ++d) {
    const Slot& slot = made.slots[d];
    if (slot.var == kNoVar || mentions(made.rhs, slot.var) ||
        !is_never_empty(scope, least_parameters(program), {slot.var, slot.lo, slot.hi}))
      continue;
    const bool is_needed = std::any_of(made.slots.begin(), made.slots.end(), [&](const Slot& other) {
      return mentions(other.lo, slot.var) || mentions(other.hi, slot.var) || mentions(other.position, slot.var);
    });
    if (!is_needed) out.insert({target, d});
  }
}

}  // namespace

Program with_combiners_as_stages(Program program, NumericsClass cls) {
  std::vector<Equation> equations;
  std::vector<size_t> made;
  for (const Equation& equation : program.equations) {
    const Expr& rhs = equation.rhs;
    const bool is_combined = rhs->op == Op::reduce && rhs->reduction.reducer == Reducer::combiner;
    const auto components =
        is_combined ? CombinerForm(program.combiners[rhs->reduction.combiner]).components() : std::nullopt;
    if (!components || !has_stages(program, equation, *components, cls)) {
      equations.push_back(equation);
      continue;
    }
    for (Equation& each : StageWriter(program, equation, *components).run()) {
      made.push_back(equations.size());
      equations.push_back(std::move(each));
    }
  }
  if (made.empty()) return program;
  program.equations = std::move(equations);
  Dims unused;
  for (const size_t q : made) add_unused_dims(program, program.equations[q], unused);
  return without_dims(std::move(program), unused);
}

}  // namespace polyweft::ir
