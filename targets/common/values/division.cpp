#include "targets/common/values/division.h"

#include <cmath>

namespace polyweft::targets {
namespace {

/// Bits of the magnitudes between which the remainders are exact.
struct Bounds {
  uint64_t least, most, least_divisor, most_divisor;
};
Bounds bounds_of(ElementType type) {
  const auto power = [&](int exponent) {
    return type == ElementType::f32 ? static_cast<uint64_t>(exponent + 127) << 23
                                    : static_cast<uint64_t>(exponent + 1023) << 52;
  };
  return type == ElementType::f32 ? Bounds{power(-96), power(96), power(-24), power(24)}
                                  : Bounds{power(-800), power(800), power(-100), power(100)};
}

/// An odd whole number of few bits, as the 9 of a mean of nine.
bool is_small_odd(llvm::Value* d) {
  const auto* number = llvm::dyn_cast<llvm::ConstantFP>(d);
  if (!number || !number->getValueAPF().isInteger()) return false;
  const double value =
      std::fabs(number->getType()->isFloatTy() ? static_cast<double>(number->getValueAPF().convertToFloat())
                                               : number->getValueAPF().convertToDouble());
  constexpr double kMost = 1 << 20;
  return value >= 3 && value < kMost && std::fmod(value, 2) == 1;
}

constexpr unsigned kQuotientsADivision = 4;
constexpr unsigned kSlowDivisionBits = 512;  ///< narrower divisions are no slower than what replaces them

}  // namespace

bool Division::divides_by_reciprocal(const ExprNode& node, llvm::Value* a, llvm::Value* d) const {
  if (node.op != Op::div || (node.type != ElementType::f32 && node.type != ElementType::f64)) return false;
  if (const auto* number = llvm::dyn_cast<llvm::ConstantFP>(d);
      number && number->getValueAPF().getExactInverse(nullptr))
    return false;
  if (!scalar_.can().fused_products || lanes_.width == 1 || ScalarCode::lanes(a) != lanes_.width ||
      ScalarCode::lanes(d) != 1)
    return false;
  return is_small_odd(d) || (nest_.cls != NumericsClass::strict &&
                             lanes_.width * 8 * static_cast<unsigned>(size_bytes(node.type)) >= kSlowDivisionBits);
}

// With r = 1/d rounded, q = a r is within two ulps of a/d. The remainder a - q d is a small multiple of q's ulp: exact,
// for subnormal q too. The sum of q and remainder times r differs from a/d by less than 2^-21 ulps, while an odd d
// keeps a/d at least 1/(2 d) ulps from the middle of two numbers: what is rounded is a/d. Where the remainder is zero,
// q is the quotient, its sign included; where it is none (infinities, NaN), q is right as well.
llvm::Value* Division::quotient_by_odd(ElementType type, llvm::Value* a, llvm::Value* d) {
  llvm::Value* wide = scalar_.splat(d, lanes_.width);
  llvm::Value* r = b_.CreateFDiv(llvm::ConstantFP::get(wide->getType(), 1), wide);
  llvm::Value* q = b_.CreateFMul(a, r);
  llvm::Value* remainder = scalar_.fma(type, q, b_.CreateFNeg(wide), a);
  llvm::Value* better = scalar_.fma(type, remainder, r, q);
  return b_.CreateSelect(b_.CreateFCmpONE(remainder, llvm::Constant::getNullValue(remainder->getType())), better, q);
}

// The divider works beside the ports of multiply-adds: of four quotients in a row it makes one (some 10 cycles in 512
// bits, the others 4 to 5 each).
llvm::Value* Division::quotient(ElementType type, llvm::Value* a, llvm::Value* d) {
  if (is_small_odd(d)) return quotient_by_odd(type, a, d);
  if (++quotients_ % kQuotientsADivision == 0) return b_.CreateFDiv(a, scalar_.splat(d, lanes_.width));
  const Bounds bounds = bounds_of(type);
  llvm::Type* bits = b_.getIntNTy(static_cast<unsigned>(8 * size_bytes(type)));
  llvm::Type* lanes = llvm::FixedVectorType::get(bits, lanes_.width);
  const auto number = [&](uint64_t value) { return llvm::ConstantInt::get(bits, value); };
  const uint64_t magnitude = type == ElementType::f32 ? 0x7fffffff : 0x7fffffffffffffff;
  // Twice the bits is the magnitude without a mask. A divisor out of bounds makes every element one: x >= 0.
  llvm::Value* divisor = b_.CreateAnd(b_.CreateBitCast(d, bits), number(magnitude));
  llvm::Value* is_good = b_.CreateICmpULE(b_.CreateSub(divisor, number(bounds.least_divisor)),
                                          number(bounds.most_divisor - bounds.least_divisor));
  llvm::Value* too_large = b_.CreateSelect(is_good, number(2 * (bounds.most - bounds.least) + 1), number(0));
  llvm::Value* whole = b_.CreateBitCast(a, lanes);
  llvm::Value* twice = b_.CreateAdd(whole, whole);
  llvm::Value* is_out = b_.CreateICmpUGE(b_.CreateSub(twice, llvm::ConstantInt::get(lanes, 2 * bounds.least)),
                                         scalar_.splat(too_large, lanes_.width));
  const auto any = [&](llvm::Value* mask) {
    return b_.CreateICmpNE(b_.CreateBitCast(mask, b_.getIntNTy(lanes_.width)), b_.getIntN(lanes_.width, 0));
  };
  llvm::Value* is_suspect = any(is_out);

  llvm::Value* one = llvm::ConstantFP::get(d->getType(), 1);
  llvm::Value* high = b_.CreateFDiv(one, d);
  llvm::Value* low = b_.CreateFMul(scalar_.fma(type, high, b_.CreateFNeg(d), one), high);
  llvm::Value* r = scalar_.splat(high, lanes_.width);
  llvm::Value* r_low = scalar_.splat(low, lanes_.width);
  llvm::Value* wide = scalar_.splat(d, lanes_.width);
  llvm::Value* minus = b_.CreateFNeg(wide);
  llvm::Value* q = scalar_.fma(type, a, r, b_.CreateFMul(a, r_low));
  q = scalar_.fma(type, scalar_.fma(type, q, minus, a), r, q);

  auto& context = module_.getContext();
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* suspect = llvm::BasicBlock::Create(context, "suspect", function_);
  llvm::BasicBlock* divide = llvm::BasicBlock::Create(context, "divide", function_);
  llvm::BasicBlock* join = llvm::BasicBlock::Create(context, "divided", function_);
  llvm::MDNode* rarely = llvm::MDBuilder(context).createBranchWeights(1, 1000);
  b_.CreateCondBr(is_suspect, suspect, join, rarely);
  // Zeros are common, and right: their sign is free in the classes that come here.
  b_.SetInsertPoint(suspect);
  llvm::Value* is_zero =
      b_.CreateAnd(b_.CreateICmpEQ(twice, llvm::ConstantInt::get(lanes, 0)), scalar_.splat(is_good, lanes_.width));
  b_.CreateCondBr(any(b_.CreateAnd(is_out, b_.CreateNot(is_zero))), divide, join);
  b_.SetInsertPoint(divide);
  llvm::Value* divided = b_.CreateFDiv(a, wide);
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
  llvm::PHINode* out = b_.CreatePHI(q->getType(), 3);
  out->addIncoming(q, before);
  out->addIncoming(q, suspect);
  out->addIncoming(divided, divide);
  return out;
}

}  // namespace polyweft::targets
