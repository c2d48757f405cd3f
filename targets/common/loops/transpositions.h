// Copies that read along one loop and write along the other: squares of elements are transposed in vector registers.
//
//   for r { for c { copy P[.. c * s + r] <- A[.. r * t + c] } }      rows of A by vectors, columns of P by vectors
//
// A square that sticks out is loaded and stored with masks. Every element is copied once, whole, so the order makes no
// difference.
#pragma once

#include <functional>
#include <optional>

#include "targets/common/loops/branches.h"
#include "targets/common/memory/memory_part.h"
#include "targets/common/values/registers.h"

namespace polyweft::targets {

class Transpositions : MemoryPart {
 public:
  Transpositions(const Addresses& addresses, const Registers& registers, Branches& branches)
      : MemoryPart(addresses), registers_(registers), branches_(branches) {}

  bool transposing_copy(const Loop& outer);  ///< true: emitted
  /// The same of groups of elements that fill 4 bytes.
  bool transposing_groups(const Loop& outer);

 private:
  struct Transposition {
    const Loop *rows = nullptr, *columns = nullptr;  ///< the source is dense along columns, the result along rows
    const Access *src = nullptr, *dst = nullptr;
    bool non_temporal = false;
    Affine from, to;  ///< element offsets
    int64_t most_rows = 0;
  };
  std::optional<Transposition> transposition_of(const Loop& outer);
  void emit_transposition(const Transposition& turn, unsigned lanes);
  void transpose_all(const Transposition& turn, unsigned lanes);
  void transpose_square(const Transposition& turn, unsigned lanes, llvm::Value* rows, llvm::Value* columns);
  void counted_loop(llvm::Value* lo, llvm::Value* hi, int64_t step, const std::function<void(llvm::Value*)>& body);

  const Registers& registers_;
  Branches& branches_;
};

}  // namespace polyweft::targets
