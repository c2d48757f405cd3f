// Bytes and elements of 16 bits have no operation that takes a vector out of two at any place, words of 32 bits have
// one. What begins k elements into a word is the upper part of the words from there and the lower part of the words one
// further: a funnel shift.
#include "targets/cpu/lane_funnels.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Pass.h>

#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "targets/common/instruction_hooks.h"

namespace polyweft::targets {
namespace {

constexpr unsigned kVectorBits = 512, kWordBits = 32, kWords = kVectorBits / kWordBits;

/// Windows out of the same two vectors, in order of the block, each with the element where it begins.
struct Window {
  llvm::ShuffleVectorInst* shuffle = nullptr;
  unsigned first = 0;
};
using Windows = std::vector<Window>;

/// The element from which on the shuffle takes one after the other.
std::optional<unsigned> first_element(const llvm::ShuffleVectorInst& shuffle) {
  const auto mask = shuffle.getShuffleMask();
  std::optional<int> first;
  for (int lane = 0; lane < static_cast<int>(mask.size()); ++lane) {
    if (mask[static_cast<size_t>(lane)] < 0) continue;
    const int at = mask[static_cast<size_t>(lane)] - lane;
    if (at <= 0 || (first && *first != at)) return std::nullopt;
    first = at;
  }
  if (!first) return std::nullopt;
  return static_cast<unsigned>(*first);
}

class Funnels {
 public:
  Funnels(const Windows& windows, unsigned bits) : windows_(windows), bits_(bits) {}

  /// Shuffles take one operation each and one more for all that begin inside words; funnels one each and one for each
  /// word that nothing else wants.
  bool is_cheaper() const {
    std::set<unsigned> aligned = {0, kWords}, wanted;
    bool any = false;
    for (const Window& window : windows_) {
      const unsigned word = window.first * bits_ / kWordBits;
      if (window.first * bits_ % kWordBits == 0) {
        aligned.insert(word);
        continue;
      }
      any = true;
      wanted.insert({word, word + 1});
    }
    size_t more = 0;
    for (unsigned word : wanted) more += !aligned.contains(word);
    return any && more <= 1;
  }

  void write() {
    llvm::ShuffleVectorInst* top = windows_.front().shuffle;
    llvm::IRBuilder<> b(top);
    words_[0] = as_words(b, top->getOperand(0));
    words_[kWords] = as_words(b, top->getOperand(1));
    for (const Window& window : windows_) {
      const unsigned word = window.first * bits_ / kWordBits, by = window.first * bits_ % kWordBits;
      llvm::Value* out = from(b, word);
      if (by != 0) {
        llvm::Type* type = out->getType();
        out = b.CreateIntrinsic(llvm::Intrinsic::fshr, {type},
                                {from(b, word + 1), out, llvm::ConstantInt::get(type, by)});
      }
      window.shuffle->replaceAllUsesWith(b.CreateBitCast(out, window.shuffle->getType()));
    }
    for (const Window& window : windows_) window.shuffle->eraseFromParent();
  }

 private:
  /// A word is nothing where one of its elements is: lanes that nobody uses become something first.
  static llvm::Value* as_words(llvm::IRBuilder<>& b, llvm::Value* vector) {
    return b.CreateBitCast(b.CreateFreeze(vector), llvm::FixedVectorType::get(b.getInt32Ty(), kWords));
  }

  llvm::Value* from(llvm::IRBuilder<>& b, unsigned word) {
    llvm::Value*& known = words_[word];
    if (known) return known;
    std::vector<int> part(kWords);
    std::iota(part.begin(), part.end(), static_cast<int>(word));
    return known = b.CreateShuffleVector(words_.at(0), words_.at(kWords), part);
  }

  const Windows& windows_;
  unsigned bits_;
  std::map<unsigned, llvm::Value*> words_;  ///< by the word that they begin with
};

class LaneFunnels final : public llvm::FunctionPass {
 public:
  static char ID;
  explicit LaneFunnels(bool has_funnels) : FunctionPass(ID), has_funnels_(has_funnels) {}
  bool runOnFunction(llvm::Function& function) override {
    if (!has_funnels_) return false;
    bool changed = false;
    for (llvm::BasicBlock& block : function) changed |= change(block);
    return changed;
  }

 private:
  static bool change(llvm::BasicBlock& block) {
    std::vector<Windows> all;
    std::map<std::pair<llvm::Value*, llvm::Value*>, size_t> number;
    for (llvm::Instruction& i : block) {
      auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&i);
      const auto* type = shuffle ? llvm::dyn_cast<llvm::FixedVectorType>(shuffle->getType()) : nullptr;
      if (!type || type != shuffle->getOperand(0)->getType() || !type->getElementType()->isIntegerTy()) continue;
      const unsigned bits = type->getScalarSizeInBits();
      if ((bits != 8 && bits != 16) || bits * type->getNumElements() != kVectorBits) continue;
      const auto first = first_element(*shuffle);
      if (!first || *first >= type->getNumElements()) continue;
      const auto [at, is_new] = number.try_emplace({shuffle->getOperand(0), shuffle->getOperand(1)}, all.size());
      if (is_new) all.emplace_back();
      all[at->second].push_back({shuffle, *first});
    }
    bool changed = false;
    for (const Windows& windows : all) {
      Funnels funnels(windows, windows.front().shuffle->getType()->getScalarSizeInBits());
      if (!funnels.is_cheaper()) continue;
      funnels.write();
      changed = true;
    }
    return changed;
  }

  bool has_funnels_;
};
char LaneFunnels::ID = 0;

}  // namespace

llvm::FunctionPass* lanes_by_funnels(const InstructionCapabilities& can) {
  return new LaneFunnels(can.lane_funnels);
}

}  // namespace polyweft::targets
