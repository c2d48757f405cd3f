// Binding of parameters: checking values against the assumptions, and replacing parameters by numbers.
#include <cstdlib>

#include "polyweft/loop_nest.h"
#include "polyweft/program.h"

namespace polyweft {
namespace {

using SizeValues = std::map<VarId, Affine>;

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
    return fail(
        "PW0120",
        program.name + ": " + values + " is outside the assumption " + print(assumption, parameter_names(program)),
        {"choose values that satisfy it"});
  }
  return Ok{};
}

Status check_size_value(const std::string& name, int64_t value) {
  if (std::llabs(value) <= kLargestSize) return Ok{};
  return fail("PW0809", name + " = " + std::to_string(value) + ": a size is at most 2^31 - 1",
              {"choose a smaller value"});
}

void bind_tensor(Tensor& tensor, const SizeValues& map) {
  for (Affine& extent : tensor.shape) extent = substitute(extent, map);
  if (tensor.values_lo) tensor.values_lo = substitute(*tensor.values_lo, map);
  if (tensor.values_hi) tensor.values_hi = substitute(*tensor.values_hi, map);
}

void bind_equation(Equation& equation, const SizeValues& map) {
  for (Slot& slot : equation.slots) {
    slot.lo = substitute(slot.lo, map);
    slot.hi = substitute(slot.hi, map);
    slot.position = substitute(slot.position, map);
  }
  equation.where = substitute(equation.where, map);
  equation.rhs = substitute(equation.rhs, map);
}

}  // namespace

Result<Binding> make_binding(const Program& program, const std::map<std::string, int64_t>& values) {
  for (const auto& [name, value] : values) {
    Status known = check_name(program, name);
    if (!known) return known.error();
  }
  for (const auto& [name, value] : values)
    if (auto fits = check_size_value(name, value); !fits) return fits.error();
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
  SizeValues map;
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
