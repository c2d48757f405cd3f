#include "targets/common/loops/branches.h"

#include <algorithm>

namespace polyweft::targets {

void Branches::branch(llvm::Value* condition, const std::function<void()>& then, const std::function<void()>& otherwise,
                      llvm::MDNode* weights) {
  auto& context = module_.getContext();
  llvm::BasicBlock* yes = llvm::BasicBlock::Create(context, "then", function_);
  llvm::BasicBlock* no = llvm::BasicBlock::Create(context, "else", function_);
  llvm::BasicBlock* join = llvm::BasicBlock::Create(context, "join", function_);
  strided_lanes_.write_all_waiting();
  b_.CreateCondBr(condition, yes, no, weights);
  const Registers::File before = registers_.file();
  const auto integers = integers_.known();
  const auto loads = loads_.all();
  b_.SetInsertPoint(yes);
  then();
  strided_lanes_.write_all_waiting();
  llvm::BasicBlock* yes_end = b_.GetInsertBlock();
  b_.CreateBr(join);
  const Registers::File after_yes = registers_.file();
  registers_.restore(before);
  integers_.restore(integers);
  loads_.restore(loads);
  b_.SetInsertPoint(no);
  otherwise();
  strided_lanes_.write_all_waiting();
  llvm::BasicBlock* no_end = b_.GetInsertBlock();
  b_.CreateBr(join);
  const Registers::File after_no = registers_.file();
  b_.SetInsertPoint(join);
  registers_.merge_registers(after_yes, yes_end, after_no, no_end);
  integers_.restore(integers);
  loads_.clear();
}

llvm::Value* Branches::guarded(const ExprNode& node, const std::function<llvm::Value*(const Expr&)>& side) {
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

llvm::MDNode* Branches::weights(std::optional<double> taken) const {
  constexpr double kOf = 1 << 20;
  if (!taken) return nullptr;
  const auto yes = static_cast<uint32_t>(std::clamp(*taken, 0.0, 1.0) * kOf);
  return llvm::MDBuilder(b_.getContext()).createBranchWeights(yes, static_cast<uint32_t>(kOf) - yes);
}

std::optional<double> Branches::share_of(const void* condition) const {
  if (!frequencies_) return std::nullopt;
  const auto found = frequencies_->holds.find(condition);
  return found == frequencies_->holds.end() ? std::nullopt : std::optional(found->second);
}

ir::LoopFrequency Branches::frequency_of(const Loop& loop) const {
  const auto found = frequencies_->loops.find(loop.var);
  return found == frequencies_->loops.end() ? ir::LoopFrequency{} : found->second;
}

}  // namespace polyweft::targets
