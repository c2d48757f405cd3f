// Loads and stores of one place: whole vectors, masked ones, gathers and scatters, lines.
#pragma once

#include "targets/common/memory/memory_part.h"

namespace polyweft::targets {

class Accesses : MemoryPart {
 public:
  explicit Accesses(const Addresses& addresses) : MemoryPart(addresses) {}

  /// Does the statement at hand read what it stores?
  void begin_statement(bool is_in_place) { is_in_place_ = is_in_place; }
  llvm::Value* load_place(const Place& place, ElementType type);
  llvm::Instruction* store_place(const Place& place, ElementType type, llvm::Value* value);
  /// The line stored whole, its other lanes as they were. Null where that may not be.
  llvm::Instruction* store_whole(BufferId id, const Place& place, llvm::Value* value);
  /// Some lanes of a line are active, and all of it is memory of the buffer.
  bool lies_in_whole_lines(BufferId id, const Place& place) const;
  llvm::Value* load_line(llvm::Value* pointer, ElementType type);
  /// Of a buffer that one vector holds; null for larger ones.
  llvm::Value* load_of_table(const Buffer& buffer, const Place& place);
  /// A whole vector, noted as known.
  llvm::Value* aligned_load(BufferId id, const Affine& offset);
  /// A whole vector of memory that is the buffer's, whatever the mask is.
  llvm::Value* whole_load(BufferId id, const Affine& first);
  /// A vector by the mask of its elements, zeros elsewhere.
  llvm::Value* load_of_elements(BufferId id, const Affine& first, llvm::Value* mask);
  /// Of a whole aligned vector the lanes that stand for active ones, `by` lanes further up.
  llvm::Value* load_part(BufferId id, const Affine& offset, int64_t by);

 private:
  llvm::Align alignment_of_one(const Place& place, ElementType type) const;
  llvm::Instruction* store_spread(const Place& place, llvm::Value* lanes, llvm::Align align);

  bool is_in_place_ = false;
};

}  // namespace polyweft::targets
