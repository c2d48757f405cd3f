// A loop of a register block has, beside its products and loads, a counter, a branch and an addition for each address:
// 5 of 40 to 50 instructions. Alone on its core it hides them behind the ports of the products; beside another thread,
// which takes every other turn of the front end, it does not (a tenth of the time).
#include "targets/cpu/unroll_short_loops.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <vector>

#include "targets/common/instruction_hooks.h"
#include "targets/cpu/llvm_queries.h"
#include "targets/cpu/moving_loop.h"

namespace polyweft::targets {
namespace {

constexpr std::array<int64_t, 3> kTimes = {4, 3, 2};  ///< iterations that become one, the best first
constexpr size_t kMostCopiedInstructions = 640;       ///< of LLVM's, in all of them
constexpr size_t kLeastSums = 4;  ///< vectors in registers: a loop with fewer waits for its sums anyway
constexpr int64_t kLine = 64;

class ManyIterations : MovingLoop {
 public:
  ManyIterations(llvm::BasicBlock& block, const InstructionHooks& instructions)
      : MovingLoop(block), instructions_(instructions) {}

  bool change() {
    if (!is_loop() || !only_adds_to_sums()) return false;
    const auto trips = count();
    if (!trips) return false;
    const size_t size = static_cast<size_t>(std::distance(block_.getFirstNonPHIIt(), block_.end()));
    for (int64_t times : kTimes) {
      if (*trips % times != 0 || *trips == times || size * static_cast<size_t>(times) > kMostCopiedInstructions)
        continue;
      repeat(times);
      return true;
    }
    return false;
  }

 private:
  /// Nothing is stored, enough vectors wait for the next iteration, and nobody asks later for what the last iteration
  /// began with.
  bool only_adds_to_sums() {
    size_t sums = 0;
    for (const llvm::Instruction& i : block_) {
      if (llvm::isa<llvm::PHINode>(i)) {
        if (i.isUsedOutsideOfBlock(&block_)) return false;
        sums += i.getType()->isVectorTy() ? 1 : 0;
      } else if (is_prefetch(i)) {
        continue;
      } else if (i.isVolatile() || i.isAtomic() || i.mayHaveSideEffects() ||
                 (llvm::isa<llvm::CallBase>(i) && !llvm::isa<llvm::IntrinsicInst>(i))) {
        return false;
      }
    }
    fills_registers_ = 2 * sums > static_cast<size_t>(instructions_.can().vector_registers);
    return sums >= kLeastSums;
  }

  /// How often it runs, where numbers say it. Finds the test too.
  std::optional<int64_t> count() {
    auto* branch = llvm::cast<llvm::BranchInst>(block_.getTerminator());
    test_ = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
    if (!test_ || test_->getParent() != &block_ || !test_->hasOneUse() || branch->getSuccessor(0) != &block_)
      return std::nullopt;
    if (test_->getPredicate() != llvm::CmpInst::ICMP_SLT && test_->getPredicate() != llvm::CmpInst::ICMP_ULT)
      return std::nullopt;
    const auto* limit = llvm::dyn_cast<llvm::ConstantInt>(test_->getOperand(1));
    const auto* next = llvm::dyn_cast<llvm::BinaryOperator>(test_->getOperand(0));
    if (!limit || !next || limit->getBitWidth() > 64) return std::nullopt;
    counter_ = llvm::dyn_cast<llvm::PHINode>(next->getOperand(0));
    if (!counter_ || counter_->getParent() != &block_ || counter_->getIncomingValueForBlock(&block_) != next)
      return std::nullopt;
    const auto* first = llvm::dyn_cast<llvm::ConstantInt>(counter_->getIncomingValueForBlock(entry_));
    const auto by = moved(*counter_);
    if (!first || !by || *by <= 0) return std::nullopt;
    const int64_t length = limit->getSExtValue() - first->getSExtValue();
    if (first->getSExtValue() < 0 || length <= 0) return std::nullopt;
    return (length + *by - 1) / *by;
  }

  /// What a phi that moves by a fixed amount is after so many iterations; null for others.
  llvm::Value* after(llvm::IRBuilder<>& b, llvm::PHINode& phi, int64_t iterations) {
    if (phi.getType()->isPointerTy()) {
      const auto place = place_of(&phi);
      if (!place || place->base != &phi) return nullptr;
      return b.CreateGEP(b.getInt8Ty(), &phi, b.getInt64(static_cast<uint64_t>(iterations * place->step)));
    }
    if (!phi.getType()->isIntegerTy()) return nullptr;
    const auto by = moved(phi);
    return by ? b.CreateAdd(&phi, llvm::ConstantInt::getSigned(phi.getType(), iterations * *by)) : nullptr;
  }

