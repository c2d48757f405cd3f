// Floating-point operations that a chip may lack, as instructions instead of calls into the C library: fused multiply-add, rounding to
// an integer, half precision. Each gives the bits of the hardware's own instruction (payloads of NaNs aside).
#pragma once

#include "targets/common/llvm.h"

namespace polyweft::targets {

/// What the target's instructions can do.
struct FloatUnits {
  bool fma = true;               ///< FMA3 or AVX-512F
  bool rounding = true;          ///< SSE4.1's roundps and roundpd
  bool half = true;              ///< F16C
  bool half_arithmetic = false;  ///< AVX512-FP16: + - * / sqrt, comparisons and fused multiply-add of halves
  bool bf16 = false;             ///< AVX512-BF16: vectors of floats to bf16, numbers below 2^-126 taken for zero
  bool scale = false;            ///< AVX-512's vscalefps and vscalefpd, of all vector sizes
  int vector_bits = 128;         ///< of the vectors that loops of single values may become
  int byte_products = 0;         ///< bits of the widest vector of sums of four products of bytes (VNNI); 0: none
  int word_products = 0;         ///< of sums of two products of words
};

class FloatCode {
 public:
  FloatCode(llvm::IRBuilder<>& builder, FloatUnits units) : b_(builder), units_(units) {}

  /// x * y + z in one rounding; f32 or f64, scalar or vector.
  llvm::Value* fma(llvm::Value* x, llvm::Value* y, llvm::Value* z);
  llvm::Value* floor(llvm::Value* x);
  llvm::Value* ceil(llvm::Value* x);
  llvm::Value* round_even(llvm::Value* x);
  /// f32 to the 16 bits of an IEEE half, ties to even, and back.
  llvm::Value* half_bits(llvm::Value* x);
  llvm::Value* from_half_bits(llvm::Value* bits);

  const FloatUnits& units() const { return units_; }

 private:
  llvm::Value* fma_through_double(llvm::Value* x, llvm::Value* y, llvm::Value* z);
  llvm::Value* fma_lane_by_lane(llvm::Value* x, llvm::Value* y, llvm::Value* z);
  llvm::Value* rounded_by_addition(llvm::Value* x);
  llvm::Value* with_sign_of(llvm::Value* magnitude, llvm::Value* sign);
  llvm::Type* like(llvm::Type* element, llvm::Value* shape) const;
  llvm::Constant* integer(llvm::Value* shape, uint64_t value) const;

  llvm::IRBuilder<>& b_;
  FloatUnits units_;
};

}  // namespace polyweft::targets
