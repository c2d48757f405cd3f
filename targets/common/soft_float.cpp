#include "targets/common/soft_float.h"

namespace polyweft::targets {
namespace {

/// Builds the private function double(double, double, double): a fused multiply-add in integers.
///
/// A finite number is m * 2^e with m < 2^53. The product (106 bits) and the addend move to bit 125 and 124 of 128,
/// where the one with the smaller exponent is shifted right and the bits that fall out are kept as one sticky bit. The
/// low 20 bits of the product are then zero: up to a distance of 20 nothing is lost, and past it at most two leading
/// bits can cancel, so the sticky bit is far below the rounding.
class FmaFunction {
 public:
  explicit FmaFunction(llvm::Module& module) : module_(module), b_(module.getContext()) {}

  llvm::Function* function(llvm::Function* caller) {
    static constexpr const char* kName = "polyweft.fma_f64";
    if (llvm::Function* known = module_.getFunction(kName)) return known;
    llvm::Type* f64 = b_.getDoubleTy();
    f_ = llvm::Function::Create(llvm::FunctionType::get(f64, {f64, f64, f64}, false),
                                llvm::GlobalValue::InternalLinkage, kName, module_);
    f_->setAttributes(
        llvm::AttributeList::get(module_.getContext(), llvm::AttributeList::FunctionIndex,
                                 llvm::AttrBuilder(module_.getContext(), caller->getAttributes().getFnAttrs())));
    f_->addFnAttr(llvm::Attribute::NoInline);
    f_->setDoesNotAccessMemory();
    build();
    return f_;
  }

 private:
  struct Number {
    llvm::Value* negative;
    llvm::Value* exponent;  // i64, of the last bit
    llvm::Value* mantissa;  // i64, bit 52 set
    llvm::Value* zero;
    llvm::Value* special;  // infinity or NaN
  };

