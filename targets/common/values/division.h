// Quotients with one divisor for all lanes, by its reciprocal: the division itself is done once, outside the loop.
//
// The result has the bits of the division. With r = 1/d rounded to nearest and r' what it lacks, q = a r + (a r'), an
// fma, is within an ulp of a/d; by Markstein's theorem q + (a - q d) r is then a/d rounded to nearest, because the
// remainder a - q d is exact. All of that holds where nothing overflows or loses bits to the subnormal range; vectors
// with other elements, and other divisors, are divided.
#pragma once

#include "targets/common/values/value_part.h"

namespace polyweft::targets {

class Division : ValuePart {
 public:
  explicit Division(const Values& values) : ValuePart(values) {}

  void begin_loop() { quotients_ = 0; }
  /// Is the quotient of these by a reciprocal faster, and the same?
  bool divides_by_reciprocal(const ExprNode& node, llvm::Value* a, llvm::Value* d) const;
  llvm::Value* quotient(ElementType type, llvm::Value* a, llvm::Value* d);

 private:
  llvm::Value* quotient_by_odd(ElementType type, llvm::Value* a, llvm::Value* d);

  unsigned quotients_ = 0;  ///< by reciprocals since the innermost serial loop began
};

}  // namespace polyweft::targets
