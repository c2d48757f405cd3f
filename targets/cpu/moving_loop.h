// Loops of one block whose addresses move on by fixed numbers of bytes: what passes share that hand values from one
// iteration to the next.
#pragma once

#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Pass.h>

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace polyweft::targets {

class MovingLoop {
 public:
  explicit MovingLoop(llvm::BasicBlock& block);

 protected:
  /// An address that the loop moves on by a fixed number of bytes.
  struct Place {
    llvm::Value* base = nullptr;
    int64_t offset = 0, step = 0;
  };

  /// One block, entered from one other, and small enough to be looked at.
  bool is_loop();
  /// Relative to a pointer that the loop moves on, or to one that stands still with such a number of bytes added.
  std::optional<Place> place_of(llvm::Value* pointer);
  bool is_outside(const llvm::Value* value) const;
  /// How far an index of the loop moves in one iteration; nothing where that is not one number.
  static std::optional<int64_t> moved(const llvm::PHINode& phi);
  /// The address as the first iteration finds it.
  llvm::Value* first_address(llvm::IRBuilder<>& b, const Place& place);
  /// A block of its own on the way in: what stands there runs only where the loop does. Once.
  void enter();

  llvm::BasicBlock& block_;
  const llvm::DataLayout& layout_;
  llvm::BasicBlock* entry_ = nullptr;

 private:
  std::optional<int64_t> step_of(llvm::Value* base) const;

  bool is_entered_ = false;
  std::map<llvm::Value*, std::optional<int64_t>> steps_;
};

/// Runs L::change on each block that the function has when the pass comes to it; L is made of the block and of what the
/// pass was made of, which outlives it.
template <class L, class... Given>
class LoopPass final : public llvm::FunctionPass {
 public:
  static char ID;
  explicit LoopPass(const Given&... given) : FunctionPass(ID), given_(given...) {}
  bool runOnFunction(llvm::Function& function) override {
    bool changed = false;
    std::vector<llvm::BasicBlock*> blocks;
    for (llvm::BasicBlock& block : function) blocks.push_back(&block);
    for (llvm::BasicBlock* block : blocks)
      changed |= std::apply([&](const Given&... given) { return L(*block, given...).change(); }, given_);
    return changed;
  }

 private:
  std::tuple<const Given&...> given_;
};
template <class L, class... Given>
char LoopPass<L, Given...>::ID = 0;

}  // namespace polyweft::targets
