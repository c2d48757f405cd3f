// Parallel loops: tasks of the runtime, each a function of its own.
#pragma once

#include "targets/common/loops/branches.h"
#include "targets/common/memory/heap_blocks.h"
#include "targets/common/tiles/tile_instructions.h"

namespace polyweft::targets {

class ParallelLoops : MemoryPart {
 public:
  ParallelLoops(const Addresses& addresses, Branches& branches, HeapBlocks& heap_blocks,
                TileInstructions& tile_instructions)
      : MemoryPart(addresses), branches_(branches), heap_blocks_(heap_blocks), tile_instructions_(tile_instructions) {}

  void parallel_loop(const Loop& loop);

 private:
  void unpack_closure(llvm::Function* task, llvm::Function* work, int64_t step);

  Branches& branches_;
  HeapBlocks& heap_blocks_;
  TileInstructions& tile_instructions_;
};

}  // namespace polyweft::targets
