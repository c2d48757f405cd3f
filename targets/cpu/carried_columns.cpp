// In a sweep whose lanes are rows the three neighbours below are one lane further up in three columns: the column
// furthest ahead is rotated out of two lines now, the nearer ones were by the iterations before. A turn has one port,
// which comparisons and half of the additions want too; a load has two others. A stored vector that the next iteration
// begins with takes some 7 cycles through memory, at the head of the longest chain. The sum of two columns that a later
// one begins with waits in a register for it.
#include "targets/cpu/carried_columns.h"

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "targets/common/instruction_hooks.h"
#include "targets/cpu/llvm_queries.h"
#include "targets/cpu/moving_loop.h"

namespace polyweft::targets {
namespace {

constexpr size_t kMostKept = 8;              ///< vectors held in registers from one iteration to the next
constexpr size_t kMostVectorsOnStack = 128;  ///< vectors
constexpr int64_t kLeastKept = 2;            ///< turns that one store saves

class KeptLoop : MovingLoop {
 public:
  KeptLoop(llvm::BasicBlock& block, const InstructionCapabilities& can)
      : MovingLoop(block), most_sums_(static_cast<size_t>(can.carried_sums)) {}

  bool change() {
    if (!is_loop() || !read()) return false;
    bool changed = keep_turns();
    changed |= keep_sums();
    changed |= keep_stored();
    return changed;
  }

 private:
  /// All of memory that the block writes, and vectors that it loads from places that move on.
  bool read() {
    for (llvm::Instruction& i : block_) {
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&i)) {
        const auto place = place_of(store->getPointerOperand());
        if (!store->isSimple() || !place) return false;
        stores_.push_back({store, *place});
      } else if (i.mayWriteToMemory() && !is_prefetch(i)) {
        return false;
      }
    }
    return true;
  }

  int64_t bytes_of(llvm::Type* type) const {
    return static_cast<int64_t>(layout_.getTypeStoreSize(type).getFixedValue());
  }

  /// Is what lies at `place` in one iteration still the same when `iterations` later ones have run, whatever the order
  /// of loads and stores inside each? Stores to other bases may be anywhere.
  bool stays(const Place& place, int64_t bytes, int64_t iterations, const llvm::StoreInst* but = nullptr) const {
    return std::all_of(stores_.begin(), stores_.end(), [&](const Store& store) {
      if (store.place.base != place.base) return false;
      const int64_t stored = bytes_of(store.instruction->getValueOperand()->getType());
      for (int64_t k = store.instruction == but ? 1 : 0; k <= iterations; ++k) {
        const int64_t at = store.place.offset + k * store.place.step;
        if (at < place.offset + bytes && place.offset < at + stored) return false;
      }
      return true;
    });
  }

  /// Loads at one place of what a store of the iteration before has left there.
  bool keep_stored() {
    std::vector<std::pair<llvm::LoadInst*, const Store*>> kept;
    for (llvm::Instruction& i : block_) {
      auto* load = llvm::dyn_cast<llvm::LoadInst>(&i);
      if (!load || !load->isSimple() || !load->getType()->isVectorTy()) continue;
      const auto place = place_of(load->getPointerOperand());
      if (!place) continue;
      for (const Store& store : stores_) {
        const bool is_same = store.place.base == place->base && store.place.offset == place->offset + place->step &&
                             store.instruction->getValueOperand()->getType() == load->getType();
        if (is_same && !is_outside(store.instruction->getValueOperand()) &&
            stays(store.place, bytes_of(load->getType()), 1, store.instruction))
          kept.emplace_back(load, &store);
      }
    }
    if (kept.empty() || kept.size() > kMostKept) return false;
    enter();
    llvm::IRBuilder<> before(entry_->getTerminator());
    for (const auto& [load, store] : kept) {
      Place place = *place_of(load->getPointerOperand());
      auto* first = llvm::cast<llvm::LoadInst>(load->clone());
      first->setOperand(0, first_address(before, place));
      before.Insert(first);
      auto* phi = llvm::PHINode::Create(load->getType(), 2, "", block_.begin());
      phi->addIncoming(first, entry_);
      phi->addIncoming(store->instruction->getValueOperand(), &block_);
      load->replaceAllUsesWith(phi);
      load->eraseFromParent();
    }
    return true;
  }

