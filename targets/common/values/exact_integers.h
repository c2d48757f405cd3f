// Subscripts that depend on data, as exact integers (ir/exact.h): 32 bits where the ranges of loops, types and
// promises show that they hold the operands and the value (a vector then has twice as many lanes, and so has its
// gather), else 64, else 128. Two forms need no more than 64 bits for operands that have as many:
//
//   clamp(a + b, lo, hi)   what saturates lies outside lo .. hi as the sum does
//   (a * b - c) % n        ((a % n) * (b % n) % n - c % n) % n, n at most 2^31
#pragma once

#include <optional>

#include "targets/common/code_emitter.h"
#include "targets/common/exact_leaves.h"
#include "targets/common/loops/branches.h"
#include "targets/common/values/value_part.h"

namespace polyweft::targets {

class ExactIntegers : ValuePart {
 public:
  ExactIntegers(const Values& values, Branches& branches, CodeEmitter& further)
      : ValuePart(values), branches_(branches), further_(further) {}

  /// In 64 bits.
  llvm::Value* exact_index(const Expr& data);

 private:
  struct Exact;
  Exact exact(const Expr& e);
  Exact exact_in_any_bits(const Expr& e);
  Exact exact_guarded(const ExprNode& e);
  Exact exact_saturated(const Expr& e, const ExprNode& clamp);
  std::optional<Exact> exact_remainder(const ExprNode& e);
  llvm::Value* exact_condition(const Expr& e);
  llvm::Value* exact_operation(const ExprNode& e, std::vector<llvm::Value*> values, bool is_wide);
  llvm::Value* residue(const Expr& e, llvm::Value* modulus);
  llvm::Value* residue_of_value(const Exact& x, llvm::Value* modulus);
  llvm::Value* in_bits(const Exact& x, unsigned bits);
  ExactLeaves exact_leaves() const;

  Branches& branches_;
  CodeEmitter& further_;
};

}  // namespace polyweft::targets
