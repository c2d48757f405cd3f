#include "targets/cpu/trip_counts.h"

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace polyweft::targets {
namespace {

using CountValue = std::optional<double>;

class TripCounts {
 public:
  explicit TripCounts(llvm::ScalarEvolution& evolution) : evolution_(evolution) {}

  void tell(llvm::Loop& loop) {
    for (llvm::Loop* inner : loop) tell(*inner);
    llvm::BasicBlock* exiting = loop.getExitingBlock();  // in an unrolled loop of an odd count it is not the last block
    auto* branch = exiting ? llvm::dyn_cast<llvm::BranchInst>(exiting->getTerminator()) : nullptr;
    if (!branch || !branch->isConditional()) return;
    const CountValue repeated = of(evolution_.getExitCount(&loop, exiting));
    if (!repeated) return;
    constexpr double kOf = 1 << 20;
    const double share = std::max(0.0, *repeated) / (1 + std::max(0.0, *repeated));
    const auto again = static_cast<uint32_t>(share * kOf), leaves = static_cast<uint32_t>(kOf) - again;
    const bool is_first = loop.contains(branch->getSuccessor(0));
    llvm::MDBuilder builder(branch->getContext());
    branch->setMetadata(llvm::LLVMContext::MD_prof, is_first ? builder.createBranchWeights(again, leaves)
                                                             : builder.createBranchWeights(leaves, again));
  }

 private:
  CountValue of(const llvm::SCEV* e) {
    if (const auto* constant = llvm::dyn_cast<llvm::SCEVConstant>(e)) return constant->getAPInt().signedRoundToDouble();
    if (const auto* cast = llvm::dyn_cast<llvm::SCEVCastExpr>(e)) return of(cast->getOperand());
    if (const auto* recurrence = llvm::dyn_cast<llvm::SCEVAddRecExpr>(e)) return middle(*recurrence);
    if (const auto* quotient = llvm::dyn_cast<llvm::SCEVUDivExpr>(e)) {
      const CountValue a = of(quotient->getLHS()), b = of(quotient->getRHS());
      return a && b && *b != 0 ? CountValue(std::floor(*a / *b)) : std::nullopt;
    }
    const auto* terms = llvm::dyn_cast<llvm::SCEVNAryExpr>(e);
    if (!terms) return std::nullopt;
    CountValue out;
    for (const llvm::SCEV* operand : terms->operands()) {
      const CountValue next = of(operand);
      if (!next) return std::nullopt;
      out = out ? joined(*e, *out, *next) : next;
      if (!out) return std::nullopt;
    }
    return out;
  }
  static CountValue joined(const llvm::SCEV& e, double a, double b) {
    switch (e.getSCEVType()) {
      case llvm::scAddExpr:
        return a + b;
      case llvm::scMulExpr:
        return a * b;
      case llvm::scSMaxExpr:
      case llvm::scUMaxExpr:
        return std::max(a, b);
      case llvm::scSMinExpr:
      case llvm::scUMinExpr:
      case llvm::scSequentialUMinExpr:
        return std::min(a, b);
      default:
        return std::nullopt;
    }
  }
  CountValue middle(const llvm::SCEVAddRecExpr& e) {
    if (!e.isAffine()) return std::nullopt;
    const CountValue start = of(e.getStart()), step = of(e.getStepRecurrence(evolution_)),
                     repeated = of(evolution_.getBackedgeTakenCount(e.getLoop()));
    return start && step && repeated ? CountValue(*start + *step * *repeated / 2) : std::nullopt;
  }

  llvm::ScalarEvolution& evolution_;
};

}  // namespace

void tell_trip_counts(llvm::Module& module) {
  llvm::TargetLibraryInfoImpl known(module.getTargetTriple());
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    llvm::TargetLibraryInfo library(known, &function);
    llvm::AssumptionCache assumptions(function);
    llvm::DominatorTree dominators(function);
    llvm::LoopInfo loops(dominators);
    llvm::ScalarEvolution evolution(function, library, assumptions, dominators, loops);
    TripCounts counts(evolution);
    for (llvm::Loop* loop : loops) counts.tell(*loop);
  }
}

}  // namespace polyweft::targets
