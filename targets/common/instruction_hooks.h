// What a target's instructions do that LLVM's own operations do not say, or say worse. Lowering asks here and names no
// architecture: a backend overrides the hooks that its instructions have, and what it leaves alone becomes the general
// code. Hooks have no state but what they can do, so that one object serves all functions of a module.
#pragma once

#include "polyweft/program.h"
#include "targets/common/llvm.h"
#include "targets/common/tile_unit.h"

namespace polyweft::targets {

/// What lowering decides by, before it emits anything.
struct InstructionCapabilities {
  int vector_bits = 128;         ///< of the vectors that loops of single values may become
  bool fused_products = true;    ///< x * y + z in one rounding, f32 and f64
  bool maximum = true;           ///< of two floats, a NaN where either is one
  bool rounding = true;          ///< floats to integers: down, up, to even
  bool half_conversions = true;  ///< f32 to f16 and back
  bool half_arithmetic = false;  ///< + - * / sqrt, comparisons and fused multiply-add of halves
  bool masked_vectors = false;   ///< loads and stores under a mask of a whole cache line and of elements of any size
  bool gathers = false;  ///< loads of lanes that lie anywhere, for which LLVM's vectorizers take what they left scalar
  bool line_permutes = false;        ///< any elements of 4 or 8 bytes out of two vectors of a cache line
  bool square_shuffles = true;       ///< elements of two vectors of up to 64 bytes, as transpositions of squares take
  bool short_loops_unrolled = true;  ///< by us; not where an engine allocates registers in the order of our code
  bool lane_funnels = false;         ///< words of 32 bits of two vectors of a cache line, each pair shifted as one
  int least_masked_bits = 0;         ///< narrowest vectors whose comparisons make masks that other operations take, in
                                     ///< registers of their own; 0: none do
  int64_t argument_alignment = 1;    ///< that callers give the address of any argument, beside that of its elements
  int vector_registers = 16;
  int carried_values = 12;  ///< that an iteration hands to the next in registers, beside those it computes with
  int promoted_cells = 12;  ///< vectors of memory that stay in registers along an innermost loop
  int carried_sums = 0;     ///< of two vectors of memory, that later iterations begin with: beside all others
};
/// The registers, and what a loop may hold in so many: of 32 registers 24 values from earlier iterations and 26 cells
/// of memory, of 16 registers 12 and 13. Sums that later iterations begin with find room where there are more than 16.
void set_register_shares(InstructionCapabilities& can, int vector_registers);

/// One operand of a dot product: neighbouring elements as they lie in memory, as many as lanes times products.
struct DotOperand {
  llvm::Value* elements = nullptr;
  ElementType type = ElementType::i8;  ///< i8, u8 or i16
};

class InstructionHooks {
 public:
  explicit InstructionHooks(InstructionCapabilities can) : can_(can) {}
  virtual ~InstructionHooks() = default;
  const InstructionCapabilities& can() const { return can_; }

  /// Dot products of short integers. How many neighbouring products dot() adds to each lane of so many lanes of i32; 0:
  /// there is no such instruction.
  virtual int64_t dot_products(ElementType, ElementType, unsigned) const { return 0; }
  /// sums[l] + a[P * l] * b[P * l] + .. + a[P * l + P - 1] * b[P * l + P - 1], P as dot_products() says; wraps.
  virtual llvm::Value* dot(llvm::IRBuilder<>&, llvm::Value*, DotOperand, DotOperand) const { return nullptr; }

  /// A vector of f32 as bits of bf16 (i16): to nearest, ties to even; numbers below 2^-126 count, a NaN is quiet. Null
  /// and nothing emitted: there is no such instruction.
  virtual llvm::Value* bf16_bits(llvm::IRBuilder<>&, llvm::Value*) const { return nullptr; }

  /// Is there x * 2^k in one rounding for this type (vectors of f32 or f64)?
  virtual bool scales(llvm::Type*) const { return false; }
  /// That, k an integer as a float; 0 for all k so low that |x| < 1.5 vanishes, whatever x is.
  virtual llvm::Value* scale(llvm::IRBuilder<>&, llvm::Value*, llvm::Value*) const { return nullptr; }

  /// Is the greater or lesser of two scalars of f32 or f64 one instruction behind the second, with the test for a NaN
  /// in the first beside what makes the second?
  virtual bool has_chained_extremes() const { return false; }
  /// That: a NaN where either is one; the sign of a zero is free.
  virtual llvm::Value* chained_extreme(llvm::IRBuilder<>&, bool, llvm::Value*, llvm::Value*) const { return nullptr; }

  /// out[l] = table[index[l]]: a table of a whole cache line in a register, elements of 4 or 8 bytes, indices of as
  /// many. Asked where can().line_permutes.
  virtual llvm::Value* looked_up(llvm::IRBuilder<>&, llvm::Value*, llvm::Value*) const { return nullptr; }

  /// Elements `late` and up of the first vector, then those of the second that fill a vector up. Asked where
  /// can().line_permutes.
  virtual llvm::Value* joined(llvm::IRBuilder<>& b, llvm::Value* first, llvm::Value* second, unsigned late) const;
  /// The same vector, and nothing that code generation sees through; as it is where there is no way to say so.
  virtual llvm::Value* opaque(llvm::IRBuilder<>&, llvm::Value* vector) const { return vector; }

  /// The unit that multiplies tiles; null: there is none, and loops of tile instructions become plain loops.
  virtual const TileUnit* tile_unit() const { return nullptr; }

 private:
  InstructionCapabilities can_;
};

}  // namespace polyweft::targets
