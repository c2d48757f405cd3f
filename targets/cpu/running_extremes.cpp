// a > b ? a : b is one operation: b where one of both is no number. So a running maximum may forget a NaN, and what it then holds does not matter. A mask beside it,
// and-ed with "x is a number" (a comparison under a mask does both), says which lanes have forgotten none; the others are NaN after the loop, as `maximum` has it. Which
// zero is kept where both are zeros is not said, so only maxima whose zeros have no sign are changed.
#include "targets/cpu/running_extremes.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Pass.h>

#include <optional>
#include <vector>

namespace polyweft::targets {
namespace {

constexpr size_t kMostMasks = 6;  // of seven that can mask an operation

llvm::IntrinsicInst* extreme(llvm::Value* value) {
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(value);
  if (!call || !call->hasNoSignedZeros()) return nullptr;
  const auto id = call->getIntrinsicID();
  return id == llvm::Intrinsic::maximum || id == llvm::Intrinsic::minimum ? call : nullptr;
}

bool fits(const llvm::Type* of, bool has_all_widths) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(of);
  if (!type || (!type->getElementType()->isFloatTy() && !type->getElementType()->isDoubleTy())) return false;
  const uint64_t bits = type->getPrimitiveSizeInBits().getFixedValue();
  return bits == 512 || (has_all_widths && (bits == 256 || bits == 128));
}

/// What a loop of one block folds: phi, then one extreme after the other, each used by the next one alone; the last one by the phi and after the loop.
struct Chain {
  llvm::PHINode* phi = nullptr;
  std::vector<llvm::IntrinsicInst*> folds;
  llvm::IntrinsicInst* last() const { return folds.back(); }
};

std::optional<Chain> chain_of(llvm::PHINode& phi, llvm::BasicBlock& loop) {
  Chain out{&phi, {}};
  llvm::Value* end = phi.getIncomingValueForBlock(&loop);
  for (llvm::Value* at = &phi; at != end;) {
    if (!at->hasOneUse()) return std::nullopt;
    llvm::IntrinsicInst* next = extreme(*at->user_begin());
    if (!next || next->getParent() != &loop || (!out.folds.empty() && next->getIntrinsicID() != out.last()->getIntrinsicID())) return std::nullopt;
    out.folds.push_back(next);
    at = next;
  }
  if (out.folds.empty()) return std::nullopt;
  for (const llvm::User* user : end->users()) {
    const auto* i = llvm::cast<llvm::Instruction>(user);
    if (i != &phi && i->getParent() == &loop) return std::nullopt;
  }
  return out;
}

/// A block of its own between the loop and what comes after it.
llvm::BasicBlock* block_after(llvm::BasicBlock& loop, llvm::BasicBlock& exit) {
  auto* between = llvm::BasicBlock::Create(loop.getContext(), "extremes", loop.getParent(), &exit);
  llvm::BranchInst::Create(&exit, between);
  loop.getTerminator()->replaceSuccessorWith(&exit, between);
  exit.replacePhiUsesWith(&loop, between);
  return between;
}

void change(const Chain& chain, llvm::BasicBlock& loop, llvm::BasicBlock& before, llvm::BasicBlock& after) {
  llvm::Type* type = chain.phi->getType();
  llvm::IRBuilder<> b(before.getTerminator());
  llvm::Value* first = chain.phi->getIncomingValueForBlock(&before);
  llvm::Value* mask = b.CreateFCmpORD(first, first);
  b.SetInsertPoint(chain.phi);
  auto* are_numbers = b.CreatePHI(mask->getType(), 2);
  are_numbers->addIncoming(mask, &before);
  mask = are_numbers;
  llvm::Value* kept = chain.phi;
  for (llvm::IntrinsicInst* fold : chain.folds) {
    llvm::Value* x = fold->getArgOperand(fold->getArgOperand(0) == kept ? 1 : 0);
    b.SetInsertPoint(fold);
    mask = b.CreateAnd(b.CreateFCmpORD(x, x), mask);
    const bool is_maximum = fold->getIntrinsicID() == llvm::Intrinsic::maximum;
    llvm::Value *left = fold->getArgOperand(0), *right = fold->getArgOperand(1);
    llvm::Value* plain = b.CreateSelect(is_maximum ? b.CreateFCmpOGT(left, right) : b.CreateFCmpOLT(left, right), left, right);
    if (fold == chain.last()) {
      b.SetInsertPoint(after.getTerminator());
      llvm::Value* whole = b.CreateSelect(mask, plain, llvm::ConstantFP::getNaN(type));
      fold->replaceUsesWithIf(whole, [&](const llvm::Use& use) { return use.getUser() != chain.phi; });
    }
    fold->replaceAllUsesWith(plain);
    fold->eraseFromParent();
    kept = plain;
  }
  are_numbers->addIncoming(mask, &loop);
}

bool change(llvm::BasicBlock& loop, bool has_all_widths) {
  auto* branch = llvm::dyn_cast<llvm::BranchInst>(loop.getTerminator());
  if (!branch || !branch->isConditional() || (branch->getSuccessor(0) == &loop) == (branch->getSuccessor(1) == &loop)) return false;
  llvm::BasicBlock& exit = *branch->getSuccessor(branch->getSuccessor(0) == &loop ? 1 : 0);
  std::vector<Chain> chains;
  llvm::BasicBlock* before = nullptr;
  for (llvm::PHINode& phi : loop.phis()) {
    if (phi.getNumIncomingValues() != 2) return false;
    before = phi.getIncomingBlock(phi.getIncomingBlock(0) == &loop ? 1 : 0);
    if (!fits(phi.getType(), has_all_widths)) continue;
    if (auto chain = chain_of(phi, loop); chain && chains.size() < kMostMasks) chains.push_back(std::move(*chain));
  }
  if (chains.empty()) return false;
  llvm::BasicBlock* after = block_after(loop, exit);
  for (const Chain& chain : chains) change(chain, loop, *before, *after);
  return true;
}

class RunningExtremes final : public llvm::FunctionPass {
 public:
  static char ID;
  RunningExtremes() : FunctionPass(ID) {}
  bool runOnFunction(llvm::Function& function) override {
    const llvm::StringRef features = function.getFnAttribute("target-features").getValueAsString();
    if (!features.contains("+avx512f")) return false;
    bool changed = false;
    std::vector<llvm::BasicBlock*> blocks;
    for (llvm::BasicBlock& block : function) blocks.push_back(&block);
    for (llvm::BasicBlock* block : blocks) changed |= change(*block, features.contains("+avx512vl"));
    return changed;
  }
};
char RunningExtremes::ID = 0;

}  // namespace

llvm::FunctionPass* running_extremes() {
  return new RunningExtremes;
}

}  // namespace polyweft::targets
