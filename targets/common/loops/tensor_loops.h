// Tensor marks: one call of the instruction where its operands lie in memory as its registers hold them, the plain
// sub-nest elsewhere.
//
// What the sub-nest computes was compared with the instruction's own nest (ir::match_tensor_loop), so both ways give
// the same sums.
#pragma once

#include "ir/nests/instruction.h"
#include "targets/common/loops/matrix_products.h"
#include "targets/common/loops/vector_loops.h"
#include "targets/common/memory/memory.h"
#include "targets/common/memory/memory_part.h"
#include "targets/common/tiles/tile_products.h"
#include "targets/common/values/registers.h"
#include "targets/common/values/statements.h"

namespace polyweft::targets {

class TensorLoops : MemoryPart {
 public:
  TensorLoops(const Addresses& addresses, const Registers& registers, Memory& memory, Statements& statements,
              VectorLoops& vector_loops, MatrixProducts& matrix_products, TileProducts& tile_products)
      : MemoryPart(addresses),
        registers_(registers),
        memory_(memory),
        statements_(statements),
        vector_loops_(vector_loops),
        matrix_products_(matrix_products),
        tile_products_(tile_products) {}

  /// False: nothing was emitted, the sub-nest stays plain loops.
  bool tensor_loop(const Loop& loop);

 private:
  bool call_instruction(const ir::TensorMatch& match, const Loop& reduced);
  llvm::Value* operand(const ir::TensorMatch& match, size_t number,
                       const Loop& reduced);  ///< null: it lies in memory in another way

  const Registers& registers_;
  Memory& memory_;
  Statements& statements_;
  VectorLoops& vector_loops_;
  MatrixProducts& matrix_products_;
  TileProducts& tile_products_;
};

}  // namespace polyweft::targets
