// normalize: each reduction becomes the whole right-hand side of an equation of its own. Conditions that always or
// never hold, and reductions over indices that their terms do not use, go first (simplify.h). Conditions that do not
// move with a reduction leave it (hoisted_guards.h). Recurrences that only take in terms are reductions
// (accumulators.h), and so are components of combiners (combiner_stages.h). Offsets of integer sums of products are
// taken out before (separate_sums.h), equations and elements that no output needs are left out (needed.h,
// needed_elements.h), and integer sums over two indices with weights of one factor an index become two sums
// (factor_sums.h); values that are the same for many points are made once (repeated_values.h inside reductions,
// shared_values.h outside), and so are those that several equations compute (common_values.h); guarded reads of windows
// become reads of a padded copy (padded_reads.h); recurrences leave dimensions along which they are the same everywhere
// (invariant_dims.h); reductions over ranges that grow with an index become running values (running_values.h).
//
//   out Y[i: M, j: N] = X[i, j] - (max[k: N] X[i, k])
// becomes
//   out Y[i: M, j: N] = X[i, j] - Y.1[i]
//   let Y.1[i: M] = max[k: N] X[i, k]
// Their domains: scope.h.
#include "ir/normalize/normalize.h"

#include <algorithm>
#include <set>

#include "ir/normalize/accumulators.h"
#include "ir/normalize/combiner_stages.h"
#include "ir/normalize/common_values.h"
#include "ir/normalize/factor_sums.h"
#include "ir/normalize/hidden_tensors.h"
#include "ir/normalize/hoisted_guards.h"
#include "ir/normalize/invariant_dims.h"
#include "ir/normalize/needed.h"
#include "ir/normalize/needed_elements.h"
#include "ir/normalize/padded_reads.h"
#include "ir/normalize/repeated_values.h"
#include "ir/normalize/running_values.h"
#include "ir/normalize/separate_sums.h"
#include "ir/normalize/shared_values.h"
#include "ir/normalize/simplify.h"
#include "ir/values/reduction_ranges.h"
#include "ir/values/scalar.h"
#include "ir/values/scope.h"
#include "polyweft/program.h"
#include "support/abilities.h"

namespace polyweft {
namespace {

using ir::ExprScope;
using ir::scope_of;

/// Reads of the hidden tensors of one reduction in one scope: the components of a tuple-valued reduction share them.
struct Extracted {
  Expr source;
  ExprScope scope;
  std::vector<Expr> reads;
};

class Normalizer {
 public:
  explicit Normalizer(const Program& program)
      : source_(program), out_(program), least_(ir::least_parameters(program)) {}

  Program run() {
    size_t count = out_.equations.size();
    for (size_t q = 0; q < count; ++q) {
      Equation equation = out_.equations[q];
      base_name_ = out_.tensors[equation.targets.front()].name;
      may_read_ = ir::independent_of(source_, equation.targets);
      normalize(equation);
      out_.equations[q] = std::move(equation);
    }
    for (Equation& equation : hidden_) out_.equations.push_back(std::move(equation));
    return ir::without_invariant_dims(std::move(out_));
  }

 private:
  static bool is_argument(const ExprNode& e) {
    return e.op == Op::reduce && (e.reduction.reducer == Reducer::argmax || e.reduction.reducer == Reducer::argmin);
  }

  void normalize(Equation& equation) {
    extracted_.clear();
    names_ = equation.index_names;
    hoist_guards(equation);
    ExprScope scope = scope_of(equation);
    if (is_on("normalize.separated_sums"))
      equation.rhs = ir::with_separated_sums(equation.rhs, scope.indices, out_.index_var(0));
    if (equation.rhs->op == Op::reduce && !is_shared_reduction(equation, scope)) {
      bool has_value_target = equation.targets.size() == equation.rhs->reduction.ranges.size() + 1;
      if (is_argument(*equation.rhs) && !has_value_target)
        equation.targets.insert(equation.targets.begin(),
                                new_tensor(equation.rhs->args[0]->type, equation.slots.size()));
      equation.rhs = with_body_extracted(equation.rhs, scope);
    } else {
      equation.rhs = as_tuple_of_scalars(equation.rhs, equation.targets.size());
      equation.rhs = with_shared_values(extracted(equation.rhs, scope), scope);
    }
    ir::renumber(out_, equation);
    factor(equation);
  }

  void hoist_guards(Equation& equation) {
    const ir::GuardHoister hoister(out_);
    if (equation.rhs->op != Op::reduce)
      equation.rhs = hoister.rewritten(equation.rhs, scope_of(equation));
    else if (auto empty = hoister.split(equation))
      hidden_.push_back(*std::move(empty));
  }

