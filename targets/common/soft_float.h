// Floating-point operations that a chip may lack, as instructions instead of calls into the C library: fused
// multiply-add, rounding to an integer, half precision. Each gives the bits of the hardware's own instruction (payloads
// of NaNs aside).
#pragma once

#include "targets/common/instruction_hooks.h"
#include "targets/common/llvm.h"

namespace polyweft::targets {

class FloatCode {
 public:
  /// The hooks must outlive this.
  FloatCode(llvm::IRBuilder<>& builder, const InstructionHooks& hooks) : b_(builder), hooks_(hooks) {}

  /// x * y + z in one rounding; f32 or f64, scalar or vector.
  llvm::Value* fma(llvm::Value* x, llvm::Value* y, llvm::Value* z);
  llvm::Value* floor(llvm::Value* x);
  llvm::Value* ceil(llvm::Value* x);
  llvm::Value* round_even(llvm::Value* x);
  /// f32 to the 16 bits of an IEEE half, ties to even, and back.
  llvm::Value* half_bits(llvm::Value* x);
  llvm::Value* from_half_bits(llvm::Value* bits);

  const InstructionHooks& hooks() const { return hooks_; }

 private:
  llvm::Value* fma_through_double(llvm::Value* x, llvm::Value* y, llvm::Value* z);
  llvm::Value* fma_lane_by_lane(llvm::Value* x, llvm::Value* y, llvm::Value* z);
  llvm::Value* rounded_by_addition(llvm::Value* x);
  llvm::Value* with_sign_of(llvm::Value* magnitude, llvm::Value* sign);
  llvm::Type* like(llvm::Type* element, llvm::Value* shape) const;
  llvm::Constant* integer(llvm::Value* shape, uint64_t value) const;

  llvm::IRBuilder<>& b_;
  const InstructionHooks& hooks_;
};

}  // namespace polyweft::targets
