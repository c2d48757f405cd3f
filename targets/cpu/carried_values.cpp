// Two values are one iteration apart where they are loads from places that lie a step of the loop apart and nothing
// writes there meanwhile, or the same operation on values that are one iteration apart or that the loop does not
// change. The later one is then, bit for bit, what the earlier one will be. Bits are what counts: lanes that nobody
// uses now are those of the next block.
#include "targets/cpu/carried_values.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "targets/cpu/llvm_queries.h"
#include "targets/cpu/moving_loop.h"

namespace polyweft::targets {
namespace {

constexpr size_t kMostCarried = 4;      ///< vectors in registers from one iteration to the next
constexpr size_t kLeastOperations = 2;  ///< that each of them saves

/// Where it writes; null where that is not one place.
llvm::Value* stored_at(const llvm::Instruction& store) {
  if (const auto* plain = llvm::dyn_cast<llvm::StoreInst>(&store))
    return const_cast<llvm::Value*>(plain->getPointerOperand());
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&store);
  return call && call->getIntrinsicID() == llvm::Intrinsic::masked_store ? call->getArgOperand(1) : nullptr;
}

/// Does the code name them as memory of two buffers?
bool are_apart_by_name(const llvm::Instruction& load, const llvm::Instruction& store) {
  const llvm::MDNode *others = load.getMetadata(llvm::LLVMContext::MD_noalias),
                     *own = store.getMetadata(llvm::LLVMContext::MD_alias_scope);
  if (!others || !own || own->getNumOperands() == 0) return false;
  return std::all_of(own->op_begin(), own->op_end(), [&](const llvm::MDOperand& scope) {
    return std::find(others->op_begin(), others->op_end(), scope) != others->op_end();
  });
}

class CarriedLoop : MovingLoop {
 public:
  using MovingLoop::MovingLoop;

  bool change() {
    if (!is_loop() || !read()) return false;
    pair_loads();
    if (later_.empty()) return false;
    pair_operations();
    std::vector<llvm::Instruction*> carried = worth_carrying();
    if (carried.empty()) return false;
    carry(carried);
    return true;
  }

 private:
  /// All that writes memory.
  bool read() {
    for (llvm::Instruction& i : block_) {
      if (i.isVolatile() || i.isAtomic()) return false;
      if (i.mayWriteToMemory() && !is_prefetch(i)) stores_.push_back(&i);
    }
    return true;
  }

  /// The memory that an address is part of.
  const llvm::Value* object_of(llvm::Value* pointer) const {
    const llvm::Value* object = llvm::getUnderlyingObject(pointer);
    const auto* phi = llvm::dyn_cast<llvm::PHINode>(object);
    return phi && phi->getParent() == &block_ ? llvm::getUnderlyingObject(phi->getIncomingValueForBlock(entry_))
                                              : object;
  }

  /// Is what is stored never what is loaded?
  bool are_apart(llvm::LoadInst& load, const llvm::Instruction& store) const {
    if (are_apart_by_name(load, store)) return true;
    llvm::Value* at = stored_at(store);
    if (!at) return false;
    const llvm::Value *from = object_of(load.getPointerOperand()), *to = object_of(at);
    return from != to && llvm::isIdentifiedObject(from) && llvm::isIdentifiedObject(to);
  }

  /// Loads of whole vectors that nothing in the loop writes, each with the one a step further on.
  void pair_loads() {
    std::map<llvm::Value*, std::map<int64_t, llvm::LoadInst*>> loads;
    std::vector<std::pair<llvm::LoadInst*, Place>> all;
    for (llvm::Instruction& i : block_) {
      auto* load = llvm::dyn_cast<llvm::LoadInst>(&i);
      if (!load || !load->getType()->isVectorTy()) continue;
      if (!std::all_of(stores_.begin(), stores_.end(),
                       [&](const llvm::Instruction* store) { return are_apart(*load, *store); }))
        continue;
      const auto place = place_of(load->getPointerOperand());
      if (!place) continue;
      loads[place->base].try_emplace(place->offset, load);
      all.emplace_back(load, *place);
    }
    for (const auto& [load, place] : all) {
      const auto& near = loads[place.base];
      const auto further = near.find(place.offset + place.step);
      if (further != near.end() && further->second->getType() == load->getType()) later_[load] = further->second;
    }
  }

  /// What this value is in the next iteration, where some value is that now. Null elsewhere.
  llvm::Value* later(llvm::Value* value) const {
    if (is_outside(value)) return value;
    const auto at = later_.find(llvm::cast<llvm::Instruction>(value));
    return at == later_.end() ? nullptr : at->second;
  }