  llvm::Value* i64(int64_t value) { return b_.getInt64(static_cast<uint64_t>(value)); }
  llvm::Value* wide(llvm::Value* value) { return b_.CreateZExt(value, b_.getInt128Ty()); }
  llvm::Value* wide(uint64_t value) { return llvm::ConstantInt::get(b_.getInt128Ty(), value); }
  llvm::Value* smallest(llvm::Value* x, llvm::Value* y) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y);
  }
  llvm::Value* greatest(llvm::Value* x, llvm::Value* y) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y);
  }

  Number unpacked(llvm::Value* x) {
    llvm::Value* bits = b_.CreateBitCast(x, b_.getInt64Ty());
    llvm::Value* magnitude = b_.CreateAnd(bits, i64(INT64_MAX));
    llvm::Value* biased = b_.CreateLShr(magnitude, 52);
    llvm::Value* fraction = b_.CreateAnd(bits, i64((int64_t{1} << 52) - 1));
    llvm::Value* is_subnormal = b_.CreateICmpEQ(biased, i64(0));
    // The leading bit of a subnormal's fraction moves to bit 52.
    llvm::Value* shift =
        b_.CreateSub(b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, fraction, b_.getFalse()), i64(11));
    Number n;
    n.negative = b_.CreateICmpSLT(bits, i64(0));
    n.mantissa = b_.CreateSelect(is_subnormal, b_.CreateShl(fraction, smallest(shift, i64(52))),
                                 b_.CreateOr(fraction, i64(int64_t{1} << 52)));
    n.exponent = b_.CreateSelect(is_subnormal, b_.CreateSub(i64(-1074), shift), b_.CreateSub(biased, i64(1075)));
    n.zero = b_.CreateICmpEQ(magnitude, i64(0));
    n.special = b_.CreateICmpEQ(biased, i64(2047));
    return n;
  }
  llvm::Value* shifted_with_sticky(llvm::Value* value, llvm::Value* count) {
    llvm::Value* shift = wide(smallest(count, i64(127)));
    llvm::Value* kept = b_.CreateLShr(value, shift);
    llvm::Value* lost = b_.CreateICmpNE(b_.CreateShl(kept, shift), value);
    return b_.CreateOr(kept, wide(lost));
  }

  void build() {
    llvm::Value *x = f_->getArg(0), *y = f_->getArg(1), *z = f_->getArg(2);
    b_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", f_));
    const Number a = unpacked(x), b = unpacked(y), c = unpacked(z);
    llvm::Value* product = b_.CreateFMul(x, y);
    // Exact or special products: the plain operations are right. With z = 0 the sign of an underflowing product stays.
    return_if(b_.CreateOr(b_.CreateOr(a.zero, b.zero), b_.CreateOr(a.special, b.special)),
              [&] { return b_.CreateFAdd(product, z); });
    return_if(c.special, [&] { return z; });
    return_if(c.zero, [&] { return product; });
    llvm::Value* p = b_.CreateShl(b_.CreateMul(wide(a.mantissa), wide(b.mantissa)), wide(20));
    llvm::Value* p_exponent = b_.CreateSub(b_.CreateAdd(a.exponent, b.exponent), i64(20));
    llvm::Value* q = b_.CreateShl(wide(c.mantissa), wide(72));
    llvm::Value* q_exponent = b_.CreateSub(c.exponent, i64(72));
    llvm::Value* distance = b_.CreateSub(p_exponent, q_exponent);
    p = shifted_with_sticky(p, greatest(b_.CreateNeg(distance), i64(0)));
    q = shifted_with_sticky(q, greatest(distance, i64(0)));
    llvm::Value* negative = b_.CreateXor(a.negative, b.negative);
    llvm::Value* opposite = b_.CreateXor(negative, c.negative);
    llvm::Value* less = b_.CreateICmpULT(p, q);
    llvm::Value* difference = b_.CreateSelect(less, b_.CreateSub(q, p), b_.CreateSub(p, q));
    llvm::Value* sum = b_.CreateSelect(opposite, difference, b_.CreateAdd(p, q));
    negative = b_.CreateXor(negative, b_.CreateAnd(opposite, less));
    return_if(b_.CreateICmpEQ(sum, wide(uint64_t{0})),
              [&] { return static_cast<llvm::Value*>(llvm::ConstantFP::get(b_.getDoubleTy(), 0.0)); });
    b_.CreateRet(rounded(negative, sum, greatest(p_exponent, q_exponent)));
  }
  template <class F>
  void return_if(llvm::Value* condition, const F& value) {
    auto* leave = llvm::BasicBlock::Create(module_.getContext(), "leave", f_);
    auto* stay = llvm::BasicBlock::Create(module_.getContext(), "stay", f_);
    b_.CreateCondBr(condition, leave, stay);
    b_.SetInsertPoint(leave);
    b_.CreateRet(value());
    b_.SetInsertPoint(stay);
  }
  /// sum * 2^exponent to nearest even; a subnormal result keeps fewer bits.
  llvm::Value* rounded(llvm::Value* negative, llvm::Value* sum, llvm::Value* exponent) {
    llvm::Value* zeros = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, sum, b_.getTrue());
    llvm::Value* left = b_.CreateShl(sum, zeros);
    llvm::Value* low = b_.CreateTrunc(left, b_.getInt64Ty());
    llvm::Value* head = b_.CreateOr(b_.CreateLShr(left, wide(64)), wide(b_.CreateICmpNE(low, i64(0))));
    llvm::Value* last = b_.CreateAdd(b_.CreateSub(exponent, b_.CreateTrunc(zeros, b_.getInt64Ty())), i64(64));
    llvm::Value* drop = smallest(greatest(i64(11), b_.CreateSub(i64(-1074), last)), i64(65));
    llvm::Value* kept = b_.CreateLShr(head, wide(drop));
    llvm::Value* rest = b_.CreateSub(head, b_.CreateShl(kept, wide(drop)));
    llvm::Value* half = b_.CreateShl(wide(1), b_.CreateSub(wide(drop), wide(1)));
    llvm::Value* odd = b_.CreateTrunc(kept, b_.getInt1Ty());
    llvm::Value* up = b_.CreateOr(b_.CreateICmpUGT(rest, half), b_.CreateAnd(b_.CreateICmpEQ(rest, half), odd));
    llvm::Value* mantissa = b_.CreateTrunc(b_.CreateAdd(kept, wide(up)), b_.getInt64Ty());
    // The implicit bit and a carry out of the rounding both add one to the exponent field.
    llvm::Value* field = b_.CreateAdd(b_.CreateAdd(last, drop), i64(1074));
    field = greatest(field, i64(0));
    llvm::Value* overflows = b_.CreateICmpSGE(field, i64(2046));
    llvm::Value* magnitude =
        b_.CreateSelect(overflows, i64(int64_t{2047} << 52), b_.CreateAdd(b_.CreateShl(field, 52), mantissa));
    llvm::Value* sign = b_.CreateShl(b_.CreateZExt(negative, b_.getInt64Ty()), 63);
    return b_.CreateBitCast(b_.CreateOr(magnitude, sign), b_.getDoubleTy());
  }

  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  llvm::Function* f_ = nullptr;
};

