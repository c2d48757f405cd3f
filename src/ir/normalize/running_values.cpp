#include "ir/normalize/running_values.h"

#include <optional>

#include "ir/normalize/collapse_reductions.h"
#include "ir/normalize/periodic.h"
#include "ir/values/scalar.h"

namespace polyweft::ir {
namespace {

constexpr int64_t kLeastExtent = 16;  ///< below, the terms themselves are fewer than what a running value waits for
constexpr int64_t kMostSteps = 4;

/// One equation, or the elements that have one before them and those that have none.
struct Parts {
  Equation running;
  std::optional<Equation> rest;
};

class RunningValues {
 public:
  RunningValues(const Program& program, NumericsClass cls, const Equation& equation)
      : program_(program), equation_(equation), cls_(cls), facts_(AffineFacts(program).in(scope_of(equation))) {}

  std::optional<Parts> run() const {
    const ExprNode& reduce = *equation_.rhs;
    if (reduce.op != Op::reduce || equation_.targets.size() != 1 || reduce.reduction.ranges.size() != 1 ||
        !may_be_parted(reduce, cls_))
      return std::nullopt;
    if (reduce.type == ElementType::f16 || reduce.type == ElementType::bf16) return std::nullopt;
    for (const Slot& slot : equation_.slots) {
      if (slot.var == kNoVar || !(slot.hi - slot.lo).is_constant() || (slot.hi - slot.lo).constant < kLeastExtent)
        continue;
      if (auto parts = along(slot.var)) return parts;
    }
    return std::nullopt;
  }

 private:
  const IndexRange& range() const { return equation_.rhs->reduction.ranges.front(); }

  /// The end of the range that moves with the index is the index and a number.
  std::optional<Parts> along(VarId index) const {
    const bool grows = mentions(range().hi, index), shrinks = mentions(range().lo, index);
    if (grows == shrinks) return std::nullopt;
    if (!((grows ? range().hi : range().lo) - Affine::variable(index)).is_constant()) return std::nullopt;
    for (const Slot& slot : equation_.slots)
      if (slot.var == kNoVar && mentions(slot.position, index)) return std::nullopt;
    const Expr all = guarded_by(equation_.rhs->reduction.where, equation_.rhs->args[0],
                                make_literal(identity(equation_.rhs->reduction.reducer, equation_.rhs->type)));
    const auto period = mentions(all, index) ? period_of(all, index) : 1;
    if (!period) return std::nullopt;
    for (int64_t steps = *period; steps <= kMostSteps; steps += *period)
      if (auto parts = by(index, grows ? steps : -steps)) return parts;
    return std::nullopt;
  }

  /// Where the element that many steps before is one of the equation's.
  Guard has_before(const std::map<VarId, Affine>& before) const {
    std::vector<Guard> out;
    for (const Slot& slot : equation_.slots) {
      if (slot.var == kNoVar) continue;
      const Affine at = substitute(Affine::variable(slot.var), before);
      out.push_back(guard_ge0(at - substitute(slot.lo, before)));
      out.push_back(guard_ge0(substitute(slot.hi, before) - Affine::of(1) - at));
    }
    out.push_back(substitute(equation_.where, before));
    return facts_.simplified(guard_all(std::move(out)));
  }

  std::optional<Parts> by(VarId index, int64_t steps) const {
    const std::map<VarId, Affine> before = {{index, Affine::variable(index) - Affine::of(steps)}};
    const Guard runs = has_before(before);
    if (runs.kind != Guard::Kind::ge0)
      return std::nullopt;  // always, never, or in pieces that cost more than they give
    auto rest = part(guard_not(runs)), running = part(runs);
    if (!rest || !running) return std::nullopt;
    rest->rhs = on_rest(*rest);
    running->rhs = with_new_terms(read_of(before), steps, AffineFacts(program_).in(scope_of(*running)));
    if (rest->rhs->op != Op::reduce) {
      Equation all = equation_;
      all.rhs = guarded_by(runs, running->rhs, rest->rhs);
      renumber(program_, all);
      return Parts{std::move(all), std::nullopt};
    }
    renumber(program_, *rest);
    renumber(program_, *running);
    return Parts{*std::move(running), std::move(rest)};
  }

  /// The equation where the condition holds.
  std::optional<Equation> part(const Guard& g) const {
    Reduction domain;
    domain.where = guard_all({equation_.where, g});
    for (const Slot& slot : equation_.slots)
      if (slot.var != kNoVar) domain.ranges.push_back({slot.var, slot.lo, slot.hi});
    domain = narrowed(domain, AffineFacts(program_));
    if (domain.where.kind == Guard::Kind::any && domain.where.of.empty()) return std::nullopt;
    Equation out = equation_;
    out.where = domain.where;
    auto range = domain.ranges.begin();
    for (Slot& slot : out.slots)
      if (slot.var != kNoVar) slot.lo = range->lo, slot.hi = range->hi, ++range;
    return out;
  }

