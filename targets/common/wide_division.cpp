#include "targets/common/wide_division.h"

#include <llvm/Transforms/Utils/IntegerDivision.h>

namespace polyweft::targets {
namespace {

/// Builds the private function i128(i128, i128), with the quotient or the remainder.
class DivisionFunction {
 public:
  DivisionFunction(llvm::Module& module, WideDivision what) : module_(module), b_(module.getContext()), what_(what) {}

  llvm::Function* function(llvm::Function* caller) {
    const char* name =
        what_ == WideDivision::quotient ? "polyweft_floor_quotient_i128" : "polyweft_floor_remainder_i128";
    if (llvm::Function* known = module_.getFunction(name)) return known;
    llvm::Type* wide = b_.getInt128Ty();
    f_ = llvm::Function::Create(llvm::FunctionType::get(wide, {wide, wide}, false), llvm::GlobalValue::InternalLinkage,
                                name, module_);
    f_->setAttributes(
        llvm::AttributeList::get(module_.getContext(), llvm::AttributeList::FunctionIndex,
                                 llvm::AttrBuilder(module_.getContext(), caller->getAttributes().getFnAttrs())));
    f_->addFnAttr(llvm::Attribute::NoInline);
    f_->setDoesNotAccessMemory();
    build();
    return f_;
  }

 private:
  llvm::Value* number(int64_t value, llvm::Type* type) {
    return llvm::ConstantInt::get(type, static_cast<uint64_t>(value), true);
  }
  llvm::Value* is(llvm::Value* x, int64_t value) { return b_.CreateICmpEQ(x, number(value, x->getType())); }

  void build() {
    llvm::Value *a = f_->getArg(0), *d = f_->getArg(1);
    auto* entry = block("entry");
    auto* plain = block("plain");
    auto* divide = block("divide");
    auto* narrow = block("narrow");
    auto* wide = block("wide");
    b_.SetInsertPoint(entry);
    b_.CreateCondBr(b_.CreateOr(is(d, 0), is(d, -1)), plain, divide);
    b_.SetInsertPoint(plain);
    llvm::Value* zero = number(0, a->getType());
    b_.CreateRet(what_ == WideDivision::remainder ? zero : b_.CreateSelect(is(d, 0), zero, b_.CreateNeg(a)));
    b_.SetInsertPoint(divide);
    llvm::Value *short_a = b_.CreateTrunc(a, b_.getInt64Ty()), *short_d = b_.CreateTrunc(d, b_.getInt64Ty());
    llvm::Value* fits = b_.CreateAnd(b_.CreateICmpEQ(b_.CreateSExt(short_a, a->getType()), a),
                                     b_.CreateICmpEQ(b_.CreateSExt(short_d, d->getType()), d));
    b_.CreateCondBr(fits, narrow, wide);
    b_.SetInsertPoint(narrow);
    b_.CreateRet(b_.CreateSExt(floored(short_a, short_d, b_.CreateSDiv(short_a, short_d)), a->getType()));
    b_.SetInsertPoint(wide);
    divide_bit_by_bit(a, d);
  }

  /// |a| / |d| with its sign put back.
  void divide_bit_by_bit(llvm::Value* a, llvm::Value* d) {
    llvm::Value* quotient = b_.CreateUDiv(magnitude(a), magnitude(d));
    llvm::Value* differs = b_.CreateICmpSLT(b_.CreateXor(a, d), number(0, a->getType()));
    b_.CreateRet(floored(a, d, b_.CreateSelect(differs, b_.CreateNeg(quotient), quotient)));
    if (auto* division = llvm::dyn_cast<llvm::BinaryOperator>(quotient)) llvm::expandDivision(division);
  }

  llvm::Value* magnitude(llvm::Value* x) {
    return b_.CreateSelect(b_.CreateICmpSLT(x, number(0, x->getType())), b_.CreateNeg(x), x);
  }

  /// From the quotient toward zero.
  llvm::Value* floored(llvm::Value* a, llvm::Value* d, llvm::Value* quotient) {
    llvm::Value* rest = b_.CreateSub(a, b_.CreateMul(quotient, d));
    llvm::Value* zero = number(0, a->getType());
    llvm::Value* opposite = b_.CreateICmpSLT(b_.CreateXor(rest, d), zero);
    llvm::Value* adjust = b_.CreateAnd(b_.CreateICmpNE(rest, zero), opposite);
    if (what_ == WideDivision::remainder) return b_.CreateAdd(rest, b_.CreateSelect(adjust, d, zero));
    return b_.CreateSub(quotient, b_.CreateZExt(adjust, a->getType()));
  }

  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(module_.getContext(), name, f_); }

  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  WideDivision what_;
  llvm::Function* f_ = nullptr;
};

}  // namespace

llvm::Value* floor_division(llvm::IRBuilder<>& b, WideDivision what, llvm::Value* dividend, llvm::Value* divisor) {
  llvm::Function* caller = b.GetInsertBlock()->getParent();
  llvm::Function* f = DivisionFunction(*caller->getParent(), what).function(caller);
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(dividend->getType());
  if (!vector) return b.CreateCall(f, {dividend, divisor});
  llvm::Value* out = llvm::PoisonValue::get(vector);
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane)
    out = b.CreateInsertElement(
        out, b.CreateCall(f, {b.CreateExtractElement(dividend, lane), b.CreateExtractElement(divisor, lane)}), lane);
  return out;
}

}  // namespace polyweft::targets
