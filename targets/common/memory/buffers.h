// Where buffers lie while a function is written: the address of element 0 of those that have memory here.
#pragma once

#include <vector>

#include "polyweft/loop_nest.h"
#include "targets/common/llvm.h"

namespace polyweft::targets {

class Buffers {
 public:
  /// `bases`: of arguments and constants; null elsewhere. The nest must outlive this.
  Buffers(const LoopNest& nest, std::vector<llvm::Value*> bases);
  /// Of a task: what its loop's surroundings know; all buffers that have memory there are met by other tasks.
  void start_as_task(const Buffers& outside);

  const std::vector<llvm::Value*>& bases() const { return bases_; }
  llvm::Value* base_of(BufferId id) const;
  void place(BufferId id, llvm::Value* base) { bases_[id] = base; }
  void remove(BufferId id) { bases_[id] = nullptr; }
  /// Does the buffer, or one within it, lie in the memory of another?
  bool is_shared(BufferId id) const;
  /// Made outside the parallel loop around?
  bool is_met_by_others(BufferId id) const { return is_met_by_others_[id]; }

  /// Arguments: is it known here whether they begin on lines, and do they?
  bool is_tested(BufferId id) const { return is_tested_[id]; }
  bool is_aligned(BufferId id) const { return aligned_[id]; }
  void tell_alignment(BufferId id, bool aligned) { aligned_[id] = aligned, is_tested_[id] = true; }
  void forget_alignment(BufferId id) { aligned_[id] = is_tested_[id] = false; }

 private:
  const LoopNest& nest_;
  std::vector<llvm::Value*> bases_;
  std::vector<bool> aligned_, is_tested_, is_met_by_others_;
};

}  // namespace polyweft::targets