  /// Two vectors of memory, added or the like.
  struct Sum {
    llvm::BinaryOperator* made = nullptr;
    llvm::LoadInst* loads[2] = {};
    Place places[2];
  };
  std::optional<Sum> sum_of(llvm::Instruction& i) {
    Sum out;
    out.made = llvm::dyn_cast<llvm::BinaryOperator>(&i);
    if (!out.made || !i.getType()->isVectorTy() || !i.getType()->isFPOrFPVectorTy()) return std::nullopt;
    for (unsigned k = 0; k < 2; ++k) {
      out.loads[k] = llvm::dyn_cast<llvm::LoadInst>(i.getOperand(k));
      if (!out.loads[k] || out.loads[k]->getParent() != &block_ || !out.loads[k]->isSimple()) return std::nullopt;
      const auto place = place_of(out.loads[k]->getPointerOperand());
      if (!place) return std::nullopt;
      out.places[k] = *place;
    }
    return out;
  }

  /// Has `later` in an iteration the operands that `now` had in the one before, whatever is stored between?
  bool hands_on(const Sum& now, const Sum& later) const {
    if (now.made == later.made || now.made->getOpcode() != later.made->getOpcode() ||
        now.made->getType() != later.made->getType() || !now.made->hasSameSubclassOptionalData(later.made))
      return false;
    for (unsigned k = 0; k < 2; ++k) {
      const Place& place = later.places[k];
      if (now.places[k].base != place.base || now.places[k].offset != place.offset + place.step) return false;
      const int64_t bytes = bytes_of(later.made->getType());
      for (const Store& store : stores_) {
        if (store.place.base != place.base) return false;
        const int64_t stored = bytes_of(store.instruction->getValueOperand()->getType());
        const auto meets = [&](int64_t at) { return at < place.offset + bytes && place.offset < at + stored; };
        if (meets(store.place.offset) && store.instruction->comesBefore(later.loads[k])) return false;
        if (meets(store.place.offset - store.place.step) && now.loads[k]->comesBefore(store.instruction)) return false;
      }
    }
    return true;
  }

  /// Sums that another one was an iteration before.
  bool keep_sums() {
    if (most_sums_ == 0) return false;
    std::vector<Sum> sums;
    for (llvm::Instruction& i : block_)
      if (const auto sum = sum_of(i)) sums.push_back(*sum);
    std::vector<std::pair<const Sum*, const Sum*>> kept;
    for (const Sum& later : sums)
      for (const Sum& now : sums)
        if (kept.size() < most_sums_ && hands_on(now, later)) {
          kept.emplace_back(&now, &later);
          break;
        }
    if (kept.empty()) return false;
    enter();
    llvm::IRBuilder<> before(entry_->getTerminator());
    std::vector<llvm::PHINode*> values;
    for (const auto& [now, later] : kept) {
      auto* first = llvm::cast<llvm::BinaryOperator>(later->made->clone());
      for (unsigned k = 0; k < 2; ++k) {
        auto* load = llvm::cast<llvm::LoadInst>(later->loads[k]->clone());
        load->setOperand(0, first_address(before, later->places[k]));
        first->setOperand(k, before.Insert(load));
      }
      before.Insert(first);
      values.push_back(llvm::PHINode::Create(later->made->getType(), 2, "", block_.begin()));
      values.back()->addIncoming(first, entry_);
      values.back()->addIncoming(now->made, &block_);
    }
    for (size_t k = 0; k < kept.size(); ++k)
      kept[k].second->made->replaceAllUsesWith(
          values[k]);  // a sum that is handed on may itself have come from one before
    for (const auto& [now, later] : kept) {
      later->made->eraseFromParent();
      if (later->loads[1] != later->loads[0] && later->loads[1]->use_empty()) later->loads[1]->eraseFromParent();
      if (later->loads[0]->use_empty()) later->loads[0]->eraseFromParent();
    }
    return true;
  }