  /// sum[r, s] u[r] * v[s] * X[y + r, s]: first the sums over s, one for each y + r, then those over r.
  void factor(Equation& equation) {
    const auto parts = is_on("normalize.factored_sums") ? ir::factored_sum(out_, equation) : std::nullopt;
    if (!parts) return;
    const Expr sum = equation.rhs;
    const VarId slot = equation.slots[parts->slot].var,
                place = out_.index_var(static_cast<uint32_t>(equation.slots.size()));
    const IndexRange outer = sum->reduction.ranges[parts->outer], inner = sum->reduction.ranges[1 - parts->outer];
    const auto name_of_index = [&](VarId var) { return equation.index_names[var - out_.index_var(0)]; };
    Equation made = equation;
    made.targets = {new_tensor(sum->type, equation.slots.size())};
    made.slots[parts->slot].lo = made.slots[parts->slot].lo + outer.lo;
    made.slots[parts->slot].hi = made.slots[parts->slot].hi + outer.hi - Affine::of(1);
    const Expr rest = substitute(parts->rest, {{outer.var, Affine::of(0)}, {inner.var, Affine::variable(place)}});
    made.rhs = sum_over(sum, place, inner, weighted(rest, parts->right, inner.lo.constant, place));
    made.index_names.resize(equation.slots.size());
    made.index_names.push_back(name_of_index(inner.var));
    Access access{made.targets[0], {}};
    for (const Slot& s : equation.slots)
      access.index.push_back(
          {Affine::variable(s.var) + (s.var == slot ? Affine::variable(place) : Affine::of(0)), nullptr, {}, {}});
    equation.rhs = sum_over(sum, place, outer,
                            weighted(make_read(sum->type, access, sum->where), parts->left, outer.lo.constant, place));
    const std::string name = name_of_index(outer.var);
    equation.index_names.resize(equation.slots.size());
    equation.index_names.push_back(name);
    hidden_.push_back(std::move(made));
  }

  static Expr sum_over(const Expr& like, VarId var, const IndexRange& range, Expr body) {
    auto copy = std::make_shared<ExprNode>(*like);
    copy->reduction.ranges = {{var, range.lo, range.hi}};
    copy->args = {std::move(body)};
    return copy;
  }

  /// Times the weight of that index, whose first value is `first`.
  Expr weighted(const Expr& e, const std::vector<int64_t>& weights, int64_t first, VarId index) {
    if (weights.empty()) return e;
    Access access{constant_of(e->type, weights), {{Affine::variable(index) - Affine::of(first), nullptr, {}, {}}}};
    return make_op(Op::mul, e->type, {make_read(e->type, access, e->where), e}, e->where);
  }

  TensorId constant_of(ElementType type, const std::vector<int64_t>& weights) {
    const auto known = constants_.find({type, weights});
    if (known != constants_.end()) return known->second;
    const TensorId id = new_tensor(type, 1);
    Tensor& tensor = out_.tensors[id];
    tensor.kind = TensorKind::constant;
    tensor.shape = {Affine::of(static_cast<int64_t>(weights.size()))};
    for (int64_t w : weights) tensor.data.push_back(ir::integer_literal(type, w));
    return constants_[{type, weights}] = id;
  }

  /// A guarded tuple becomes a tuple of guarded components; a tuple-valued reduction under a guard becomes hidden
  /// tensors.
  Expr as_tuple_of_scalars(const Expr& e, size_t width) {
    if (width == 1 || e->op != Op::guarded) return e;
    std::vector<Expr> components;
    for (uint32_t k = 0; k < width; ++k) components.push_back(component_of(e, k));
    return make_op(Op::tuple, components[0]->type, components, e->where);
  }

  Expr component_of(const Expr& e, uint32_t k) {
    if (e->op == Op::tuple) return e->args[k];
    if (e->op == Op::guarded) {
      auto copy = std::make_shared<ExprNode>(*e);
      for (Expr& arg : copy->args) arg = component_of(arg, k);
      copy->type = copy->args[0]->type;
      return copy;
    }
    auto copy = std::make_shared<ExprNode>();
    copy->op = Op::component;
    copy->type = component_type(*e, k);
    copy->var = k;
    copy->args = {e};
    copy->where = e->where;
    return copy;
  }

  ElementType component_type(const ExprNode& e, uint32_t k) const {
    PW_CHECK(e.op == Op::reduce);
    return is_argument(e) ? ElementType::i64 : out_.combiners[e.reduction.combiner].types[k];
  }

  Expr extracted(const Expr& e, const ExprScope& scope) {
    if (!e) return e;
    if (e->op == Op::reduce) return hidden_read(e, scope, 0);
    if (e->op == Op::component) return hidden_read(e->args[0], scope, e->var);
    auto copy = std::make_shared<ExprNode>(*e);
    bool changed = false;
    for (size_t k = 0; k < copy->args.size(); ++k) {
      Expr next = e->op == Op::guarded
                      ? extracted(e->args[k], ir::under(scope, k == 0 ? e->guard : guard_not(e->guard)))
                      : extracted(e->args[k], scope);
      changed |= next != e->args[k];
      copy->args[k] = std::move(next);
    }
    for (Subscript& s : copy->access.index) {
      Expr next = extracted(s.data, scope);
      changed |= next != s.data;
      s.data = std::move(next);
    }
    return changed ? Expr(copy) : e;
  }

