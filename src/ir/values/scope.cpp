#include "ir/values/scope.h"

#include <cstdlib>

namespace polyweft::ir {
namespace {

void add_condition(ExprScope& scope, const Guard& g) {
  if (g.is_true()) return;
  if (g.kind == Guard::Kind::all)
    scope.conditions.insert(scope.conditions.end(), g.of.begin(), g.of.end());
  else
    scope.conditions.push_back(g);
}

std::vector<VarId> variables_of(const Guard& g) {
  std::vector<VarId> out;
  collect_variables(g, out);
  return out;
}

std::vector<VarId> variables_of(const IndexRange& range) {
  std::vector<VarId> out;
  collect_variables(range.lo, out);
  collect_variables(range.hi, out);
  return out;
}

/// Its least value over the parameters; INT64_MIN where there is none.
int64_t least_value(const Affine& over_parameters, const std::map<VarId, int64_t>& least) {
  int64_t value = over_parameters.constant;
  for (const Term& term : over_parameters.terms) {
    auto known = least.find(term.var);
    if (term.coeff < 0 || known == least.end()) return INT64_MIN;
    value += term.coeff * known->second;
  }
  return value;
}

class DomainChooser {
 public:
  DomainChooser(const ExprScope& scope, const std::map<VarId, int64_t>& least, VarId first_index)
      : scope_(scope), least_(least), first_index_(first_index) {}

  std::set<VarId> needed_by(const std::vector<VarId>& used) {
    add(used);
    size_t before;
    do {
      before = needed_.size();
      for (const IndexRange& range : scope_.indices) add_for_range(range);
      for (const Guard& g : scope_.conditions)
        if (!is_settled(g)) add(variables_of(g));
    } while (needed_.size() != before);
    return needed_;
  }

 private:
  void add(const std::vector<VarId>& variables) {
    for (VarId var : variables)
      if (var >= first_index_) needed_.insert(var);
  }

  void add_for_range(const IndexRange& range) {
    if (!needed_.count(range.var) && !is_never_empty(scope_, least_, range)) needed_.insert(range.var);
    if (needed_.count(range.var)) add(variables_of(range));
  }

  bool is_settled(const Guard& g) const {
    for (VarId var : variables_of(g))
      if (var >= first_index_ && !needed_.count(var)) return false;
    return true;
  }

  const ExprScope& scope_;
  const std::map<VarId, int64_t>& least_;
  VarId first_index_;
  std::set<VarId> needed_;
};

}  // namespace

ExprScope scope_of(const Equation& equation) {
  ExprScope out;
  for (const Slot& slot : equation.slots)
    if (slot.var != kNoVar) out.indices.push_back({slot.var, slot.lo, slot.hi});
  add_condition(out, equation.where);
  return out;
}

ExprScope under(const ExprScope& scope, const Guard& g) {
  ExprScope out = scope;
  add_condition(out, g);
  return out;
}

ExprScope inside(const ExprScope& scope, const Reduction& reduction) {
  ExprScope out = under(scope, reduction.where);
  out.indices.insert(out.indices.end(), reduction.ranges.begin(), reduction.ranges.end());
  return out;
}

std::map<VarId, int64_t> least_parameters(const Program& program) {
  std::map<VarId, int64_t> out;
  for (const Guard& g : program.assumptions) {
    bool single = g.kind == Guard::Kind::ge0 && g.e.terms.size() == 1 && !g.e.terms[0].quasi && g.e.terms[0].coeff == 1;
    if (!single) continue;
    auto [at, inserted] = out.emplace(g.e.terms[0].var, -g.e.constant);
    if (!inserted) at->second = std::max(at->second, -g.e.constant);
  }
  return out;
}

std::set<VarId> needed_indices(const ExprScope& scope, const std::map<VarId, int64_t>& least, VarId first_index,
                               const std::vector<VarId>& used) {
  return DomainChooser(scope, least, first_index).needed_by(used);
}

Affine least_over(const ExprScope& scope, Affine e) {
  for (auto index = scope.indices.rbegin(); index != scope.indices.rend() && e.is_linear(); ++index) {
    const int64_t coeff = e.coefficient(index->var);
    if (coeff != 0) e = substitute(e, {{index->var, coeff > 0 ? index->lo : index->hi - Affine::of(1)}});
  }
  return e;
}

bool is_never_empty(const ExprScope& scope, const std::map<VarId, int64_t>& least, const IndexRange& range) {
  const Affine size = least_over(scope, range.hi - range.lo);
  return size.is_linear() && least_value(size, least) >= 1;
}

std::optional<uint32_t> dimension_of(const Access& access, VarId var) {
  for (uint32_t d = 0; d < access.index.size(); ++d) {
    const Affine& e = access.index[d].affine;
    if (!access.index[d].data && e.is_linear() && e.terms.size() == 1 && e.terms[0].var == var &&
        std::abs(e.terms[0].coeff) == 1)
      return d;
  }
  return std::nullopt;
}

void renumber(const Program& program, Equation& equation) {
  std::map<VarId, Affine> map;
  std::vector<std::string> names;
  auto bind = [&](VarId var) {
    if (map.count(var)) return;
    map[var] = Affine::variable(program.index_var(static_cast<uint32_t>(names.size())));
    names.push_back(equation.index_names[var - program.index_var(0)]);
  };
  for (const Slot& slot : equation.slots)
    if (slot.var != kNoVar) bind(slot.var);
  visit(equation.rhs, [&](const ExprNode& e) {
    if (e.op == Op::reduce)
      for (const IndexRange& range : e.reduction.ranges) bind(range.var);
  });
  for (Slot& slot : equation.slots) {
    if (slot.var != kNoVar) slot.var = map[slot.var].terms[0].var;
    slot.lo = substitute(slot.lo, map);
    slot.hi = substitute(slot.hi, map);
    slot.position = substitute(slot.position, map);
  }
  equation.where = substitute(equation.where, map);
  equation.rhs = substitute(equation.rhs, map);
  equation.index_names = std::move(names);
}

}  // namespace polyweft::ir
