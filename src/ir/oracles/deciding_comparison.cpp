#include "ir/oracles/deciding_comparison.h"

#include <algorithm>

#include "ir/text/expression_text.h"

namespace polyweft::ir {
namespace {

bool is_comparison_of_floats(const ExprNode& e) {
  return e.op >= Op::eq && e.op <= Op::ge && is_float(e.args[0]->type);
}

/// Has arithmetic in it, or reads what has.
bool is_computed(const Program& program, const Expr& e) {
  bool found = false;
  visit(e, [&](const ExprNode& node) {
    const bool is_leaf = node.op == Op::literal || node.op == Op::read || node.op == Op::variable;
    const bool reads_local = node.op == Op::read && program.tensors[node.access.id].kind != TensorKind::input &&
                             program.tensors[node.access.id].kind != TensorKind::constant;
    found |= is_float(node.type) && (!is_leaf || reads_local);
  });
  return found;
}

bool has_whole_output(const Program& program) {
  const auto outputs = program.outputs();
  return std::any_of(outputs.begin(), outputs.end(), [&](TensorId id) { return !is_float(program.tensors[id].type); });
}

}  // namespace

std::string deciding_comparison(const Program& program) {
  if (!has_whole_output(program)) return "";
  for (const Equation& equation : program.equations) {
    std::string found;
    visit(equation.rhs, [&](const ExprNode& e) {
      const bool decides = found.empty() && is_comparison_of_floats(e) &&
                           (is_computed(program, e.args[0]) || is_computed(program, e.args[1]));
      if (!decides) return;
      const Expr borrowed(Expr(), &e);
      found = "'" + print(program, equation, borrowed) + "' in line " + std::to_string(equation.where_defined.line);
    });
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace polyweft::ir
