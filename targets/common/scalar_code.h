// Operators of expressions as LLVM values, scalars or vectors of one width: LANGUAGE.md section 4 to the bit.
//
// In registers a value of type bf16 is a float that holds an exactly rounded number, and so is one of type f16 where
// the chip does not compute in halves; bool is i1; the rest are LLVM's own types. No fast-math flag but nsz where the
// numerics class lets the sign of a zero free.
#pragma once

#include "polyweft/program.h"
#include "targets/common/llvm.h"
#include "targets/common/soft_float.h"

namespace polyweft::targets {

class ScalarCode {
 public:
  /// The hooks must outlive this.
  ScalarCode(llvm::IRBuilder<>& builder, NumericsClass cls, const InstructionHooks& hooks);

  const InstructionHooks& hooks() const { return float_.hooks(); }
  const InstructionCapabilities& can() const { return hooks().can(); }
  /// In registers and in memory.
  llvm::Type* register_type(ElementType type) const;
  llvm::Type* memory_type(ElementType type) const;
  llvm::Value* constant(const Literal& literal);
  llvm::Value* identity(Reducer reducer, ElementType type);

  /// Operands of one shape (all scalar or all of one vector width).
  llvm::Value* apply(const ExprNode& node, std::vector<llvm::Value*> args);
  llvm::Value* combine(Reducer reducer, ElementType type, llvm::Value* state, llvm::Value* value);
  /// Is the greater or lesser of two scalars one instruction behind the second (InstructionHooks::chained_extreme)? f32
  /// and f64, where the sign of a zero is free.
  bool has_chained_extremes(ElementType type) const;
  llvm::Value* chained_extreme(const ExprNode& node, llvm::Value* a, llvm::Value* b);
  /// One step of a fused sum: a half is rounded once where the chip can, else as a float and then as a half; both are
  /// contractions.
  llvm::Value* fma(ElementType type, llvm::Value* a, llvm::Value* b, llvm::Value* c);
  llvm::Value* convert(llvm::Value* value, ElementType from, ElementType to, bool saturate);
  /// From what a load gives to register form, and back for a store.
  llvm::Value* from_memory(llvm::Value* value, ElementType type);
  llvm::Value* to_memory(llvm::Value* value, ElementType type);

  static unsigned lanes(llvm::Value* value);
  llvm::Value* splat(llvm::Value* value, unsigned lanes);
  /// Splats scalars up to the widest operand.
  void unify(std::vector<llvm::Value*>& values);

 private:
  /// Halves that the chip itself computes with.
  bool is_native_half(ElementType type) const { return type == ElementType::f16 && can().half_arithmetic; }
  /// A native half as a float, which holds it exactly; others as they are.
  llvm::Value* widened(llvm::Value* value, ElementType type);
  llvm::Value* binary(Op op, ElementType type, llvm::Value* a, llvm::Value* b);
  llvm::Value* unary(Op op, ElementType type, llvm::Value* a);
  llvm::Value* compare(Op op, ElementType type, llvm::Value* a, llvm::Value* b);
  llvm::Value* math(Op op, ElementType type, std::vector<llvm::Value*> args);
  llvm::Value* minimum(bool max, ElementType type, llvm::Value* a, llvm::Value* b);
  llvm::Value* divide(bool modulo, ElementType type, llvm::Value* a, llvm::Value* b);
  llvm::Value* round_narrow(llvm::Value* value, ElementType type);
  llvm::Value* round_to_odd(llvm::Value* value);
  llvm::Value* bf16_bits(llvm::Value* value);
  llvm::Value* float_to_int(llvm::Value* value, ElementType to);
  llvm::Value* floats_to_ints(llvm::Value* value, ElementType to);
  llvm::Value* clamp_int(llvm::Value* value, bool source_signed, ElementType to);
  llvm::Type* like(llvm::Type* element, llvm::Value* shape) const;
  llvm::Constant* number(llvm::Value* shape, double value) const;
  llvm::Constant* integer(llvm::Value* shape, int64_t value) const;

  llvm::IRBuilder<>& b_;
  FloatCode float_;
  NumericsClass cls_;
};

}  // namespace polyweft::targets
