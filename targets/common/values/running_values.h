// Scans in registers: a running maximum, minimum or integer sum along a row, a vector at a time. The lanes of a vector
// are folded in log steps (each takes in what lies 1, 2, 4 .. lanes below), then with all that came before, and only
// that last step waits for the vector before.
//
//   for i: M[i] = max(M[i - 1], X[i]); D[i] = M[i] - X[i]
//     ->  c = M[lo - 1] in all lanes;  for vectors of i: p = prefix maxima of X's lanes; M = max(p, c); c = max(c, last
//     lane of p); D = M - X
//
// Legal in every class: these operations are exact, so their order is free (sums of floats are not, and keep their
// chain). Everything else in the loop must go along as lanes: no other value comes from an earlier iteration. Maxima of
// floats are those of integers in the order of numbers, NaN at the end that wins.
#pragma once

#include <utility>
#include <vector>

#include "ir/passes/scans.h"
#include "targets/common/code_emitter.h"
#include "targets/common/loops/branches.h"
#include "targets/common/memory/accesses.h"
#include "targets/common/memory/memory_part.h"

namespace polyweft::targets {

/// A running value from one vector to the next.
struct RunningValue {
  Access stored, read;
  unsigned lanes = 0;
  llvm::PHINode* phi = nullptr;  ///< in all lanes
  llvm::Value* last = nullptr;   ///< before the loop: what the first iteration reads; in it: what the iteration has
                                 ///< come to, in all lanes
  bool is_made = false;          ///< the iteration has stored
  llvm::BasicBlock *entry = nullptr, *header = nullptr;
};

class RunningValues : MemoryPart {
 public:
  RunningValues(const Addresses& addresses, Accesses& accesses, Branches& branches, CodeEmitter& further)
      : MemoryPart(addresses), accesses_(accesses), branches_(branches), further_(further) {}

  bool has_running() const { return !running_.empty(); }
  /// Those of the loop that begins or ends; gives those of the loop around, or of the loop.
  std::vector<RunningValue> exchange(std::vector<RunningValue> running) {
    return std::exchange(running_, std::move(running));
  }
  /// In a block that runs once before the first iteration; `lo` is its value of the variable.
  void load_running(const Loop& loop, llvm::Value* lo, const VarFacts& facts, std::vector<RunningValue>& values);
  /// A running value over the lanes at hand; null where the operation is none.
  llvm::Value* scanned(const ExprNode& node);

 private:
  llvm::Value* scanned(const ExprNode& node, const std::vector<Expr>& terms, RunningValue& chain);
  llvm::Value* first_running(const Access& read);
  llvm::Value* flipped_negatives(llvm::Value* bits);
  llvm::Value* scanned_key(const ExprNode& node, llvm::Value* value);
  llvm::Value* fold_keys(const ExprNode& node, llvm::Value* a, llvm::Value* b);
  llvm::Constant* neutral_keys(const ExprNode& node, llvm::Type* type) const;
  void begin_scan(const ExprNode& node, RunningValue& chain);

  Accesses& accesses_;
  Branches& branches_;
  CodeEmitter& further_;
  std::vector<RunningValue> running_ = {};  ///< of the innermost loop around
};

}  // namespace polyweft::targets
