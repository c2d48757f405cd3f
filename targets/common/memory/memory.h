// Elements of buffers, wherever they are: values in registers, numbers of tables, vectors made of neighbours, memory.
#pragma once

#include "targets/common/memory/accesses.h"
#include "targets/common/memory/aligned_pairs.h"
#include "targets/common/memory/memory_part.h"
#include "targets/common/memory/neighbour_loads.h"
#include "targets/common/memory/prefetches.h"
#include "targets/common/memory/strided_lanes.h"
#include "targets/common/values/registers.h"

namespace polyweft::targets {

class Memory : MemoryPart {
 public:
  Memory(const Addresses& addresses, Registers& registers, Accesses& accesses, Prefetches& prefetches,
         StridedLanes& strided_lanes, AlignedPairs& aligned_pairs, NeighbourLoads& neighbour_loads)
      : MemoryPart(addresses),
        registers_(registers),
        accesses_(accesses),
        prefetches_(prefetches),
        strided_lanes_(strided_lanes),
        aligned_pairs_(aligned_pairs),
        neighbour_loads_(neighbour_loads) {}

  /// In register form, as many lanes as there are.
  llvm::Value* load(const Access& access);
  void store(const Access& access, llvm::Value* value);

 private:
  llvm::Value* number_of_table(const Access& access);

  Registers& registers_;
  Accesses& accesses_;
  Prefetches& prefetches_;
  StridedLanes& strided_lanes_;
  AlignedPairs& aligned_pairs_;
  NeighbourLoads& neighbour_loads_;
};

}  // namespace polyweft::targets
