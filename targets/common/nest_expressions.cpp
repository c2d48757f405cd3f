#include <algorithm>
#include <bit>

#include "targets/common/nest_code.h"

namespace polyweft::targets {
llvm::Value* NestCode::expression(const Expr& e) {
  if (const auto it = known_.find(e.get()); it != known_.end()) return it->second;
  switch (e->op) {
    case Op::literal:
      return scalar_.constant(e->literal);
    case Op::variable: {
      if (const auto it = bound_values_.find(e->var); !bound_values_.empty() && it != bound_values_.end())
        return it->second;
      return integers_.integer(fold(Affine::variable(e->var)));
    }
    case Op::affine:
      return integers_.integer(fold(e->affine));
    case Op::read:
      return short_[e->access.id] ? long_index(load(e->access)) : load(e->access);
    case Op::guarded:
      return guarded(*e);
    default:
      break;
  }
  if (llvm::Value* running = scanned(*e)) return running;
  if ((e->op == Op::max || e->op == Op::min) && reads_carried(e)) return extreme_of_carried(*e);
  std::vector<llvm::Value*> args;
  for (const auto& arg : e->args) args.push_back(expression(arg));
  if (e->op == Op::div && divides_by_reciprocal(*e, args[0], args[1])) return quotient(e->type, args[0], args[1]);
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
bool NestCode::reads_carried(const Expr& e) const {
  if (e->op == Op::read) return e->access.id < loop_registers_.size() && loop_registers_[e->access.id];
  return std::any_of(e->args.begin(), e->args.end(), [&](const Expr& arg) { return reads_carried(arg); });
}

/// The greatest or least of some values of which one comes from the last iteration. Extremes have any order in every
/// class: that value is met last, as the second operand, so that neither the others nor the test for a NaN, which is of
/// the first, lie on the chain from iteration to iteration.
llvm::Value* NestCode::extreme_of_carried(const ExprNode& node) {
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

// A guarded value is lazy: what the guard excludes is not read.
llvm::Value* NestCode::guarded(const ExprNode& node, const std::function<llvm::Value*(const Expr&)>& side) {
  const Guard g = fold(node.guard);
  if (const auto known = facts_.decide(g)) return side(node.args[*known ? 0 : 1]);
  if (!integers_.depends_on_lane(g)) {
    llvm::Value* values[2] = {};
    llvm::BasicBlock* ends[2] = {};
    const auto branch_of = [&](int i) {
      values[i] = scalar_.splat(side(node.args[static_cast<size_t>(i)]), lanes_.width);
      ends[i] = b_.GetInsertBlock();
    };
    branch(
        integers_.condition(g), [&] { branch_of(0); }, [&] { branch_of(1); }, weights(share_of(&node)));
    llvm::PHINode* phi = llvm::PHINode::Create(values[0]->getType(), 2, "", b_.GetInsertBlock()->begin());
    for (int i = 0; i < 2; ++i) phi->addIncoming(values[i], ends[i]);
    return phi;
  }
  llvm::Value* chosen = scalar_.splat(
      integers_.condition(g), lanes_.width);  // what is known of some parts may leave nothing of the lanes in it
  const Lanes outer = lanes_;
  const auto saved = loads_.all();
  llvm::Value* mask = masks_.both_masks(outer.mask, chosen);
  masks_.guard_by(mask, integers_.condition_of_all_lanes(g, outer.may_read));
  llvm::Value* yes = side(node.args[0]);
  loads_.restore(saved);
  masks_.guard_by(masks_.both_masks(outer.mask, b_.CreateNot(chosen)), outer.may_read);
  llvm::Value* no = side(node.args[1]);
  loads_.restore(saved);
  masks_.set(outer);
  return b_.CreateSelect(chosen, scalar_.splat(yes, lanes_.width), scalar_.splat(no, lanes_.width));
}

}  // namespace polyweft::targets
