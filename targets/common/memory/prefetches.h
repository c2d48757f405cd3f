// Lines asked for ahead: once each, by the iteration that comes first.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "targets/common/memory/memory_part.h"

namespace polyweft::targets {

class Prefetches : MemoryPart {
 public:
  explicit Prefetches(const Addresses& addresses) : MemoryPart(addresses) {}

  /// One hint a cache line of the vector, however many rows of an unrolled block read it.
  void prefetch(const Access& access, const Place& place);
  /// Of vectors among which lanes pick their elements, one for each line.
  void prefetch_near(BufferId id, const Affine& offset);

 private:
  int64_t moves_towards(const Access& access, const Affine& offset, const std::vector<int64_t>& by) const;
  bool is_asked_for(BufferId id, const Affine& offset, int64_t step, int64_t far) const;
  void emit_prefetch(BufferId id, llvm::Value* vector);

  struct {
    const llvm::BasicBlock* block = nullptr;
    std::set<std::string> places;
    std::vector<std::pair<BufferId, Affine>> vectors;
  } asked_;  ///< what the current block has prefetched
};

}  // namespace polyweft::targets
