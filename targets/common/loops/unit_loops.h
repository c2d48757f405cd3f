// Statements on a unit's memories become its commands: boxes of copies, of first values, and products of tiles. Loops
// around the two innermost ones of a box stay loops of the CPU, which issues the commands.
//
//   for i in 0 .. 64 { for k in 0 .. 16 { copy A.p[i, k] <- A[i0 + i, k0 + k] } }   -->   copy_in memory local rows
//   bytes
//
// The unit works beside the CPU: what the CPU reads of its results stands behind `finish`.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/nests/instruction.h"
#include "targets/common/code_emitter.h"
#include "targets/common/loops/serial_loops.h"
#include "targets/common/unit_hooks.h"

namespace polyweft::targets {

class UnitLoops : MemoryPart {
 public:
  UnitLoops(const Addresses& addresses, SerialLoops& serial_loops, CodeEmitter& further);

  /// A buffer in the unit's memory, and what is inside of its lifetime; PW0527 where that memory is full.
  bool allocates(const Alloc& alloc);
  /// False: nothing was emitted.
  bool takes(NodeId id);
  /// Behind all: the unit has done what it was told.
  void finish();

 private:
  /// Loops one inside the other around one statement.
  struct Chain {
    std::vector<const Loop*> loops;
    const Node* leaf = nullptr;
  };
  /// What a loop moves an access by, in bytes, and its iterations.
  struct Along {
    const Loop* loop = nullptr;
    llvm::Value* trips = nullptr;
    int64_t most = 1;
    int64_t own = 1;  ///< of the loop, without those that go on where it ends
  };
  /// A loop whose iterations are rows behind those of another.
  struct MoreRows {
    const Loop* from = nullptr;
    int64_t trips = 1;
  };

  bool touches(NodeId id) const { return touches_[id]; }
  bool takes_inside(NodeId id);
  std::optional<Chain> chain_of(NodeId id) const;
  static bool is_fill(const LoopNest& nest, const Chain& chain);
  void box_loops(const Chain& chain);
  void merge_rows(const Chain& chain);
  void command(const Chain& chain);
  void copy(const Copy& copy, const Chain& chain);
  void zero(const Compute& init, const Chain& chain);
  void product(const Loop& loop);
  void strided(const std::string& name, UnitHooks::Operands operands, llvm::Value* stride, llvm::Value* apart);
  void by_rows(llvm::Value* rows, int64_t most, const std::function<void(llvm::Value* first, llvm::Value* rows)>& emit);

  Along along(const Loop& loop);
  void at_first(const std::vector<const Loop*>& loops);
  void end_at_first(const std::vector<const Loop*>& loops);
  Affine offset_of(const Access& access);
  std::optional<int64_t> even_step(const Access& access, const Loop& loop, int64_t iterations);
  int64_t step_of(const Access& access, const Loop& loop, int64_t most);
  llvm::Value* local_address(const Access& access, const Affine& offset);
  llvm::Value* bytes(int64_t number) { return b_.getInt64(static_cast<uint64_t>(number)); }
  void wait_for_copies();
  [[noreturn]] void refuse(const std::string& what, const std::string& remedy) const;
  void has_rows(const Buffer& buffer, int64_t apart, const std::string& command, const std::string& what);

  const UnitHooks* unit_;
  SerialLoops& serial_loops_;
  CodeEmitter& further_;
  std::vector<bool> touches_;  ///< does the subtree access the unit's memories?
  std::vector<bool> is_end_;   ///< bodies of loops and branches: nothing is under way behind them
  std::set<BufferId> copied_out_;
  std::set<NodeId> entered_;
  std::map<const Loop*, MoreRows> merged_;  ///< of the chain being written, by the loop over rows; empty: of none
  std::map<BufferId, int64_t> at_;          ///< first byte of buffers in the unit's memories
  std::map<Scope, int64_t> used_;
  bool on_cpu_ = false;    ///< inside of what the unit has no part in
  bool unwaited_ = false;  ///< copies that are to have arrived before anything reads
};

}  // namespace polyweft::targets