bool is_single(llvm::Value* x) {
  return x->getType()->getScalarType()->isFloatTy();
}

}  // namespace

llvm::Type* FloatCode::like(llvm::Type* element, llvm::Value* shape) const {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(shape->getType());
  return vector ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(element, vector->getNumElements())) : element;
}

llvm::Constant* FloatCode::integer(llvm::Value* shape, uint64_t value) const {
  return llvm::ConstantInt::get(shape->getType(), value);
}

llvm::Value* FloatCode::fma(llvm::Value* x, llvm::Value* y, llvm::Value* z) {
  if (hooks_.can().fused_products) return b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
  return is_single(x) ? fma_through_double(x, y, z) : fma_lane_by_lane(x, y, z);
}

// The product is exact in double and its sum with z is rounded to odd (Boldo and Melquiond 2008), so that the rounding
// to single is the only one: the error of the sum by Knuth's two-sum says on which side the exact value lies.
llvm::Value* FloatCode::fma_through_double(llvm::Value* x, llvm::Value* y, llvm::Value* z) {
  llvm::Type* f64 = like(b_.getDoubleTy(), x);
  llvm::Value* p = b_.CreateFMul(b_.CreateFPExt(x, f64), b_.CreateFPExt(y, f64));
  llvm::Value* c = b_.CreateFPExt(z, f64);
  llvm::Value* sum = b_.CreateFAdd(p, c);
  llvm::Value* back = b_.CreateFSub(sum, p);
  llvm::Value* error = b_.CreateFAdd(b_.CreateFSub(p, b_.CreateFSub(sum, back)), b_.CreateFSub(c, back));
  llvm::Value* bits = b_.CreateBitCast(sum, like(b_.getInt64Ty(), x));
  llvm::Value* inexact = b_.CreateFCmpONE(error, llvm::ConstantFP::get(f64, 0.0));
  llvm::Value* even = b_.CreateICmpEQ(b_.CreateAnd(bits, integer(bits, 1)), integer(bits, 0));
  llvm::Value* error_bits = b_.CreateBitCast(error, bits->getType());
  // Same signs: the exact value is farther from zero.
  llvm::Value* inwards = b_.CreateICmpSLT(b_.CreateXor(bits, error_bits), integer(bits, 0));
  llvm::Value* neighbour =
      b_.CreateAdd(bits, b_.CreateSelect(inwards, llvm::Constant::getAllOnesValue(bits->getType()), integer(bits, 1)));
  llvm::Value* odd = b_.CreateSelect(b_.CreateAnd(inexact, even), neighbour, bits);
  return b_.CreateFPTrunc(b_.CreateBitCast(odd, f64), x->getType());
}

llvm::Value* FloatCode::fma_lane_by_lane(llvm::Value* x, llvm::Value* y, llvm::Value* z) {
  llvm::Function* caller = b_.GetInsertBlock()->getParent();
  llvm::Function* function = FmaFunction(*caller->getParent()).function(caller);
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (!vector) return b_.CreateCall(function, {x, y, z});
  llvm::Value* out = llvm::PoisonValue::get(vector);
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    llvm::Value* one = b_.CreateCall(function, {b_.CreateExtractElement(x, lane), b_.CreateExtractElement(y, lane),
                                                b_.CreateExtractElement(z, lane)});
    out = b_.CreateInsertElement(out, one, lane);
  }
  return out;
}

llvm::Value* FloatCode::with_sign_of(llvm::Value* magnitude, llvm::Value* sign) {
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign);
}

// 2^52 (2^23) has no bits behind the point, so adding it to a smaller magnitude rounds that to an integer, ties to
// even.
llvm::Value* FloatCode::rounded_by_addition(llvm::Value* x) {
  llvm::Constant* big = llvm::ConstantFP::get(x->getType(), is_single(x) ? 0x1p23 : 0x1p52);
  llvm::Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value* rounded = with_sign_of(b_.CreateFSub(b_.CreateFAdd(magnitude, big), big), x);
  return b_.CreateSelect(b_.CreateFCmpOLT(magnitude, big), rounded, x);
}

llvm::Value* FloatCode::round_even(llvm::Value* x) {
  return hooks_.can().rounding ? b_.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, x) : rounded_by_addition(x);
}

