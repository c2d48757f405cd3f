// Instructions on small matrices in vector registers: the cells of an operand, row-major, are one register, put
// together of the rows that lie in memory.
//
//   D[i, j] += A[i, q] * B[j, q]        i, j in 0 .. 2, q in 0 .. 8: 2 x 2 sums, two rows of eight bytes, two rows of
//   eight bytes
#pragma once

#include <optional>
#include <vector>

#include "ir/nests/instruction.h"
#include "targets/common/memory/memory_part.h"
#include "targets/common/values/registers.h"

namespace polyweft::targets {

/// Of an operand of an instruction.
llvm::Type* register_type(llvm::IRBuilder<>& b, const ir::Instruction::Operand& operand);

class MatrixProducts : MemoryPart {
 public:
  MatrixProducts(const Addresses& addresses, const Registers& registers)
      : MemoryPart(addresses), registers_(registers) {}

  /// False: nothing was emitted.
  bool multiply_matrices(const ir::TensorMatch& match);

 private:
  std::optional<std::vector<Affine>> matrix_rows(const ir::TensorMatch& match, const ir::Instruction::Operand& operand,
                                                 const Access& access);
  static std::vector<Affine> merged_rows(std::vector<Affine> rows, int64_t columns);
  llvm::Value* load_matrix(const ir::Instruction::Operand& operand, BufferId buffer, const std::vector<Affine>& rows);
  void store_matrix(llvm::Value* value, BufferId buffer, const std::vector<Affine>& rows);

  const Registers& registers_;
};

}  // namespace polyweft::targets
