// Copies of neighbours into memory that the threads of a block share, on their way while the thread goes on, where the
// machine has such copies. A thread waits for its own before it does anything else than copy, or meets a barrier.
#pragma once

#include <vector>

#include "targets/common/memory/memory_part.h"

namespace polyweft::targets {

class AsyncCopies : MemoryPart {
 public:
  explicit AsyncCopies(const Addresses& addresses) : MemoryPart(addresses) {}

  /// A vector loop around one copy, or one copy that is asynchronous in the nest. False: the machine cannot, or not
  /// these.
  bool takes(const Loop& loop);
  bool takes(const Copy& copy);
  /// Groups of copies that are asynchronous in the nest.
  void meet(const Sync& sync);
  /// Is nothing done there but copying?
  bool only_copies(NodeId id);
  /// What was begun is there.
  void finish();

 private:
  bool begin(const Copy& copy, const Loop* lanes);

  bool are_pending_ = false;      ///< copies that the nest has at once
  std::vector<bool> has_others_;  ///< by node: something else than copies
};

}  // namespace polyweft::targets
