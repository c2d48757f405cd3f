#include "targets/common/math_code.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "ir/values/math.h"
#include "polyweft/result.h"

namespace polyweft::targets {
namespace {

struct LlvmMathBuilder {
  using F32 = llvm::Value*;
  using F64 = llvm::Value*;
  using I32 = llvm::Value*;
  using I64 = llvm::Value*;
  using Mask = llvm::Value*;

  llvm::IRBuilder<>& b;
  FloatCode& floats;
  unsigned lanes;  // 0: scalar

  llvm::Type* shaped(llvm::Type* element) const {
    return lanes ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(element, lanes)) : element;
  }
  llvm::Value* f32(double c) {
    return llvm::ConstantFP::get(shaped(b.getFloatTy()), static_cast<double>(static_cast<float>(c)));
  }
  llvm::Value* f64(double c) { return llvm::ConstantFP::get(shaped(b.getDoubleTy()), c); }
  llvm::Value* i32(int64_t c) {
    return llvm::ConstantInt::get(shaped(b.getInt32Ty()), static_cast<uint64_t>(c), true, true);
  }
  llvm::Value* i64(int64_t c) { return llvm::ConstantInt::get(shaped(b.getInt64Ty()), static_cast<uint64_t>(c), true); }

  llvm::Value* add(llvm::Value* x, llvm::Value* y) { return b.CreateFAdd(x, y); }
  llvm::Value* sub(llvm::Value* x, llvm::Value* y) { return b.CreateFSub(x, y); }
  llvm::Value* mul(llvm::Value* x, llvm::Value* y) { return b.CreateFMul(x, y); }
  llvm::Value* div(llvm::Value* x, llvm::Value* y) { return b.CreateFDiv(x, y); }
  llvm::Value* fma(llvm::Value* x, llvm::Value* y, llvm::Value* z) { return floats.fma(x, y, z); }
  llvm::Value* sqrt(llvm::Value* x) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x); }
  llvm::Value* floor(llvm::Value* x) { return floats.floor(x); }
  bool scales(llvm::Value* x) const { return floats.hooks().scales(x->getType()); }
  llvm::Value* scale(llvm::Value* x, llvm::Value* k) { return floats.hooks().scale(b, x, k); }

  llvm::Value* lt(llvm::Value* x, llvm::Value* y) {
    return x->getType()->isFPOrFPVectorTy() ? b.CreateFCmpOLT(x, y) : b.CreateICmpSLT(x, y);
  }
  llvm::Value* eq(llvm::Value* x, llvm::Value* y) {
    return x->getType()->isFPOrFPVectorTy() ? b.CreateFCmpOEQ(x, y) : b.CreateICmpEQ(x, y);
  }
  llvm::Value* land(llvm::Value* x, llvm::Value* y) { return b.CreateAnd(x, y); }
  llvm::Value* lor(llvm::Value* x, llvm::Value* y) { return b.CreateOr(x, y); }
  llvm::Value* lnot(llvm::Value* x) { return b.CreateNot(x); }
  llvm::Value* select(llvm::Value* m, llvm::Value* x, llvm::Value* y) { return b.CreateSelect(m, x, y); }

  llvm::Value* bits(llvm::Value* x) {
    const bool single = x->getType()->getScalarType()->isFloatTy();
    return b.CreateBitCast(x, shaped(single ? static_cast<llvm::Type*>(b.getInt32Ty()) : b.getInt64Ty()));
  }
  llvm::Value* from_bits_f32(llvm::Value* x) { return b.CreateBitCast(x, shaped(b.getFloatTy())); }
  llvm::Value* from_bits_f64(llvm::Value* x) { return b.CreateBitCast(x, shaped(b.getDoubleTy())); }
  llvm::Value* iadd(llvm::Value* x, llvm::Value* y) { return b.CreateAdd(x, y); }
  llvm::Value* isub(llvm::Value* x, llvm::Value* y) { return b.CreateSub(x, y); }
  llvm::Value* iand(llvm::Value* x, llvm::Value* y) { return b.CreateAnd(x, y); }
  llvm::Value* ior(llvm::Value* x, llvm::Value* y) { return b.CreateOr(x, y); }
  llvm::Value* ixor(llvm::Value* x, llvm::Value* y) { return b.CreateXor(x, y); }
  llvm::Value* shl(llvm::Value* x, int count) { return b.CreateShl(x, static_cast<uint64_t>(count)); }
  llvm::Value* lshr(llvm::Value* x, int count) { return b.CreateLShr(x, static_cast<uint64_t>(count)); }
  llvm::Value* ashr(llvm::Value* x, int count) { return b.CreateAShr(x, static_cast<uint64_t>(count)); }
  llvm::Value* widen(llvm::Value* x) { return b.CreateFPExt(x, shaped(b.getDoubleTy())); }
  llvm::Value* narrow(llvm::Value* x) { return b.CreateFPTrunc(x, shaped(b.getFloatTy())); }

  llvm::Value* lookup(const double* table, int size, llvm::Value* index) {
    llvm::GlobalVariable* global = table_global(table, size);
    if (lanes == 0) return b.CreateLoad(b.getDoubleTy(), b.CreateInBoundsGEP(b.getDoubleTy(), global, index));
    llvm::Value* out = llvm::PoisonValue::get(shaped(b.getDoubleTy()));
    for (unsigned lane = 0; lane < lanes; ++lane) {
      llvm::Value* at = b.CreateExtractElement(index, lane);
      out = b.CreateInsertElement(out, b.CreateLoad(b.getDoubleTy(), b.CreateInBoundsGEP(b.getDoubleTy(), global, at)),
                                  lane);
    }
    return out;
  }
  llvm::GlobalVariable* table_global(const double* table, int size) {
    llvm::Module* module = b.GetInsertBlock()->getModule();
    auto* data = llvm::ConstantDataArray::get(b.getContext(), llvm::ArrayRef<double>(table, static_cast<size_t>(size)));
    for (auto& global : module->globals())
      if (global.hasInitializer() && global.getInitializer() == data) return &global;
    return new llvm::GlobalVariable(*module, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data,
                                    "math_table");
  }
};

template <bool kSingle>
llvm::Value* dispatch(LlvmMathBuilder& builder, const std::string& name, llvm::Value* x, llvm::Value* y) {
  ir::math::Functions<LlvmMathBuilder, kSingle> f(builder);
  if (name == "exp") return f.exp(x);
  if (name == "log") return f.log(x);
  if (name == "tanh") return f.tanh(x);
  if (name == "sigmoid") return f.sigmoid(x);
  if (name == "rsqrt") return f.rsqrt(x);
  if (name == "erf") return f.erf(x);
  if (name == "sin") return f.sin(x);
  if (name == "cos") return f.cos(x);
  PW_CHECK(name == "pow");
  return f.pow(x, y);
}

}  // namespace

llvm::Value* emit_math(llvm::IRBuilder<>& builder, FloatCode& floats, const char* name, llvm::Value* x,
                       llvm::Value* y) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  LlvmMathBuilder math{builder, floats, vector ? vector->getNumElements() : 0};
  return x->getType()->getScalarType()->isFloatTy() ? dispatch<true>(math, name, x, y)
                                                    : dispatch<false>(math, name, x, y);
}

}  // namespace polyweft::targets