  /// A sum as the next iteration finds it. Of integers LLVM's machine combiner would add the products of two iterations
  /// first, which takes another register for each sum: a block of 6 x 4 vectors of 32 registers spilled 25.
  llvm::Value* handed_on(llvm::IRBuilder<>& b, llvm::Value* sum) const {
    const bool is_combined = sum->getType()->isVectorTy() && sum->getType()->isIntOrIntVectorTy();
    return fills_registers_ && is_combined ? instructions_.opaque(b, sum) : sum;
  }

  /// Copies of a hint that ask for no line that others have not asked for.
  bool is_asked_for(llvm::Instruction& hint, int64_t iteration) {
    const auto place = place_of(llvm::cast<llvm::CallBase>(hint).getArgOperand(0));
    if (!place) return false;
    const int64_t step = std::abs(place->step);
    int64_t& last = hinted_[&hint];
    if ((iteration + 1 - last) * step <= kLine) return true;
    last = iteration;
    return false;
  }

  void repeat(int64_t times) {
    std::vector<llvm::PHINode*> phis;
    std::vector<llvm::Instruction*> body;
    for (llvm::Instruction& i : block_) {
      if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&i))
        phis.push_back(phi);
      else if (!i.isTerminator() && &i != test_)
        body.push_back(&i);
    }
    llvm::IRBuilder<> b(block_.getTerminator());
    std::map<llvm::Value*, llvm::Value*> now;  // by a value of the first iteration: what it is in the latest one
    const auto value_now = [&](llvm::Value* v) {
      const auto found = now.find(v);
      return found == now.end() ? v : found->second;
    };
    for (int64_t k = 1; k < times; ++k) {
      std::map<llvm::Value*, llvm::Value*> next;
      for (llvm::PHINode* phi : phis) {
        llvm::Value* moved_on = after(b, *phi, k);
        next[phi] = moved_on ? moved_on : handed_on(b, value_now(phi->getIncomingValueForBlock(&block_)));
      }
      now = std::move(next);
      for (llvm::Instruction* i : body) {
        if (is_prefetch(*i) && is_asked_for(*i, k)) continue;
        llvm::Instruction* copy = b.Insert(i->clone());
        for (llvm::Use& use : copy->operands()) use.set(value_now(use.get()));
        now[i] = copy;
      }
    }
    for (llvm::PHINode* phi : phis) {
      llvm::Value* moved_on = after(b, *phi, times);
      last_[phi] = moved_on ? moved_on : value_now(phi->getIncomingValueForBlock(&block_));
    }
    llvm::Value* again = b.CreateICmp(test_->getPredicate(), last_.at(counter_), test_->getOperand(1));
    for (llvm::Instruction* i : body) leave_later(*i, value_now(i));
    for (llvm::PHINode* phi : phis) phi->setIncomingValueForBlock(&block_, last_.at(phi));
    block_.getTerminator()->setOperand(0, again);
    drop_unused();
  }

  /// What comes after the loop wants the last iteration's values.
  void leave_later(llvm::Instruction& first, llvm::Value* last) {
    first.replaceUsesWithIf(last, [&](const llvm::Use& use) {
      return llvm::cast<llvm::Instruction>(use.getUser())->getParent() != &block_;
    });
  }

  void drop_unused() {
    for (bool more = true; more;) {
      more = false;
      for (auto at = block_.rbegin(); at != block_.rend();) {
        llvm::Instruction& i = *at++;
        if (!i.use_empty() || i.isTerminator() || i.mayHaveSideEffects() || is_prefetch(i)) continue;
        i.eraseFromParent();
        more = true;
        break;
      }
    }
  }

  const InstructionHooks& instructions_;
  bool fills_registers_ = false;  ///< the sums leave less than as many registers
  llvm::ICmpInst* test_ = nullptr;
  llvm::PHINode* counter_ = nullptr;
  std::map<const llvm::Instruction*, int64_t> hinted_;  ///< by a hint: the latest iteration whose copy is left
  std::map<llvm::PHINode*, llvm::Value*> last_;
};

}  // namespace

llvm::FunctionPass* unroll_short_loops(const InstructionHooks& instructions) {
  return new LoopPass<ManyIterations, InstructionHooks>(instructions);
}

}  // namespace polyweft::targets
