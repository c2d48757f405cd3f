// Products by the lanes of a warp together, as nests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/nests/instruction.h"
#include "polyweft/loop_nest.h"
#include "polyweft/program.h"

namespace polyweft::emulator_test {

struct ProductCase {
  const ir::Instruction* instruction = nullptr;
  std::string machine;
  int64_t m = 0, n = 0, k = 0;  ///< of the instruction
};
/// Every instruction of warps of these machines.
std::vector<ProductCase> product_cases(const std::vector<std::string>& machines);

struct ProductSizes {
  int64_t m = 0, n = 0, k = 0;
  bool is_transposed = false;  ///< B[j, k]
};
/// Where products find their operands.
struct ProductOperands {
  ProductOperands(bool in_shared_memory, int64_t bytes_at_once = 1, int copies_ahead = 1)
      : are_staged(in_shared_memory), bytes(bytes_at_once), slots(copies_ahead) {}
  bool are_staged = false;
  int64_t bytes = 1;  ///< that a thread copies at once; 1: an element
  int slots = 1;      ///< of each copy; more than 1: they are made ahead
};
/// C = A B in the instruction's types.
Program product_program(const ProductCase& c, const ProductSizes& sizes);
/// Blocks of 2 x 2 warps, each of two fragments along either side, and two steps of depth at a time.
std::optional<LoopNest> product_nest(const ProductCase& c, const ProductSizes& sizes, const ProductOperands& operands);

/// What LLVM's text for one warp makes of integer_inputs_of() the nest, a product by one instruction in kernel
/// "kernel_k0"; nothing where threads wait for others in vain.
std::optional<TensorData> product_by(const std::string& llvm_text, const LoopNest& nest, const ProductCase& c);

}  // namespace polyweft::emulator_test
