// Register buffers: which can be values of the code (SSA), and what they hold: an element by where it begins, as wide
// as its lanes.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "ir/nests/walk_nest.h"
#include "targets/common/values/value_part.h"

namespace polyweft::targets {

class Registers : ValuePart {
 public:
  explicit Registers(const Values& values)
      : ValuePart(values), registers_(nest_.buffers.size(), false), short_(nest_.buffers.size(), false) {}

  using Key = std::pair<BufferId, int64_t>;  ///< and where the element begins
  using File = std::map<Key, llvm::Value*>;

  bool in_registers(BufferId id) const { return registers_[id]; }
  /// Indices of argmax and argmin, held in 32 bits.
  bool is_short(BufferId id) const { return short_[id]; }
  /// From here on elements of the buffer are values, undefined at first. False: some access does not fit, and the
  /// buffer needs memory.
  bool open(BufferId id, NodeId body);
  void close(BufferId id);
  llvm::Value* read(const Access& access);
  void write(const Access& access, llvm::Value* value);

  const File& file() const { return file_; }
  void restore(File file) { file_ = std::move(file); }
  /// What a serial loop hands from iteration to iteration.
  struct Carried {
    std::vector<bool> outside;  ///< of the loop around it
    File entry;
    std::map<Key, llvm::PHINode*> phis;
  };
  /// In the loop's header. `written`: buffers that the loop writes.
  Carried begin_loop(std::vector<bool> written, llvm::BasicBlock* before);
  /// At its end; what is held when the loop is left.
  File end_loop(Carried& carried, llvm::BasicBlock* latch);
  /// Does the innermost loop around hand the buffer's elements from iteration to iteration?
  bool is_carried(BufferId id) const { return id < carried_.size() && carried_[id]; }
  /// Which register buffers the subtree writes.
  void written_registers(NodeId id, std::vector<bool>& buffers) const;
  llvm::Type* register_type_of(BufferId id) const;
  /// Where two ways join. Both know the same elements.
  void merge_registers(const File& a, llvm::BasicBlock* from_a, const File& b, llvm::BasicBlock* from_b);
  llvm::Value* short_index(llvm::Value* index);  ///< i32; INT64_MAX (no index yet) is INT32_MAX
  llvm::Value* long_index(llvm::Value* index);

 private:
  /// Lanes of an element of a register buffer: as wide as it is held, and those that are computed with.
  struct DeclaredLanes {
    int64_t width = 0, active = 0;
    bool is_written = false;
  };
  Key register_key(const Access& access) const;
  llvm::Value* register_value(const Key& key);
  void declare_registers(BufferId id, NodeId at);
  static bool are_apart_or_parts(const std::map<Key, DeclaredLanes>& elements);
  void leave_out_spans(std::map<Key, DeclaredLanes>& elements);
  static void note_lanes_in_use(const std::map<Key, DeclaredLanes>& elements, std::map<Key, int64_t>& in_use);
  bool registers_fit(BufferId id, NodeId body) const;
  bool holds_small_indices(BufferId id, NodeId at);  ///< of argmax, argmin; below 2^31
  void declare_registers_of_loop(BufferId id, const Loop& loop);

  std::vector<bool> registers_;                 ///< buffers that live in registers
  std::vector<bool> short_;                     ///< of those: indices, held in 32 bits
  std::vector<bool> carried_ = {};              ///< register buffers that the innermost loop around writes
  std::map<Key, DeclaredLanes> declared_ = {};  ///< of the one that is being declared
  std::map<Key, int64_t> in_use_ = {};          ///< lanes that any access reads or writes
  File file_ = {};
};

}  // namespace polyweft::targets
