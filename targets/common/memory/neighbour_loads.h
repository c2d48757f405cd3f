// Lanes whose elements lie near each other, but are not contiguous: every second one (an image drawn small), each one
// twice (drawn large). One or two vectors that hold them all are loaded and a shuffle picks, where a gather asks memory
// for each lane. Neighbours share the vectors: taps 2x, 2x + 1 are the even and the odd lanes of the same two. Lanes
// that are stored so are spread over two vectors whose other elements are masked off.
//
// Under a mask: vectors that lie inside the buffer are loaded whole. Where only the first lanes are active, known here,
// the others' elements are left out. Elsewhere each vector has a mask of its own: element e is loaded where an active
// lane uses it. Lanes that are off hold zeros.
#pragma once

#include <vector>

#include "targets/common/memory/accesses.h"
#include "targets/common/memory/memory_part.h"
#include "targets/common/memory/prefetches.h"
#include "targets/common/values/registers.h"

namespace polyweft::targets {

class NeighbourLoads : MemoryPart {
 public:
  NeighbourLoads(const Addresses& addresses, Accesses& accesses, Prefetches& prefetches, const Registers& registers)
      : MemoryPart(addresses), accesses_(accesses), prefetches_(prefetches), registers_(registers) {}

  /// Null where the lanes are not so, or a gather is as good.
  llvm::Value* load_neighbours(const Access& access);

 private:
  llvm::Value* pick(llvm::Value* first, llvm::Value* other, const std::vector<int64_t>& at, int64_t second);
  llvm::Value* picked(BufferId id, const Affine& low, const std::vector<int64_t>& at, int64_t second);
  llvm::Value* picked_of_few(BufferId id, const Affine& low, const std::vector<int64_t>& at, int64_t span);
  llvm::Value* picked_of_active(BufferId id, const Affine& low, const std::vector<int64_t>& at, int64_t span);
  llvm::Value* elements_in_use(const std::vector<int64_t>& at, int64_t first);

  Accesses& accesses_;
  Prefetches& prefetches_;
  const Registers& registers_;
};

}  // namespace polyweft::targets