  Expr with_body_extracted(const Expr& reduce, const ExprScope& scope) {
    ExprScope body = ir::inside(scope, reduce->reduction);
    auto copy = std::make_shared<ExprNode>(*reduce);
    for (Expr& arg : copy->args) arg = extracted(arg, body);
    std::vector<MadeOnce> made;
    if (copy->args.size() == 1 && copy->reduction.reducer != Reducer::combiner)
      copy->args[0] = with_values_made_once(copy->args[0], Op::add, body, copy->reduction, made);
    return copy;
  }

  struct MadeOnce {
    Expr value, read;
  };

  /// The points of the scope at which an expression has different values.
  ExprScope domain_of(const Expr& e, const ExprScope& scope) const {
    Reduction points;
    points.ranges = scope.indices;
    points.where = guard_all(scope.conditions);
    const ir::AffineFacts facts(out_);
    for (size_t k = points.ranges.size(); k-- > 0;)
      if (!ir::mentions(e, points.ranges[k].var))
        if (auto rest = ir::without_index(points, k, ir::Projected::exists, facts))
          points = ir::narrowed(rest->rest, facts);
    return {points.ranges, ir::conjuncts(points.where)};
  }

  bool reads_others_only(const Expr& e) const {
    bool out = true;
    visit(e, [&](const ExprNode& node) {
      if (node.op != Op::read) return;
      const bool is_made = node.access.id >= may_read_.size();
      out = out && (is_made ? made_of_others_.count(node.access.id) > 0 : may_read_[node.access.id] != 0);
    });
    return out;
  }

  /// One value for many elements of the only target.
  bool is_shared_reduction(const Equation& equation, const ExprScope& scope) const {
    if (equation.targets.size() != 1 || !reads_others_only(equation.rhs)) return false;
    return ir::repetitions_of(scope, domain_of(equation.rhs, scope)) >= kLeastShares;
  }

  Expr with_shared_values(const Expr& e, const ExprScope& scope) {
    if (e->args.empty() || e->op == Op::reduce) return e;
    if (e->op != Op::tuple && reads_others_only(e)) {
      const ExprScope domain = domain_of(e, scope);
      const bool is_shared =
          is_on("normalize.shared_values") && ir::is_worth_storing(ir::cost_of(e), ir::repetitions_of(scope, domain));
      if (is_shared) return read_of_values(with_shared_parts(e, domain), domain.indices, domain);
    }
    return with_shared_parts(e, scope);
  }

  Expr with_shared_parts(const Expr& e, const ExprScope& scope) {
    auto copy = std::make_shared<ExprNode>(*e);
    bool changed = false;
    for (size_t k = 0; k < copy->args.size(); ++k) {
      Expr next = with_shared_values(
          e->args[k], e->op == Op::guarded ? ir::under(scope, k == 0 ? e->guard : guard_not(e->guard)) : scope);
      changed |= next != e->args[k];
      copy->args[k] = std::move(next);
    }
    return changed ? Expr(copy) : e;
  }

  /// Products under a sum stay where they are: they are one operation with it (contract.h).
  Expr with_values_made_once(const Expr& e, Op around, const ExprScope& scope, const Reduction& reduction,
                             std::vector<MadeOnce>& made) {
    for (const MadeOnce& known : made)
      if (equal(known.value, e)) return known.read;
    const bool is_contracted = e->op == Op::mul && (around == Op::add || around == Op::sub);
    if (!is_contracted && is_on("normalize.repeated_values"))
      if (auto domain = ir::domain_if_repeated(out_, e, scope, reduction, least_, may_read_))
        return made.emplace_back(MadeOnce{e, read_of_values(e, *domain, scope)}).read;
    if (e->op == Op::reduce || e->op == Op::guarded || e->op == Op::read) return e;
    auto copy = std::make_shared<ExprNode>(*e);
    bool changed = false;
    for (Expr& arg : copy->args) {
      Expr next = with_values_made_once(arg, e->op, scope, reduction, made);
      changed |= next != arg;
      arg = std::move(next);
    }
    return changed ? Expr(copy) : e;
  }