  static bool is_operation(const llvm::Instruction& i) {
    return llvm::isa<llvm::BinaryOperator>(i) && i.getType()->isVectorTy();
  }

  void pair_operations() {
    for (llvm::Instruction& i : block_) {
      if (!is_operation(i)) continue;
      llvm::Value* operands[2] = {later(i.getOperand(0)), later(i.getOperand(1))};
      if (!operands[0] || !operands[1] || (operands[0] == i.getOperand(0) && operands[1] == i.getOperand(1))) continue;
      llvm::Value* inside = is_outside(operands[0]) ? operands[1] : operands[0];
      for (llvm::User* user : inside->users()) {
        auto* other = llvm::dyn_cast<llvm::Instruction>(user);
        if (other && other->getParent() == &block_ && other->isSameOperationAs(&i) &&
            other->getOperand(0) == operands[0] && other->getOperand(1) == operands[1] &&
            other->hasSameSubclassOptionalData(&i)) {
          later_[&i] = other;
          break;
        }
      }
    }
  }

  /// Operations that nothing needs where these values are given.
  size_t saved_by(const std::set<llvm::Instruction*>& given, std::vector<llvm::Instruction*>* dead = nullptr) const {
    std::set<llvm::Instruction*> gone;
    for (auto i = block_.rbegin(); i != block_.rend(); ++i)
      if (is_operation(*i) && std::all_of(i->user_begin(), i->user_end(), [&](llvm::User* user) {
            return gone.contains(llvm::dyn_cast<llvm::Instruction>(user));
          }))
        gone.insert(&*i);
      else if (given.contains(&*i))
        gone.insert(&*i);
    if (dead)
      for (auto i = block_.rbegin(); i != block_.rend(); ++i)
        if (gone.contains(&*i)) dead->push_back(&*i);
    return gone.size();
  }

  /// Values that something uses beside what is itself one iteration ahead of another value.
  std::vector<llvm::Instruction*> worth_carrying() const {
    std::vector<llvm::Instruction*> out;
    for (llvm::Instruction& i : block_) {
      const auto at = later_.find(&i);
      if (!is_operation(i) || at == later_.end() || at->second == &i) continue;
      const bool is_last = std::any_of(i.user_begin(), i.user_end(), [&](llvm::User* user) {
        return !later_.contains(llvm::dyn_cast<llvm::Instruction>(user));
      });
      if (is_last) out.push_back(&i);
    }
    if (out.size() > kMostCarried || saved_by({out.begin(), out.end()}) < kLeastOperations * out.size()) return {};
    return out;
  }

  llvm::Value* first_of(llvm::IRBuilder<>& b, llvm::Value* value) {
    if (is_outside(value)) return value;
    auto* i = llvm::cast<llvm::Instruction>(value);
    if (const auto known = first_.find(i); known != first_.end()) return known->second;
    llvm::Instruction* copy = i->clone();
    if (llvm::isa<llvm::LoadInst>(i)) {
      copy->setOperand(0, first_address(b, *place_of(i->getOperand(0))));
    } else {
      for (unsigned k = 0; k < i->getNumOperands(); ++k) copy->setOperand(k, first_of(b, i->getOperand(k)));
    }
    return first_[i] = b.Insert(copy);
  }

  void carry(const std::vector<llvm::Instruction*>& carried) {
    enter();
    std::vector<llvm::Instruction*> dead;
    std::vector<llvm::PHINode*> phis;
    llvm::IRBuilder<> b(entry_->getTerminator());
    for (llvm::Instruction* i : carried) {
      auto* phi = llvm::PHINode::Create(i->getType(), 2, "", block_.begin());
      phi->addIncoming(first_of(b, i), entry_);
      phis.push_back(phi);
    }
    for (size_t k = 0; k < carried.size(); ++k) {
      phis[k]->addIncoming(later_.at(carried[k]), &block_);
      carried[k]->replaceAllUsesWith(phis[k]);
    }
    saved_by({}, &dead);
    for (llvm::Instruction* i : dead) i->eraseFromParent();
  }

  std::vector<llvm::Instruction*> stores_;
  std::map<llvm::Instruction*, llvm::Instruction*> later_;  ///< by a value: the one that it will be
  std::map<llvm::Instruction*, llvm::Value*> first_;        ///< what it is in the first iteration
};

}  // namespace

llvm::FunctionPass* values_carried_between_iterations() {
  return new LoopPass<CarriedLoop>;
}

}  // namespace polyweft::targets
