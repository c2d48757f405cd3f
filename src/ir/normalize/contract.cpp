#include "ir/normalize/contract.h"

#include "ir/normalize/hidden_tensors.h"

namespace polyweft::ir {
namespace {

Expr negated(const Expr& e) {
  return make_op(Op::neg, e->type, {e});
}

/// Of a sum or difference; null where no side is a product.
Expr fused(const ExprNode& e, TensorId target) {
  const bool left = e.args[0]->op == Op::mul, right = e.args[1]->op == Op::mul;
  if (!left && !right) return nullptr;
  const size_t product = !right || (left && reads(e.args[0], target) && !reads(e.args[1], target)) ? 0 : 1;
  const Expr& mul = e.args[product];
  const Expr& other = e.args[1 - product];
  const bool is_difference = e.op == Op::sub;
  const Expr factor = is_difference && product == 1 ? negated(mul->args[0]) : mul->args[0];
  const Expr addend = is_difference && product == 0 ? negated(other) : other;
  return make_op(Op::fma, e.type, {factor, mul->args[1], addend}, e.where);
}

}  // namespace

Expr contracted(const Expr& e, TensorId target, const std::function<bool(ElementType)>& fuses) {
  return rewrite(e, [&](const Expr& node) -> Expr {
    if ((node->op != Op::add && node->op != Op::sub) || !fuses(node->type)) return nullptr;
    return fused(*node, target);
  });
}

Expr contracted_inside(const Expr& e, TensorId target, const std::function<bool(ElementType)>& fuses) {
  auto out = std::make_shared<ExprNode>(*e);
  for (Expr& arg : out->args)
    arg = e->op == Op::add ? contracted_inside(arg, target, fuses) : contracted(arg, target, fuses);
  return out;
}

}  // namespace polyweft::ir
