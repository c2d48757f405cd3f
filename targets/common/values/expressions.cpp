#include "targets/common/values/expressions.h"

#include <algorithm>
#include <bit>

namespace polyweft::targets {
llvm::Value* Expressions::expression(const Expr& e) {
  if (const auto it = known_.find(e.get()); it != known_.end()) return it->second;
  switch (e->op) {
    case Op::literal:
      return scalar_.constant(e->literal);
    case Op::variable: {
      if (const auto it = operands_.find(e->var); it != operands_.end()) return it->second;
      return integers_.integer(fold(Affine::variable(e->var)));
    }
    case Op::affine:
      return integers_.integer(fold(e->affine));
    case Op::read:
      return registers_.is_short(e->access.id) ? registers_.long_index(memory_.load(e->access))
                                               : memory_.load(e->access);
    case Op::guarded:
      return branches_.guarded(*e, [this](const Expr& value) { return expression(value); });
    default:
      break;
  }
  if (llvm::Value* running = running_values_.scanned(*e)) return running;
  if ((e->op == Op::max || e->op == Op::min) && reads_carried(e)) return extreme_of_carried(*e);
  std::vector<llvm::Value*> args;
  for (const auto& arg : e->args) args.push_back(expression(arg));
  if (e->op == Op::div && division_.divides_by_reciprocal(*e, args[0], args[1]))
    return division_.quotient(e->type, args[0], args[1]);
  if (llvm::Value* turned = operation_before_rotation(*e, args)) return turned;
  return scalar_.apply(*e, std::move(args));
}

static void collect_operands(const ExprNode& node, std::vector<Expr>& out) {
  for (const Expr& arg : node.args)
    if (arg->op == node.op && arg->type == node.type)
      collect_operands(*arg, out);
    else
      out.push_back(arg);
}

/// Does it read a register that the innermost loop hands from iteration to iteration?
bool Expressions::reads_carried(const Expr& e) const {
  if (e->op == Op::read) return registers_.is_carried(e->access.id);
  return std::any_of(e->args.begin(), e->args.end(), [&](const Expr& arg) { return reads_carried(arg); });
}

/// The greatest or least of some values of which one comes from the last iteration. Extremes have any order in every
/// class: that value is met last, as the second operand, so that neither the others nor the test for a NaN, which is of
/// the first, lie on the chain from iteration to iteration.
llvm::Value* Expressions::extreme_of_carried(const ExprNode& node) {
  std::vector<Expr> operands;
  collect_operands(node, operands);
  std::stable_partition(operands.begin(), operands.end(), [&](const Expr& operand) { return !reads_carried(operand); });
  llvm::Value* out = nullptr;
  for (const Expr& operand : operands) {
    llvm::Value* value = expression(operand);
    const bool is_carried = out && lanes_.width == 1 && reads_carried(operand);
    out = !out                                                    ? value
          : is_carried && scalar_.has_chained_extremes(node.type) ? scalar_.chained_extreme(node, out, value)
                                                                  : scalar_.apply(node, {out, value});
  }
  return out;
}

/// An operation on lanes of two pairs of vectors, all rotated alike, is done to the whole vectors: neighbours, which
/// begin where this one ends, then share what it makes of them, and one result is rotated instead of two operands. The
/// lanes beside the wanted ones are numbers of memory too; nobody reads what becomes of them.
llvm::Value* Expressions::operation_before_rotation(const ExprNode& node, const std::vector<llvm::Value*>& args) {
  if (args.size() != 2 || !is_float(node.type) || (node.op != Op::add && node.op != Op::sub && node.op != Op::mul))
    return nullptr;
  const auto* a = llvm::dyn_cast<llvm::CallInst>(args[0]);
  const auto* b = llvm::dyn_cast<llvm::CallInst>(args[1]);
  if (!a || !b || !a->isInlineAsm() || a->getCalledOperand() != b->getCalledOperand() || a->arg_size() != 2)
    return nullptr;
  llvm::Value* turned[2];
  for (unsigned k = 0; k < 2; ++k) turned[k] = scalar_.apply(node, {a->getArgOperand(k), b->getArgOperand(k)});
  auto* out = llvm::cast<llvm::CallInst>(a->clone());
  out->setArgOperand(0, turned[0]);
  out->setArgOperand(1, turned[1]);
  return b_.Insert(out);
}

}  // namespace polyweft::targets
