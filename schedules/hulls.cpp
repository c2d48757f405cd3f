#include "schedules/hulls.h"

#include <algorithm>

#include "ir/values/output_extents.h"
#include "support/integer_division.h"

namespace polyweft::schedules {
namespace {

constexpr int64_t kFar = int64_t{1} << 58;

int64_t clamped(int64_t v) {
  return std::clamp(v, -kFar, kFar);
}

}  // namespace

Interval interval_of(const Affine& e, const std::vector<Interval>& values) {
  Interval out{e.constant, e.constant};
  for (const Term& term : e.terms) {
    Interval inner;
    if (!term.quasi) {
      inner = values[term.var];
    } else if (term.quasi->kind == Quasi::Kind::floor_div) {
      Interval of = interval_of(term.quasi->e, values);
      inner = {floor_quotient(of.lo, term.quasi->den), floor_quotient(of.hi, term.quasi->den)};
    } else {
      Interval of = interval_of(term.quasi->e, values), lo = interval_of(term.quasi->lo, values),
               hi = interval_of(term.quasi->hi, values);
      inner = {std::min(std::max(of.lo, lo.lo), hi.lo), std::min(std::max(of.hi, lo.hi), hi.hi)};
    }
    out.lo = clamped(out.lo + term.coeff * (term.coeff > 0 ? inner.lo : inner.hi));
    out.hi = clamped(out.hi + term.coeff * (term.coeff > 0 ? inner.hi : inner.lo));
  }
  return out;
}

namespace {

void add_guard(const Guard& g, Domain& domain) {
  switch (g.kind) {
    case Guard::Kind::all:
      for (const Guard& part : g.of) add_guard(part, domain);
      return;
    case Guard::Kind::ge0:
      if (g.e.is_linear())
        domain.inside.push_back(g.e);
      else
        domain.guards.push_back(g);
      return;
    case Guard::Kind::eq0:
      if (!g.e.is_linear()) return domain.guards.push_back(g);
      domain.inside.push_back(g.e);
      domain.inside.push_back(Affine::of(0) - g.e);
      return;
    default:
      domain.guards.push_back(g);
  }
}

void add_range(VarId var, const Affine& lo, const Affine& hi, Domain& domain) {
  Interval first = interval_of(lo, domain.values), last = interval_of(hi, domain.values);
  domain.values[var] = {first.lo, last.hi - 1};
  if (!lo.is_constant()) add_guard(guard_ge0(Affine::variable(var) - lo), domain);
  if (!hi.is_constant()) add_guard(guard_ge0(hi - Affine::variable(var) - Affine::of(1)), domain);
}

void narrow(Domain& domain) {
  for (const Affine& condition : domain.inside) narrow_by(condition, domain.values);
}

}  // namespace

void narrow_by(const Affine& e, std::vector<Interval>& values) {
  for (const Term& term : e.terms) {
    const int64_t most = interval_of(e - Affine::variable(term.var, term.coeff), values).hi;  // coeff * v + most >= 0
    Interval& v = values[term.var];
    if (term.coeff > 0)
      v.lo = std::max(v.lo, -floor_quotient(most, term.coeff));
    else
      v.hi = std::min(v.hi, floor_quotient(most, -term.coeff));
  }
}

Domain domain_of(const Program& bound, const Equation& equation) {
  Domain domain;
  for (const Parameter& parameter : bound.parameters) domain.values.push_back({parameter.value, parameter.value});
  domain.values.resize(bound.parameters.size() + equation.index_names.size());
  for (const Slot& slot : equation.slots)
    if (slot.var != kNoVar) add_range(slot.var, slot.lo, slot.hi, domain);
  add_guard(equation.where, domain);
  // Slots first: what a reduction's ranges say must not narrow the data indices (empty reductions have a value too).
  for (int round = 0; round < 4; ++round) narrow(domain);
  if (equation.rhs->op == Op::reduce) {
    std::vector<Interval> data = domain.values;
    for (const IndexRange& range : equation.rhs->reduction.ranges) add_range(range.var, range.lo, range.hi, domain);
    add_guard(equation.rhs->reduction.where, domain);
    for (int round = 0; round < 4; ++round) {
      narrow(domain);
      for (const Slot& slot : equation.slots)
        if (slot.var != kNoVar) domain.values[slot.var] = data[slot.var];
    }
  }
  std::erase_if(domain.inside, [&](const Affine& e) { return interval_of(e, domain.values).lo >= 0; });
  return domain;
}

std::vector<int64_t> slot_extents(const Program& bound, const Equation& equation) {
  const Domain domain = domain_of(bound, equation);
  std::vector<int64_t> out;
  for (const Slot& slot : equation.slots)
    if (slot.var != kNoVar)
      out.push_back(std::max<int64_t>(0, domain.values[slot.var].hi - domain.values[slot.var].lo + 1));
  return out;
}

std::vector<Box> tensor_boxes(const Program& normalized) {
  std::vector<Box> out(normalized.tensors.size());
  std::vector<char> seen(out.size(), 0);
  for (TensorId id = 0; id < out.size(); ++id) {
    const Tensor& tensor = normalized.tensors[id];
    out[id].lo.assign(tensor.rank, 0);
    out[id].hi.assign(tensor.rank, 0);
    for (size_t d = 0; d < tensor.shape.size() && d < tensor.rank; ++d) out[id].hi[d] = tensor.shape[d].constant;
  }
  for (const Equation& equation : normalized.equations) {
    Domain domain = domain_of(normalized, equation);
    for (TensorId id : equation.targets) {
      if (normalized.tensors[id].kind == TensorKind::output) continue;
      Box& box = out[id];
      for (size_t d = 0; d < equation.slots.size(); ++d) {
        const Slot& slot = equation.slots[d];
        const Interval v = slot.var == kNoVar ? interval_of(slot.position, domain.values) : domain.values[slot.var];
        box.lo[d] = seen[id] ? std::min(box.lo[d], v.lo) : v.lo;
        box.hi[d] = std::max(seen[id] ? box.hi[d] : box.lo[d], v.hi + 1);
      }
      seen[id] = 1;
    }
  }
  for (TensorId id : normalized.outputs()) {
    auto extents = ir::output_extents(normalized, id);
    PW_CHECK(extents);  // whoever makes a task has asked
    out[id].hi = *std::move(extents);
  }
  return out;
}

}  // namespace polyweft::schedules
