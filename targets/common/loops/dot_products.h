// Dot products of short integers along two dense rows. A loop that is written out over vectors, each lane with a part
// of the sum,
//
//   for k in 0 .. 8 unroll: for v in 0 .. 16 vector 16: S[k, v] += i32(A[.., 16*k + v]) * i32(B[.., 16*k + v])
//
// becomes instructions that add neighbouring products to one lane, as many as the target has
// (InstructionHooks::dot_products). Products then go to other lanes. That is legal where all of S are parts of one
// element (Buffer::element does not depend on k and v): sums of i32 wrap, so that the parts have the same sum.
#pragma once

#include <array>
#include <optional>

#include "targets/common/code_emitter.h"
#include "targets/common/loops/vector_loops.h"
#include "targets/common/memory/memory.h"
#include "targets/common/memory/memory_part.h"
#include "targets/common/values/registers.h"

namespace polyweft::targets {

class DotProducts : MemoryPart {
 public:
  DotProducts(const Addresses& addresses, const Registers& registers, Memory& memory, VectorLoops& vector_loops,
              CodeEmitter& further)
      : MemoryPart(addresses), registers_(registers), memory_(memory), vector_loops_(vector_loops), further_(further) {}

  /// True: emitted.
  bool dense_dots(const Loop& loop, const Affine& lo, int64_t trips);

 private:
  struct Dots {
    const Loop* lanes = nullptr;
    const Compute* compute = nullptr;
    std::array<const Access*, 2> reads = {};
    int64_t products = 0;  ///< that an instruction adds to a lane
  };
  std::optional<Dots> dots_of(const Loop& loop) const;
  llvm::Value* load_dense(const Access& read, int64_t vectors);

  const Registers& registers_;
  Memory& memory_;
  VectorLoops& vector_loops_;
  CodeEmitter& further_;
};

}  // namespace polyweft::targets