llvm::Value* FloatCode::floor(llvm::Value* x) {
  if (hooks_.can().rounding) return b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x);
  llvm::Value* near = rounded_by_addition(x);
  llvm::Value* below = b_.CreateFSub(near, llvm::ConstantFP::get(x->getType(), 1.0));
  return with_sign_of(b_.CreateSelect(b_.CreateFCmpOGT(near, x), below, near), x);
}

llvm::Value* FloatCode::ceil(llvm::Value* x) {
  if (hooks_.can().rounding) return b_.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, x);
  llvm::Value* near = rounded_by_addition(x);
  llvm::Value* above = b_.CreateFAdd(near, llvm::ConstantFP::get(x->getType(), 1.0));
  return with_sign_of(b_.CreateSelect(b_.CreateFCmpOLT(near, x), above, near), x);
}

// A half's exponent and fraction as those of a float are the value times 2^-112; subnormals included, as ours are never
// flushed.
llvm::Value* FloatCode::from_half_bits(llvm::Value* bits) {
  llvm::Type* f32 = like(b_.getFloatTy(), bits);
  if (hooks_.can().half_conversions) return b_.CreateFPExt(b_.CreateBitCast(bits, like(b_.getHalfTy(), bits)), f32);
  llvm::Value* wide = b_.CreateZExt(bits, like(b_.getInt32Ty(), bits));
  llvm::Value* magnitude = b_.CreateAnd(wide, integer(wide, 0x7fff));
  llvm::Value* moved = b_.CreateShl(magnitude, 13);
  llvm::Value* finite = b_.CreateBitCast(
      b_.CreateFMul(b_.CreateBitCast(moved, f32), llvm::ConstantFP::get(f32, 0x1p112)), wide->getType());
  llvm::Value* special = b_.CreateOr(moved, integer(wide, 0x7f800000));
  llvm::Value* value = b_.CreateSelect(b_.CreateICmpUGE(magnitude, integer(wide, 0x7c00)), special, finite);
  llvm::Value* sign = b_.CreateShl(b_.CreateAnd(wide, integer(wide, 0x8000)), 16);
  return b_.CreateBitCast(b_.CreateOr(value, sign), f32);
}

// Normal results: add half of the last kept bit, ties to even, and drop 13 bits. Subnormal ones: the last bit of 0.5 is
// 2^-24, the last bit of a subnormal half, so adding 0.5 rounds as wanted and leaves the half's bits at the end.
llvm::Value* FloatCode::half_bits(llvm::Value* x) {
  llvm::Type* i16 = like(b_.getInt16Ty(), x);
  if (hooks_.can().half_conversions) return b_.CreateBitCast(b_.CreateFPTrunc(x, like(b_.getHalfTy(), x)), i16);
  llvm::Value* bits = b_.CreateBitCast(x, like(b_.getInt32Ty(), x));
  llvm::Value* magnitude = b_.CreateAnd(bits, integer(bits, 0x7fffffff));
  llvm::Value* odd = b_.CreateAnd(b_.CreateLShr(bits, 13), integer(bits, 1));
  llvm::Value* near = b_.CreateAdd(magnitude, b_.CreateAdd(odd, integer(bits, 0xfff)));
  llvm::Value* normal = b_.CreateLShr(b_.CreateSub(near, integer(bits, uint64_t{112} << 23)), 13);
  llvm::Constant* half = llvm::ConstantFP::get(x->getType(), 0.5);
  llvm::Value* sum = b_.CreateBitCast(b_.CreateFAdd(b_.CreateBitCast(magnitude, x->getType()), half), bits->getType());
  llvm::Value* subnormal = b_.CreateSub(sum, integer(bits, 0x3f000000));
  llvm::Value* value = b_.CreateSelect(b_.CreateICmpULT(magnitude, integer(bits, 0x38800000)), subnormal, normal);
  value = b_.CreateSelect(b_.CreateICmpUGE(magnitude, integer(bits, 0x477ff000)), integer(bits, 0x7c00), value);
  value = b_.CreateSelect(b_.CreateICmpUGT(magnitude, integer(bits, 0x7f800000)), integer(bits, 0x7e00), value);
  llvm::Value* sign = b_.CreateAnd(b_.CreateLShr(bits, 16), integer(bits, 0x8000));
  return b_.CreateTrunc(b_.CreateOr(value, sign), i16);
}

}  // namespace polyweft::targets
