// Addresses of innermost loops in their final form: pointers that the loop moves on, with what is constant left to the
// instructions' displacements. So the back end need not look for them (loop strength reduction took a third of code
// generation).
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "targets/common/memory/buffers.h"
#include "targets/common/memory/place.h"
#include "targets/common/values/value_part.h"

namespace polyweft::targets {

/// Pointers that a loop moves on: one for each buffer and set of terms, at the element of its first iteration.
struct Streams {
  struct Stream {
    llvm::PHINode* pointer = nullptr;
    llvm::Value* first = nullptr;
    int64_t step_bytes = 0;
  };
  struct AlignedLoad {
    llvm::Instruction* load = nullptr;
    llvm::Value* pointer = nullptr;
    BufferId buffer = 0;
    Affine offset;
  };
  VarId var = 0;
  int64_t step = 1;
  llvm::Value *lo = nullptr, *hi = nullptr;
  llvm::BasicBlock *before = nullptr, *header = nullptr;
  std::vector<llvm::Value*> bases = {};   ///< of buffers allocated before the loop
  Integers::Known integers = {};          ///< known before the loop
  std::vector<bool> stored = {};          ///< buffers that the loop writes
  bool is_entered = false;                ///< at least one iteration runs
  std::map<std::string, Stream> of = {};  ///< by buffer and terms
  std::vector<AlignedLoad> loads = {};    ///< whole aligned vectors
  bool has_neighbours = false;            ///< some vectors are made from two of these
  /// Each becomes the other after an iteration.
  std::vector<std::pair<llvm::PHINode*, llvm::PHINode*>> exchanged = {};
};

class MovingPointers : ValuePart {
 public:
  MovingPointers(const Values& values, const Buffers& buffers)
      : ValuePart(values), buffers_(buffers), bases_(buffers.bases()) {}

  /// Of the loop around, where it moves pointers on; else null.
  Streams* streams() const { return streams_; }
  Streams* exchange(Streams* streams) { return std::exchange(streams_, streams); }

  /// Address of the element at `offset` without its constant and its lane; null where the loop around does not move it
  /// evenly.
  llvm::Value* stream_pointer(BufferId id, const Affine& offset);
  /// A vector that may be one of two neighbours.
  void note_aligned(BufferId id, const Place& place, llvm::Value* value);
  /// At the end of a loop's iteration. Pointers that move by the same bytes share one offset, which costs a register
  /// more and an addition each less.
  void move_streams(Streams& streams, llvm::BasicBlock* latch);
  void rotate_neighbours(Streams& streams);

 private:
  const Buffers& buffers_;
  const std::vector<llvm::Value*>& bases_;
  Streams* streams_ = nullptr;
};

}  // namespace polyweft::targets
