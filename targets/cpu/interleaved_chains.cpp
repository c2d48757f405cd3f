// A row of seidel's sweep is eight sums of nine ordered terms and an exact quotient each, 50 cycles long: emitted one
// after the other, five of them are all that waits in a scheduler of some 100 operations, which makes 10 cycles a
// vector whatever the ports could do. In the order of how far each operation is from the end of its chain the same
// operation of all chains comes next, and what each waits for is made eight operations before.
#include "targets/cpu/interleaved_chains.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/MemoryLocation.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Pass.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "targets/cpu/llvm_queries.h"

namespace polyweft::targets {
namespace {

constexpr size_t kMostBlockInstructions = 1500, kMostReorderedPairs = 20000;
constexpr int kLongChain = 9;     ///< operations of 4 cycles; shorter chains overlap in any processor's window
constexpr size_t kMostLive = 27;  ///< vectors, of 32 registers; constants take the others

/// One instruction, what must come before it, and how far it is from the end.
struct ChainStep {
  llvm::Instruction* instruction = nullptr;
  std::vector<size_t> before;
  int height = 0;          ///< operations from here to the end of the longest chain
  size_t first_store = 0;  ///< number of the first store that needs it
};

/// Loads and shuffles come just before the operation that needs them.
int length(const llvm::Instruction& i) {
  return i.getType()->isFPOrFPVectorTy() && (i.isBinaryOp() || llvm::isa<llvm::IntrinsicInst>(i)) ? 1 : 0;
}

class PairBlock {
 public:
  PairBlock(llvm::BasicBlock& block, llvm::AAResults& aliases) : block_(block), aliases_(aliases) {}

  bool reorder() {
    if (!read()) return false;
    set_heights();
    int longest = 0;
    for (const ChainStep& step : steps_) longest = std::max(longest, step.height);
    if (longest < kLongChain) return false;
    for (size_t group = stores_.size(); group >= 2; group = (group + 1) / 2) {
      const std::vector<size_t> order = order_of(group);
      if (most_live(order) <= kMostLive) return move(order), true;
      if (group == 2) break;
    }
    return false;
  }

 private:
  /// False where something else than plain loads and stores touches memory.
  bool read() {
    std::map<const llvm::Instruction*, size_t> number;
    std::vector<size_t> loads;
    if (block_.size() > kMostBlockInstructions) return false;
    for (llvm::Instruction& i : block_) {
      if (llvm::isa<llvm::PHINode>(i) || i.isTerminator()) continue;
      const size_t at = steps_.size();
      ChainStep step{&i, {}};
      for (const llvm::Value* operand : i.operands())
        if (const auto it = number.find(llvm::dyn_cast<llvm::Instruction>(operand)); it != number.end())
          step.before.push_back(it->second);
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&i)) {
        if (!store->isSimple() || !store->getValueOperand()->getType()->isVectorTy()) return false;
        for (size_t other : loads)
          if (may_meet(*store, *steps_[other].instruction)) step.before.push_back(other);
        for (size_t other : stores_)
          if (may_meet(*store, *steps_[other].instruction)) step.before.push_back(other);
        stores_.push_back(at);
      } else if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&i)) {
        if (!load->isSimple()) return false;
        for (size_t store : stores_)
          if (may_meet(*llvm::cast<llvm::StoreInst>(steps_[store].instruction), i)) step.before.push_back(store);
        loads.push_back(at);
      } else if (i.mayReadOrWriteMemory() && !is_prefetch(i)) {
        return false;
      }
      if (loads.size() * stores_.size() > kMostReorderedPairs) return false;
      number[&i] = at;
      steps_.push_back(std::move(step));
    }
    return stores_.size() >= 2;
  }

  bool may_meet(llvm::StoreInst& store, llvm::Instruction& other) {
    return !aliases_.isNoAlias(llvm::MemoryLocation::get(&store), llvm::MemoryLocation::get(&other));
  }

  void set_heights() {
    for (ChainStep& step : steps_) step.height = length(*step.instruction), step.first_store = stores_.size();
    for (size_t k = 0; k < stores_.size(); ++k) steps_[stores_[k]].first_store = k;
    for (size_t at = steps_.size(); at-- > 0;)
      for (size_t before : steps_[at].before) {
        ChainStep& other = steps_[before];
        other.height = std::max(other.height, length(*other.instruction) + steps_[at].height);
        other.first_store = std::min(other.first_store, steps_[at].first_store);
      }
  }

  /// Chains of `group` stores interleaved, then those of the next. What comes before another is higher and needed by
  /// the same store or an earlier one.
  std::vector<size_t> order_of(size_t group) const {
    std::vector<size_t> order(steps_.size());
    for (size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const size_t in_a = steps_[a].first_store / group, in_b = steps_[b].first_store / group;
      return in_a != in_b ? in_a < in_b : steps_[a].height > steps_[b].height;
    });
    return order;
  }

  /// Vectors that are held at once; a load that one operation needs is its operand in memory.
  size_t most_live(const std::vector<size_t>& order) const {
    std::vector<size_t> place(steps_.size()), last(steps_.size());
    for (size_t k = 0; k < order.size(); ++k) place[order[k]] = k;
    std::set<const llvm::Value*> from_outside;
    for (size_t at = 0; at < steps_.size(); ++at) {
      last[at] = place[at];
      for (const llvm::Value* operand : steps_[at].instruction->operands())
        if (operand->getType()->isVectorTy() && !llvm::isa<llvm::Constant>(operand)) from_outside.insert(operand);
    }
    for (size_t at = 0; at < steps_.size(); ++at)
      for (size_t before : steps_[at].before) last[before] = std::max(last[before], place[at]);
    std::vector<int> change(order.size() + 1);
    for (size_t at = 0; at < steps_.size(); ++at) {
      const llvm::Instruction& i = *steps_[at].instruction;
      from_outside.erase(&i);
      const bool is_operand = llvm::isa<llvm::LoadInst>(i) && i.hasOneUse();
      if (!i.getType()->isVectorTy() || i.getType()->getScalarSizeInBits() == 1 || is_operand) continue;
      ++change[place[at]];
      --change[last[at]];
    }
    int live = static_cast<int>(from_outside.size()), most = 0;
    for (int by : change) most = std::max(most, live += by);
    return static_cast<size_t>(most);
  }

  void move(const std::vector<size_t>& order) {
    llvm::Instruction* end = block_.getTerminator();
    for (size_t at : order) steps_[at].instruction->moveBefore(end->getIterator());
  }

  llvm::BasicBlock& block_;
  llvm::AAResults& aliases_;
  std::vector<ChainStep> steps_;
  std::vector<size_t> stores_;
};

class FreeForm final : public llvm::FunctionPass {
 public:
  static char ID;
  FreeForm() : FunctionPass(ID) {}
  bool runOnFunction(llvm::Function& function) override {
    auto& aliases = getAnalysis<llvm::AAResultsWrapperPass>().getAAResults();
    bool changed = false;
    for (llvm::BasicBlock& block : function) changed |= PairBlock(block, aliases).reorder();
    return changed;
  }
  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.addRequired<llvm::AAResultsWrapperPass>();
    usage.setPreservesCFG();
  }
};
char FreeForm::ID = 0;

}  // namespace

llvm::FunctionPass* interleaved_chains() {
  return new FreeForm;
}

}  // namespace polyweft::targets
