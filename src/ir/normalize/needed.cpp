#include "ir/normalize/needed.h"

#include <algorithm>

namespace polyweft::ir {
namespace {

std::vector<bool> needed_tensors(const Program& program) {
  std::vector<bool> needed(program.tensors.size(), false);
  for (TensorId id = 0; id < program.tensors.size(); ++id) needed[id] = program.tensors[id].kind != TensorKind::local;
  for (bool grows = true; grows;) {
    grows = false;
    for (const Equation& equation : program.equations) {
      if (std::none_of(equation.targets.begin(), equation.targets.end(), [&](TensorId id) { return needed[id]; }))
        continue;
      const auto need = [&](TensorId id) {
        grows = grows || !needed[id];
        needed[id] = true;
      };
      for (TensorId id : equation.targets) need(id);
      visit(equation.rhs, [&](const ExprNode& node) {
        if (node.op == Op::read) need(node.access.id);
      });
    }
  }
  return needed;
}

Expr renumbered(const Expr& e, const std::vector<TensorId>& number) {
  return rewrite(e, [&](const Expr& node) -> Expr {
    if (node->op != Op::read || number[node->access.id] == node->access.id) return nullptr;
    auto copy = std::make_shared<ExprNode>(*node);
    copy->access.id = number[node->access.id];
    return copy;
  });
}

}  // namespace

Program without_unneeded(const Program& program) {
  const std::vector<bool> needed = needed_tensors(program);
  if (std::find(needed.begin(), needed.end(), false) == needed.end()) return program;
  Program out = program;
  out.tensors.clear();
  out.equations.clear();
  std::vector<TensorId> number(program.tensors.size(), UINT32_MAX);
  for (TensorId id = 0; id < program.tensors.size(); ++id) {
    if (!needed[id]) continue;
    number[id] = static_cast<TensorId>(out.tensors.size());
    out.tensors.push_back(program.tensors[id]);
  }
  for (const Equation& equation : program.equations) {
    if (!needed[equation.targets.front()]) continue;
    Equation kept = equation;
    for (TensorId& target : kept.targets) target = number[target];
    kept.rhs = renumbered(kept.rhs, number);
    out.equations.push_back(std::move(kept));
  }
  return out;
}

}  // namespace polyweft::ir
