// What of a block's memory is whose, where lanes become threads: cells of one thread, and those that threads share,
// which are allocated around the loops over threads.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/passes/copy_subtree.h"

namespace polyweft::ir {

/// Thrown inside passes that make threads of lanes.
struct NoThreads {
  Error error;
};
[[noreturn]] void refuse_threads(const std::string& what);

struct Extremes {
  int64_t least = 0, most = 0;
};
/// A loop over threads of the block around what is being written.
struct ThreadLoop {
  VarId var = kNoVar;  ///< of the nest that is read
  Affine number;       ///< of the thread, from 0
  int64_t threads = 0;
};
/// How the cells of a buffer move out of the loops inside the block.
struct HoistedCells {
  std::vector<Affine> shift;        ///< added to the subscripts
  std::vector<Affine> leading;      ///< subscripts of new dimensions, in front
  std::vector<bool> is_told_apart;  ///< by loop over threads: has each one cells of its own?
};

class BlockMemory {
 public:
  explicit BlockMemory(const LoopNest& nest);

  /// Of the loops' variables.
  Extremes range_of(const Affine& e) const;
  Extremes range_of(VarId var) const { return ranges_.at(var); }
  /// All values are multiples of it; 0: of any number.
  int64_t divisor_of(const Affine& e) const;

  /// Whose cells the buffers are that this part of the nest touches. `width`: lanes, which are threads along x;
  /// `threads`: other loops over threads around; `loops_around`: variables of all loops inside the outermost of them.
  void analyse(NodeId id, int64_t width, const std::vector<ThreadLoop>& threads, std::vector<VarId> loops_around);
  bool is_private(BufferId id) const { return private_.count(id) > 0; }
  bool is_hoisted(BufferId id) const { return hoisted_.count(id) > 0; }
  const HoistedCells& hoisted(BufferId id) const { return hoisted_.at(id); }
  /// Do several threads touch its cells, one of them writing?
  bool is_crossing(BufferId id) const { return crossing_.count(id) > 0; }
  /// Sets these buffers of the new nest; gives those that are to be allocated around the threads. `values`: of
  /// variables of the nest that is read, `thread`: the number along x.
  std::vector<BufferId> set_buffers(LoopNest& out, const VariableValues& values, const Affine& thread);
  /// The cell for an access in the new nest's variables.
  Access moved(Access access, const VariableValues& values, const Affine& thread) const;

 private:
  struct Use {
    std::vector<Subscript> index;
    std::optional<Affine> first;  ///< value of lane 0, where a loop over lanes is around
    VarId lane = kNoVar;
    bool is_write = false;
  };
  void note_ranges(NodeId id);
  void note_factors(const Loop& loop);
  bool lay_out_by_xor(Buffer& b, const std::vector<int64_t>& taken, size_t more,
                      const std::vector<int64_t>& windows) const;
  void gather(NodeId id, const Loop* lanes);
  Affine residue(const Affine& e) const;
  std::optional<size_t> dimension_of_threads(const std::vector<Use>& uses, Affine* rest) const;
  void shrink(Buffer& b, BufferId id, const VariableValues& values, const Affine& thread) const;
  std::optional<size_t> dimension_read(BufferId id) const;
  void hoist(Buffer& b, BufferId id, HoistedCells& hoisted, const VariableValues& values) const;

  const LoopNest& in_;
  std::map<VarId, Extremes> ranges_;
  std::map<VarId, int64_t> divisors_;
  int64_t width_ = 1;
  std::vector<ThreadLoop> threads_;
  std::vector<VarId> inner_loops_;
  std::map<BufferId, std::vector<Use>> uses_;
  std::set<BufferId> allocated_, private_, crossing_, is_folded_;  ///< is_folded_: sums read it
  std::set<BufferId> multiplied_;                                  ///< operands of products by warps
  std::map<BufferId, std::vector<int64_t>> factors_;  ///< that an instruction reads from shared memory: values of each
                                                      ///< dimension that it takes at once
  std::map<BufferId, size_t> dims_;                   ///< the dimension of a private buffer that lanes were along
  std::map<BufferId, HoistedCells> hoisted_;
};

}  // namespace polyweft::ir