  Expr read_of_values(const Expr& e, const ir::OwnDomain& domain, const ExprScope& scope) {
    Equation made;
    const TensorId id = new_tensor(e->type, domain.size(), "e");
    Access access{id, {}};
    for (const IndexRange& range : domain) {
      made.slots.push_back({range.var, range.lo, range.hi, {}});
      access.index.push_back({Affine::variable(range.var), nullptr, {}, {}});
    }
    made.targets = {id};
    made.where = guard_all(scope.conditions);
    made.rhs = e;
    made.index_names = names_;
    made.where_defined = e->where;
    if (reads_others_only(e)) made_of_others_.insert(id);
    ir::renumber(out_, made);
    hidden_.push_back(std::move(made));
    return make_read(e->type, access, e->where);
  }

  TensorId new_tensor(ElementType type, size_t rank, const std::string& kind = "") {
    return ir::add_hidden(out_, base_name_ + "." + kind + std::to_string(++counters_[base_name_ + kind]), type, rank);
  }

  /// The reduction as an equation of its own; returns the read of its component k (argmax: of its index k).
  Expr hidden_read(const Expr& reduce, const ExprScope& scope, uint32_t component) {
    if (const Extracted* made = already_extracted(reduce, scope)) return made->reads[component];
    std::vector<TensorId> targets = new_targets(*reduce);
    Expr body = with_body_extracted(reduce, scope);
    const ExprScope domain = domain_of(body, scope);
    Equation equation;
    Access access;
    for (const IndexRange& range : domain.indices) {
      equation.slots.push_back({range.var, range.lo, range.hi, {}});
      access.index.push_back({Affine::variable(range.var), nullptr, {}, {}});
    }
    equation.where = guard_all(domain.conditions);
    equation.rhs = body;
    equation.index_names = names_;
    equation.where_defined = reduce->where;
    equation.targets = targets;
    if (reads_others_only(body)) made_of_others_.insert(targets.begin(), targets.end());
    for (TensorId id : targets) out_.tensors[id].rank = static_cast<uint32_t>(equation.slots.size());
    ir::renumber(out_, equation);
    factor(equation);
    hidden_.push_back(std::move(equation));
    std::vector<Expr> reads;
    for (size_t k = is_argument(*reduce) ? 1 : 0; k < targets.size(); ++k) {
      access.id = targets[k];
      reads.push_back(make_read(out_.tensors[access.id].type, access, reduce->where));
    }
    extracted_.push_back({reduce, scope, reads});
    return reads[component];
  }

  const Extracted* already_extracted(const Expr& reduce, const ExprScope& scope) const {
    for (const Extracted& made : extracted_) {
      bool same_scope = made.scope.indices.size() == scope.indices.size() && made.scope.conditions == scope.conditions;
      if (made.source == reduce && same_scope) return &made;
    }
    return nullptr;
  }

  std::vector<TensorId> new_targets(const ExprNode& reduce) {
    std::vector<ElementType> types = {reduce.type};
    if (reduce.reduction.reducer == Reducer::combiner) types = out_.combiners[reduce.reduction.combiner].types;
    if (is_argument(reduce)) {
      types.assign(reduce.reduction.ranges.size() + 1, ElementType::i64);
      types[0] = reduce.args[0]->type;
    }
    std::vector<TensorId> out;
    for (ElementType type : types) out.push_back(new_tensor(type, 0));
    return out;
  }

  static constexpr int64_t kLeastShares = 4;  ///< elements of an output that are one reduction's value

  const Program& source_;
  Program out_;
  std::map<VarId, int64_t> least_;
  std::vector<Equation> hidden_;
  std::map<std::string, int> counters_;
  std::map<std::pair<ElementType, std::vector<int64_t>>, TensorId> constants_;  ///< weights of factored sums
  std::string base_name_;
  std::vector<Extracted> extracted_;  ///< of the current equation
  std::vector<std::string> names_;
  std::set<TensorId> made_of_others_;  ///< hidden tensors whose equations read nothing that depends on the equation
                                       ///< they were taken from
  std::vector<char> may_read_;         ///< of each tensor of the source: does not depend on the current equation
};

}  // namespace

Program normalize(const Program& program, NumericsClass cls) {
  Program source = ir::simplified(program, cls);
  if (is_on("normalize.accumulators")) source = ir::with_accumulators_as_reductions(std::move(source), cls);
  if (is_on("normalize.combiner_stages")) source = ir::with_combiners_as_stages(std::move(source), cls);
  Program needed = ir::without_unneeded(source);
  if (is_on("normalize.needed_elements")) needed = ir::without_unneeded_elements(needed);
  Program out = Normalizer(ir::simplified(needed, cls)).run();
  if (is_on("normalize.padded_reads")) out = ir::with_padded_reads(std::move(out));
  if (is_on("normalize.common_values")) out = ir::with_common_values(std::move(out));
  return is_on("normalize.running_values") ? ir::with_running_values(std::move(out), cls) : out;
}

Program normalize(const Program& program) {
  return normalize(program, NumericsClass::strict);
}

}  // namespace polyweft
