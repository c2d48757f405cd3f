// Buffers of the heap: one allocation a call for all of them, and one a task for those of a parallel loop
// (ir/workspace.h), outside all serial loops. A block that each iteration took and gave back would cost it two calls
// and, where the allocator returns large blocks to the system, the mapping of every page anew.
#pragma once

#include <vector>

#include "ir/nests/workspace.h"
#include "targets/common/memory/memory_part.h"
#include "targets/common/tiles/tile_instructions.h"

namespace polyweft::targets {

class HeapBlocks : MemoryPart {
 public:
  HeapBlocks(const Addresses& addresses, TileInstructions& tile_instructions)
      : MemoryPart(addresses), tile_instructions_(tile_instructions) {}

  /// All that is live, where the function is left early.
  void release_all() {
    for (llvm::Value* live : heap_) hooks_.runtime.release(b_, live);
  }
  /// The buffers of a block get their addresses in one allocation.
  void open_block(const ir::Block& block);
  void close_block(const ir::Block& block);
  /// Tells LLVM that they are distinct memory.
  void tell_apart(const ir::Block& block);
  /// The block that was opened last.
  void free_last();
  /// The size of a buffer of a symbolic nest is known when the kernel runs.
  void open_symbolic(BufferId id);
  /// Those that something in there, outside parallel loops, would allocate.
  std::vector<BufferId> open_symbolic_inside(NodeId id);

 private:
  llvm::Value* allocate(llvm::Value* bytes);  ///< aligned

  TileInstructions& tile_instructions_;
  std::vector<llvm::Value*> heap_ = {};  ///< live blocks of this function
};

}  // namespace polyweft::targets