  Expr on_rest(const Equation& rest) const {
    const AffineFacts facts = AffineFacts(program_).in(scope_of(rest));
    if (facts.is_nonnegative(range().lo - range().hi)) return identity_literal(program_, *rest.rhs);
    std::map<VarId, Affine> only;  // slots of one value
    for (const Slot& slot : rest.slots)
      if (slot.var != kNoVar && slot.hi - slot.lo == Affine::of(1)) only[slot.var] = slot.lo;
    auto copy = std::make_shared<ExprNode>(*substitute(rest.rhs, only));
    copy->reduction = narrowed(copy->reduction, facts);
    if (copy->reduction.where.kind == Guard::Kind::any && copy->reduction.where.of.empty())
      return identity_literal(program_, *rest.rhs);
    return without_single_indices(copy, copy->reduction, facts);
  }

  Expr read_of(const std::map<VarId, Affine>& before) const {
    Access access{equation_.targets.front(), {}};
    for (const Slot& slot : equation_.slots)
      access.index.push_back(
          {slot.var == kNoVar ? slot.position : substitute(Affine::variable(slot.var), before), nullptr, {}, {}});
    return make_read(equation_.rhs->type, access, equation_.rhs->where);
  }

  /// The value before, and the terms that the range has gained since.
  Expr with_new_terms(Expr value, int64_t steps, const AffineFacts& facts) const {
    const ExprNode& reduce = *equation_.rhs;
    const Affine first = steps > 0 ? range().hi - Affine::of(steps) : range().lo;
    for (int64_t k = 0; k < std::abs(steps); ++k) {
      const Affine at = first + Affine::of(k);
      const std::map<VarId, Affine> place = {{range().var, at}};
      const Guard counts =
          facts.simplified(guard_all({guard_ge0(at - range().lo), guard_ge0(range().hi - Affine::of(1) - at),
                                      substitute(reduce.reduction.where, place)}));
      if (counts.kind == Guard::Kind::any && counts.of.empty()) continue;
      const Expr term = guarded_by(counts, substitute(reduce.args[0], place),
                                   make_literal(identity(reduce.reduction.reducer, reduce.type)));
      value = make_op(*combining_op(reduce.reduction.reducer), reduce.type, {value, term}, reduce.where);
    }
    return value;
  }

  const Program& program_;
  const Equation& equation_;
  NumericsClass cls_;
  AffineFacts facts_;
};

}  // namespace

namespace {

/// A local with the elements that the equation defines.
TensorId local_for(Program& program, const Equation& equation) {
  Tensor tensor = program.tensors[equation.targets.front()];
  tensor.name += ".r" + std::to_string(program.tensors.size());
  tensor.kind = TensorKind::local;
  tensor.shape.clear();
  tensor.partial = false;
  tensor.hidden = true;
  program.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(program.tensors.size() - 1);
}

/// The shape of an output is that of its ranges, which stay: its values come from a local.
void add_output(Program& program, const Equation& equation, NumericsClass cls, std::vector<Equation>& out) {
  Equation local = equation, copy = equation;
  auto whole = RunningValues(program, cls, local).run();
  if (!whole) return out.push_back(equation);
  if (!whole->rest) return out.push_back(std::move(whole->running));
  local.targets = {local_for(program, equation)};
  auto parts = RunningValues(program, cls, local).run();
  Access access{local.targets.front(), {}};
  for (const Slot& slot : equation.slots)
    access.index.push_back({slot.var == kNoVar ? slot.position : Affine::variable(slot.var), nullptr, {}, {}});
  copy.rhs = make_read(equation.rhs->type, std::move(access), equation.rhs->where);
  renumber(program, copy);
  out.insert(out.end(), {std::move(copy), *std::move(parts->rest), std::move(parts->running)});
}

}  // namespace

Program with_running_values(Program program, NumericsClass cls) {
  std::vector<Equation> equations;
  for (const Equation& equation : program.equations) {
    if (program.tensors[equation.targets.front()].kind == TensorKind::output) {
      add_output(program, equation, cls, equations);
    } else if (auto parts = RunningValues(program, cls, equation).run()) {
      if (parts->rest) equations.push_back(*std::move(parts->rest));
      equations.push_back(std::move(parts->running));
    } else {
      equations.push_back(equation);
    }
  }
  program.equations = std::move(equations);
  return program;
}

}  // namespace polyweft::ir
