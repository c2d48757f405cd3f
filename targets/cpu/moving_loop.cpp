#include "targets/cpu/moving_loop.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

namespace polyweft::targets {
namespace {

constexpr size_t kMostInstructions = 1500;

}  // namespace

MovingLoop::MovingLoop(llvm::BasicBlock& block) : block_(block), layout_(block.getModule()->getDataLayout()) {}

bool MovingLoop::is_loop() {
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block_.getTerminator());
  if (!branch || !branch->isConditional() ||
      (branch->getSuccessor(0) != &block_ && branch->getSuccessor(1) != &block_) || block_.size() > kMostInstructions)
    return false;
  for (llvm::BasicBlock* other : llvm::predecessors(&block_)) {
    if (other == &block_) continue;
    if (entry_) return false;
    entry_ = other;
  }
  return entry_ != nullptr;
}

std::optional<MovingLoop::Place> MovingLoop::place_of(llvm::Value* pointer) {
  Place out;
  llvm::APInt offset(64, 0);
  out.base = pointer->stripAndAccumulateConstantOffsets(layout_, offset, true);
  out.offset = offset.getSExtValue();
  const auto known = steps_.find(out.base);
  const auto step = known != steps_.end() ? known->second : (steps_[out.base] = step_of(out.base));
  if (!step || *step == 0) return std::nullopt;
  out.step = *step;
  return out;
}

std::optional<int64_t> MovingLoop::step_of(llvm::Value* base) const {
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(base); phi && phi->getParent() == &block_) {
    llvm::APInt moved(64, 0);
    const llvm::Value* next =
        phi->getIncomingValueForBlock(&block_)->stripAndAccumulateConstantOffsets(layout_, moved, true);
    if (next == phi) return moved.getSExtValue();
    return std::nullopt;
  }
  const auto* gep = llvm::dyn_cast<llvm::GetElementPtrInst>(base);
  if (!gep || gep->getParent() != &block_ || gep->getNumIndices() != 1 || !is_outside(gep->getPointerOperand()))
    return std::nullopt;
  const auto* phi = llvm::dyn_cast<llvm::PHINode>(gep->getOperand(1));
  if (!phi || phi->getParent() != &block_) return std::nullopt;
  const auto by = moved(*phi);
  if (!by) return std::nullopt;
  return *by * static_cast<int64_t>(layout_.getTypeAllocSize(gep->getSourceElementType()).getFixedValue());
}

std::optional<int64_t> MovingLoop::moved(const llvm::PHINode& phi) {
  const auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(phi.getIncomingValueForBlock(phi.getParent()));
  if (!sum || sum->getOpcode() != llvm::Instruction::Add || sum->getOperand(0) != &phi) return std::nullopt;
  const auto* by = llvm::dyn_cast<llvm::ConstantInt>(sum->getOperand(1));
  return by && by->getBitWidth() <= 64 ? std::optional(by->getSExtValue()) : std::nullopt;
}

bool MovingLoop::is_outside(const llvm::Value* value) const {
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  return !instruction || instruction->getParent() != &block_;
}

llvm::Value* MovingLoop::first_address(llvm::IRBuilder<>& b, const Place& place) {
  llvm::Value* base = place.base;
  if (auto* phi = llvm::dyn_cast<llvm::PHINode>(base)) {
    base = phi->getIncomingValueForBlock(entry_);
  } else {
    auto* copy = llvm::cast<llvm::GetElementPtrInst>(llvm::cast<llvm::Instruction>(base)->clone());
    copy->setOperand(1, llvm::cast<llvm::PHINode>(copy->getOperand(1))->getIncomingValueForBlock(entry_));
    base = b.Insert(copy);
  }
  return b.CreateGEP(b.getInt8Ty(), base, b.getInt64(static_cast<uint64_t>(place.offset)));
}

void MovingLoop::enter() {
  if (is_entered_) return;
  is_entered_ = true;
  auto* entered = llvm::BasicBlock::Create(block_.getContext(), "entered", block_.getParent(), &block_);
  entry_->getTerminator()->replaceSuccessorWith(&block_, entered);
  block_.replacePhiUsesWith(entry_, entered);
  llvm::BranchInst::Create(&block_, entered);
  entry_ = entered;
}

}  // namespace polyweft::targets
