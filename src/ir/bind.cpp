// Binding of parameters: checking values against the assumptions, and replacing parameters by numbers.
#include "polyweft/program.h"

namespace polyweft {
namespace {

using Substitution = std::map<VarId, Affine>;

std::vector<std::string> parameter_names(const Program& program) {
  std::vector<std::string> names;
  for (const Parameter& parameter : program.parameters) names.push_back(parameter.name);
  return names;
}

Status check_name(const Program& program, const std::string& name) {
  for (const Parameter& parameter : program.const_parameters)
    if (parameter.name == name)
      return fail("PW0120", name + ": is a const parameter of " + program.name + " and cannot be bound",
                  {"change 'const " + name + " = " + std::to_string(parameter.value) + "' in the program"});
  std::string known;
  for (const Parameter& parameter : program.parameters) {
    if (parameter.name == name) return Ok{};
    known += (known.empty() ? "" : ", ") + parameter.name;
  }
  return fail("PW0120", name + ": no such parameter in " + program.name,
              {known.empty() ? "the program has no parameters" : "the parameters are " + known});
}

Status check_assumptions(const Program& program, const Binding& binding) {
  for (const Guard& assumption : program.assumptions) {
    if (evaluate(assumption, binding)) continue;
    std::string values;
    for (size_t p = 0; p < binding.size(); ++p)
      values += (p ? ", " : "") + program.parameters[p].name + " = " + std::to_string(binding[p]);
    return fail("PW0120", program.name + ": " + values + " is outside the assumption " + print(assumption, parameter_names(program)),
                {"choose values that satisfy it"});
  }
  return Ok{};
}

Affine bound(const Affine& e, const Substitution& map) {
  return substitute(e, map);
}

Access bound(Access access, const Substitution& map) {
  for (Subscript& s : access.index) {
    s.affine = bound(s.affine, map);
    s.lo = bound(s.lo, map);
    s.hi = bound(s.hi, map);
  }
  return access;
}

Reduction bound(Reduction reduction, const Substitution& map) {
  for (IndexRange& range : reduction.ranges) {
    range.lo = bound(range.lo, map);
    range.hi = bound(range.hi, map);
  }
  reduction.where = substitute(reduction.where, map);
  return reduction;
}

/// One node whose children are bound already; null: nothing to change.
Expr bound_node(const Expr& e, const Substitution& map) {
  if (e->op == Op::variable) {
    auto found = map.find(e->var);
    if (found == map.end()) return nullptr;
    Literal value;
    value.type = ElementType::i64;
    value.i = found->second.constant;
    return make_literal(value, e->where);
  }
  bool has_affine = e->op == Op::read || e->op == Op::affine || e->op == Op::guarded || e->op == Op::reduce;
  if (!has_affine) return nullptr;
  auto copy = std::make_shared<ExprNode>(*e);
  copy->access = bound(std::move(copy->access), map);
  copy->affine = bound(copy->affine, map);
  copy->guard = substitute(copy->guard, map);
  copy->reduction = bound(std::move(copy->reduction), map);
  return copy;
}

void bind_tensor(Tensor& tensor, const Substitution& map) {
  for (Affine& extent : tensor.shape) extent = bound(extent, map);
  if (tensor.values_lo) tensor.values_lo = bound(*tensor.values_lo, map);
  if (tensor.values_hi) tensor.values_hi = bound(*tensor.values_hi, map);
}

void bind_equation(Equation& equation, const Substitution& map) {
  for (Slot& slot : equation.slots) {
    slot.lo = bound(slot.lo, map);
    slot.hi = bound(slot.hi, map);
    slot.position = bound(slot.position, map);
  }
  equation.where = substitute(equation.where, map);
  equation.rhs = rewrite(equation.rhs, [&](const Expr& e) { return bound_node(e, map); });
}

}  // namespace

Result<Binding> make_binding(const Program& program, const std::map<std::string, int64_t>& values) {
  for (const auto& [name, value] : values) {
    Status known = check_name(program, name);
    if (!known) return known.error();
  }
  Binding binding;
  for (const Parameter& parameter : program.parameters) {
    auto found = values.find(parameter.name);
    binding.push_back(found == values.end() ? parameter.value : found->second);
  }
  Status allowed = check_assumptions(program, binding);
  if (!allowed) return allowed.error();
  return binding;
}

Program bind(const Program& program, const Binding& binding) {
  PW_CHECK(binding.size() == program.parameters.size());
  Program out = program;
  Substitution map;
  for (size_t p = 0; p < binding.size(); ++p) {
    map.emplace(static_cast<VarId>(p), Affine::of(binding[p]));
    out.parameters[p].value = binding[p];
  }
  for (Guard& assumption : out.assumptions) assumption = substitute(assumption, map);
  for (Tensor& tensor : out.tensors) bind_tensor(tensor, map);
  for (Equation& equation : out.equations) bind_equation(equation, map);
  return out;
}

}  // namespace polyweft
