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
  llvm::Instruction* store_whole(BufferId id, const Place& place, llvm::Value* value);
  bool lies_in_whole_lines(BufferId id, const Place& place) const;
  llvm::Value* load_line(llvm::Value* pointer, ElementType type);
  llvm::Value* load_of_table(const Buffer& buffer, const Place& place);
  llvm::Value* aligned_load(BufferId id, const Affine& offset);
  llvm::Value* whole_load(BufferId id, const Affine& first);
  llvm::Value* load_of_elements(BufferId id, const Affine& first, llvm::Value* mask);
  llvm::Value* load_part(BufferId id, const Affine& offset, int64_t by);

 private:
  llvm::Instruction* store_spread(const Place& place, llvm::Value* lanes, llvm::Align align);

  bool is_in_place_ = false;
};

}  // namespace polyweft::targets