  /// Two lines rotated into one vector.
  struct Turn {
    llvm::CallInst* call = nullptr;
    Place low, high;
  };
  std::optional<Turn> transposition_of(llvm::Instruction& i) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
    if (!call || !call->isInlineAsm() || call->mayReadOrWriteMemory() || call->arg_size() != 2 ||
        !call->getType()->isVectorTy())
      return std::nullopt;
    Turn out{call, {}, {}};
    for (unsigned k = 0; k < 2; ++k) {
      auto* load = llvm::dyn_cast<llvm::LoadInst>(call->getArgOperand(k));
      if (!load || load->getParent() != &block_ || !load->isSimple() || load->getType() != call->getType())
        return std::nullopt;
      const auto place = place_of(load->getPointerOperand());
      if (!place) return std::nullopt;
      (k == 0 ? out.low : out.high) = *place;
    }
    if (out.low.base != out.high.base) return std::nullopt;
    return out;
  }

  /// Turns of which each is what the next one was an iteration before.
  using Chain = std::vector<Turn>;
  std::vector<Chain> chains() {
    std::map<std::tuple<llvm::Value*, llvm::Value*, int64_t>, Chain> alike;
    for (llvm::Instruction& i : block_)
      if (const auto turn = transposition_of(i))
        alike[{turn->call->getCalledOperand(), turn->low.base, turn->high.offset - turn->low.offset}].push_back(*turn);
    std::vector<Chain> out;
    for (auto& [key, turns] : alike) {
      const int64_t step = turns[0].low.step;
      std::stable_sort(turns.begin(), turns.end(), [&](const Turn& a, const Turn& b) {
        return step > 0 ? a.low.offset < b.low.offset : a.low.offset > b.low.offset;
      });
      std::vector<bool> taken(turns.size(), false);
      for (size_t first = 0; first < turns.size(); ++first) {
        if (taken[first]) continue;
        Chain chain;
        for (size_t k = first; k < turns.size(); ++k)
          if (!taken[k] && turns[k].low.offset == turns[first].low.offset + static_cast<int64_t>(chain.size()) * step)
            chain.push_back(turns[k]), taken[k] = true;
        const auto later = static_cast<int64_t>(chain.size()) - 1;
        const int64_t bytes = bytes_of(chain[0].call->getType());
        if (later >= kLeastKept && stays(chain.back().low, bytes, later) && stays(chain.back().high, bytes, later))
          out.push_back(std::move(chain));
      }
    }
    return out;
  }

  /// Each chain has a slot for each of its turns; the slots change places from one iteration to the next.
  bool keep_turns() {
    std::map<size_t, std::vector<Chain>> by_length;
    size_t vectors = 0;
    for (Chain& chain : chains()) {
      vectors += chain.size();
      by_length[chain.size()].push_back(std::move(chain));
    }
    if (by_length.empty() || vectors > kMostVectorsOnStack) return false;
    enter();
    for (const auto& [length, group] : by_length) keep(group, length);
    return true;
  }

  void keep(const std::vector<Chain>& group, size_t length) {
    llvm::Type* type = group[0][0].call->getType();
    const int64_t bytes = bytes_of(type), apart = bytes * static_cast<int64_t>(group.size());
    const llvm::Align align(static_cast<uint64_t>(bytes));
    llvm::BasicBlock& start = block_.getParent()->getEntryBlock();
    llvm::IRBuilder<> entry(&start, start.begin());
    llvm::AllocaInst* memory =
        entry.CreateAlloca(llvm::ArrayType::get(entry.getInt8Ty(), static_cast<uint64_t>(apart) * length));
    memory->setAlignment(align);
    std::vector<llvm::PHINode*> slots;
    for (size_t k = 0; k < length; ++k)
      slots.push_back(llvm::PHINode::Create(entry.getInt64Ty(), 2, "", block_.begin()));
    for (size_t k = 0; k < length; ++k) {
      slots[k]->addIncoming(entry.getInt64(k * static_cast<uint64_t>(apart)), entry_);
      slots[k]->addIncoming(slots[(k + 1) % length], &block_);
    }
    llvm::IRBuilder<> before(entry_->getTerminator());
    int64_t number = 0;
    for (const Chain& chain : group) {
      const uint64_t at = static_cast<uint64_t>(bytes * number++);
      const auto address = [&](llvm::IRBuilder<>& b, llvm::Value* slot) {
        return b.CreateGEP(b.getInt8Ty(), b.CreateGEP(b.getInt8Ty(), memory, slot), b.getInt64(at));
      };
      for (size_t k = 0; k < length; ++k) {
        llvm::CallInst* call = chain[k].call;
        llvm::IRBuilder<> b(call->getNextNode());
        if (k + 1 == length) {
          b.CreateAlignedStore(call, address(b, slots[k]), align);
          break;
        }
        auto* first = llvm::cast<llvm::CallInst>(call->clone());
        first->setArgOperand(0, before.CreateAlignedLoad(type, first_address(before, chain[k].low), align));
        first->setArgOperand(1, before.CreateAlignedLoad(type, first_address(before, chain[k].high), align));
        before.Insert(first);
        before.CreateAlignedStore(first, address(before, before.getInt64(k * static_cast<uint64_t>(apart))), align);
        call->replaceAllUsesWith(b.CreateAlignedLoad(type, address(b, slots[k]), align));
        for (unsigned operand = 0; operand < 2; ++operand) {
          auto* load = llvm::cast<llvm::LoadInst>(call->getArgOperand(operand));
          call->setArgOperand(operand, llvm::PoisonValue::get(type));
          if (load->use_empty()) load->eraseFromParent();
        }
        call->eraseFromParent();
      }
    }
  }

  struct Store {
    llvm::StoreInst* instruction = nullptr;
    Place place;
  };

  std::vector<Store> stores_;
  size_t most_sums_;
};

}  // namespace

llvm::FunctionPass* values_kept_between_iterations(const InstructionCapabilities& can) {
  return new LoopPass<KeptLoop, InstructionCapabilities>(can);
}

}  // namespace polyweft::targets
