#include "ir/normalize/hidden_tensors.h"

#include <algorithm>
#include <utility>

#include "ir/values/variables.h"

namespace polyweft::ir {

TensorId add_hidden(Program& program, std::string name, ElementType type, size_t rank) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.type = type;
  tensor.rank = static_cast<uint32_t>(rank);
  tensor.hidden = true;
  program.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(program.tensors.size() - 1);
}

bool has_tensor(const Program& program, const std::string& name) {
  return std::any_of(program.tensors.begin(), program.tensors.end(), [&](const Tensor& t) { return t.name == name; });
}

std::vector<EquationId> makers_of(const Program& program, TensorId id) {
  std::vector<EquationId> out;
  for (EquationId q = 0; q < program.equations.size(); ++q)
    if (contains(program.equations[q].targets, id)) out.push_back(q);
  return out;
}

bool reads(const Expr& e, TensorId tensor) {
  bool out = false;
  visit(e, [&](const ExprNode& node) { out = out || (node.op == Op::read && node.access.id == tensor); });
  return out;
}

bool have_equal_slots(const Equation& a, const Equation& b) {
  if (a.slots.size() != b.slots.size()) return false;
  for (size_t k = 0; k < a.slots.size(); ++k) {
    const Slot &s = a.slots[k], &t = b.slots[k];
    if (s.var != t.var || (s.var == kNoVar ? !(s.position == t.position) : !(s.lo == t.lo && s.hi == t.hi)))
      return false;
  }
  return true;
}

}  // namespace polyweft::ir
