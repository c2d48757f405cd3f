// Copies of a few rows whose elements lie alternately in the result.
#pragma once

#include <optional>

#include "targets/common/loops/vector_loops.h"
#include "targets/common/memory/memory_part.h"
#include "targets/common/values/registers.h"

namespace polyweft::targets {

class InterleavedCopies : MemoryPart {
 public:
  InterleavedCopies(const Addresses& addresses, const Registers& registers, VectorLoops& vector_loops)
      : MemoryPart(addresses), registers_(registers), vector_loops_(vector_loops) {}

  /// True: emitted. `lo` and `count`: of the loop that is written out.
  bool interleaved_copy(const Loop& rows, const Affine& lo, int64_t count);

 private:
  std::optional<Affine> rows_apart(const Access& access, VarId row, const Affine& lo, int64_t count,
                                   std::optional<int64_t> distance);
  llvm::Value* load_bits(const Access& access, llvm::Type* element);

  const Registers& registers_;
  VectorLoops& vector_loops_;
};

}  // namespace polyweft::targets
