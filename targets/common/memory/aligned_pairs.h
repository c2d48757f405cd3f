// Vectors that lie across two lines, from the two whole ones: neighbours in memory and in time share these.
#pragma once

#include <optional>

#include "targets/common/memory/accesses.h"
#include "targets/common/memory/memory_part.h"
#include "targets/common/memory/prefetches.h"

namespace polyweft::targets {

class AlignedPairs : MemoryPart {
 public:
  AlignedPairs(const Addresses& addresses, Accesses& accesses, Prefetches& prefetches)
      : MemoryPart(addresses), accesses_(accesses), prefetches_(prefetches) {}

  /// Lanes that are skewed: null where they are not.
  llvm::Value* load_from_aligned_pair(const Access& access);
  /// A vector that starts late inside one aligned vector and ends in the next; null where it does not.
  llvm::Value* load_between(BufferId id, const Place& place);

 private:
  /// Two whole lines that hold all lanes of a vector.
  struct AlignedPair {
    Affine low, high;  ///< elements, over the lane
    int64_t turn = 0;  ///< lanes that lie in the lower line, its last ones
  };
  std::optional<AlignedPair> aligned_pair(const Access& access);

  Accesses& accesses_;
  Prefetches& prefetches_;
};

}  // namespace polyweft::targets
