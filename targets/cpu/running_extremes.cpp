// a > b ? a : b is one operation: b where one of both is no number. So a running maximum may forget a NaN, and what it
// then holds does not matter. A mask beside it, and-ed with "x is a number" (a comparison under a mask does both), says
// which lanes have forgotten none; the others are NaN after the loop, as `maximum` has it. Which zero is kept where
// both are zeros is not said, so only maxima whose zeros have no sign are changed.
#include "targets/cpu/running_extremes.h"

#include <llvm/IR/IntrinsicInst.h>

#include <optional>
#include <vector>

#include "targets/common/instruction_hooks.h"
#include "targets/cpu/moving_loop.h"

namespace polyweft::targets {
namespace {

constexpr size_t kMostMasks = 6;  // of seven that can mask an operation

llvm::IntrinsicInst* extreme(llvm::Value* value) {
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(value);
  if (!call || !call->hasNoSignedZeros()) return nullptr;
  const auto id = call->getIntrinsicID();
  return id == llvm::Intrinsic::maximum || id == llvm::Intrinsic::minimum ? call : nullptr;
}

bool fits(const llvm::Type* of, const InstructionCapabilities& can) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(of);
  if (!type || (!type->getElementType()->isFloatTy() && !type->getElementType()->isDoubleTy())) return false;
  const uint64_t bits = type->getPrimitiveSizeInBits().getFixedValue();
  return llvm::isPowerOf2_64(bits) && bits >= static_cast<uint64_t>(can.least_masked_bits) &&
         bits <= static_cast<uint64_t>(can.vector_bits);
}

/// What a loop of one block folds: phi, then one extreme after the other, each used by the next one alone; the last one
/// by the phi and after the loop.
struct Chain {
  llvm::PHINode* phi = nullptr;
  std::vector<llvm::IntrinsicInst*> folds;
  llvm::IntrinsicInst* last() const { return folds.back(); }
};

class ExtremesLoop : MovingLoop {
 public:
  ExtremesLoop(llvm::BasicBlock& block, const InstructionCapabilities& can) : MovingLoop(block), can_(can) {}

  bool change() {
    if (can_.least_masked_bits == 0 || !is_loop()) return false;
    std::vector<Chain> chains;
    for (llvm::PHINode& phi : block_.phis()) {
      if (!fits(phi.getType(), can_)) continue;
      if (auto chain = chain_of(phi); chain && chains.size() < kMostMasks) chains.push_back(std::move(*chain));
    }
    if (chains.empty()) return false;
    llvm::BasicBlock& after = leave();
    for (const Chain& chain : chains) change(chain, after);
    return true;
  }

 private:
  std::optional<Chain> chain_of(llvm::PHINode& phi) const {
    Chain out{&phi, {}};
    llvm::Value* end = phi.getIncomingValueForBlock(&block_);
    for (llvm::Value* at = &phi; at != end;) {
      if (!at->hasOneUse()) return std::nullopt;
      llvm::IntrinsicInst* next = extreme(*at->user_begin());
      if (!next || next->getParent() != &block_ ||
          (!out.folds.empty() && next->getIntrinsicID() != out.last()->getIntrinsicID()))
        return std::nullopt;
      out.folds.push_back(next);
      at = next;
    }
    if (out.folds.empty()) return std::nullopt;
    for (const llvm::User* user : end->users()) {
      const auto* i = llvm::cast<llvm::Instruction>(user);
      if (i != &phi && !is_outside(i)) return std::nullopt;
    }
    return out;
  }

  /// A block of its own between the loop and what comes after it.
  llvm::BasicBlock& leave() {
    auto* branch = llvm::cast<llvm::BranchInst>(block_.getTerminator());
    llvm::BasicBlock& exit = *branch->getSuccessor(branch->getSuccessor(0) == &block_ ? 1 : 0);
    auto* between = llvm::BasicBlock::Create(block_.getContext(), "extremes", block_.getParent(), &exit);
    llvm::BranchInst::Create(&exit, between);
    branch->replaceSuccessorWith(&exit, between);
    exit.replacePhiUsesWith(&block_, between);
    return *between;
  }

  void change(const Chain& chain, llvm::BasicBlock& after) const {
    llvm::Type* type = chain.phi->getType();
    llvm::IRBuilder<> b(entry_->getTerminator());
    llvm::Value* first = chain.phi->getIncomingValueForBlock(entry_);
    llvm::Value* mask = b.CreateFCmpORD(first, first);
    b.SetInsertPoint(chain.phi);
    auto* are_numbers = b.CreatePHI(mask->getType(), 2);
    are_numbers->addIncoming(mask, entry_);
    mask = are_numbers;
    llvm::Value* kept = chain.phi;
    for (llvm::IntrinsicInst* fold : chain.folds) {
      llvm::Value* x = fold->getArgOperand(fold->getArgOperand(0) == kept ? 1 : 0);
      b.SetInsertPoint(fold);
      mask = b.CreateAnd(b.CreateFCmpORD(x, x), mask);
      const bool is_maximum = fold->getIntrinsicID() == llvm::Intrinsic::maximum;
      llvm::Value *left = fold->getArgOperand(0), *right = fold->getArgOperand(1);
      llvm::Value* plain =
          b.CreateSelect(is_maximum ? b.CreateFCmpOGT(left, right) : b.CreateFCmpOLT(left, right), left, right);
      if (fold == chain.last()) {
        b.SetInsertPoint(after.getTerminator());
        llvm::Value* whole = b.CreateSelect(mask, plain, llvm::ConstantFP::getNaN(type));
        fold->replaceUsesWithIf(whole, [&](const llvm::Use& use) { return use.getUser() != chain.phi; });
      }
      fold->replaceAllUsesWith(plain);
      fold->eraseFromParent();
      kept = plain;
    }
    are_numbers->addIncoming(mask, &block_);
  }

  const InstructionCapabilities& can_;
};

}  // namespace

llvm::FunctionPass* running_extremes(const InstructionCapabilities& can) {
  return new LoopPass<ExtremesLoop, InstructionCapabilities>(can);
}

}  // namespace polyweft::targets
