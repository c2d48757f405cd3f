#include "targets/common/scalar_code.h"

#include <llvm/IR/PatternMatch.h>

#include <limits>
#include <numeric>

#include "ir/values/scalar.h"
#include "targets/common/math_code.h"

namespace polyweft::targets {
namespace {

bool is_narrow(ElementType type) {
  return type == ElementType::f16 || type == ElementType::bf16;
}
bool is_signed(ElementType type) {
  return type != ElementType::u8 && type != ElementType::boolean;
}
unsigned width_of(ElementType type) {
  return type == ElementType::boolean ? 1 : static_cast<unsigned>(8 * size_bytes(type));
}

}  // namespace

ScalarCode::ScalarCode(llvm::IRBuilder<>& builder, NumericsClass cls, const InstructionHooks& hooks)
    : b_(builder), float_(builder, hooks), cls_(cls) {}

llvm::Type* ScalarCode::register_type(ElementType type) const {
  if (type == ElementType::f64) return b_.getDoubleTy();
  if (is_native_half(type)) return b_.getHalfTy();
  if (is_float(type)) return b_.getFloatTy();
  return b_.getIntNTy(width_of(type));
}

llvm::Type* ScalarCode::memory_type(ElementType type) const {
  if (is_narrow(type)) return b_.getInt16Ty();
  if (type == ElementType::boolean) return b_.getInt8Ty();
  return register_type(type);
}

unsigned ScalarCode::lanes(llvm::Value* value) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector ? vector->getNumElements() : 1;
}

llvm::Value* ScalarCode::splat(llvm::Value* value, unsigned lanes_wanted) {
  return lanes_wanted == 1 || lanes(value) == lanes_wanted ? value : b_.CreateVectorSplat(lanes_wanted, value);
}

void ScalarCode::unify(std::vector<llvm::Value*>& values) {
  unsigned widest = 1;
  for (auto* v : values) widest = std::max(widest, lanes(v));
  for (auto*& v : values) v = splat(v, widest);
}

llvm::Type* ScalarCode::like(llvm::Type* element, llvm::Value* shape) const {
  const unsigned n = lanes(shape);
  return llvm::isa<llvm::FixedVectorType>(shape->getType())
             ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(element, n))
             : element;
}
llvm::Constant* ScalarCode::number(llvm::Value* shape, double value) const {
  return llvm::ConstantFP::get(shape->getType(), value);
}
llvm::Constant* ScalarCode::integer(llvm::Value* shape, int64_t value) const {
  return llvm::ConstantInt::get(shape->getType(), static_cast<uint64_t>(value), true, true);
}

llvm::Value* ScalarCode::constant(const Literal& literal) {
  llvm::Type* type = register_type(literal.type);
  if (is_float(literal.type)) return llvm::ConstantFP::get(type, literal.f);
  return llvm::ConstantInt::get(type, static_cast<uint64_t>(literal.i), is_signed(literal.type), true);
}

llvm::Value* ScalarCode::identity(Reducer reducer, ElementType type) {
  if (reducer == Reducer::argmax) return constant(ir::identity(Reducer::max, type));
  if (reducer == Reducer::argmin) return constant(ir::identity(Reducer::min, type));
  return constant(ir::identity(reducer, type));
}

// bf16, ties to even; NaN stays a quiet NaN. A value that came from 16 bits goes back as it is.
llvm::Value* ScalarCode::bf16_bits(llvm::Value* value) {
  using namespace llvm::PatternMatch;
  llvm::Value* known = nullptr;
  if (match(value, m_BitCast(m_Shl(m_ZExt(m_Value(known)), m_SpecificInt(16)))) &&
      known->getType()->getScalarType()->isIntegerTy(16) && lanes(known) == lanes(value))
    return known;
  if (llvm::Value* converted = hooks().bf16_bits(b_, value)) return converted;
  llvm::Value* bits = b_.CreateBitCast(value, like(b_.getInt32Ty(), value));
  llvm::Value* odd = b_.CreateAnd(b_.CreateLShr(bits, 16), integer(bits, 1));
  llvm::Value* rounded = b_.CreateLShr(b_.CreateAdd(bits, b_.CreateAdd(odd, integer(bits, 0x7fff))), 16);
  llvm::Value* quiet = b_.CreateOr(b_.CreateLShr(bits, 16), integer(bits, 0x40));
  llvm::Value* is_nan = b_.CreateFCmpUNO(value, value);
  return b_.CreateTrunc(b_.CreateSelect(is_nan, quiet, rounded), like(b_.getInt16Ty(), value));
}

llvm::Value* ScalarCode::to_memory(llvm::Value* value, ElementType type) {
  if (is_native_half(type)) return b_.CreateBitCast(value, like(b_.getInt16Ty(), value));
  if (type == ElementType::bf16) return bf16_bits(value);
  if (type == ElementType::f16) return float_.half_bits(value);
  if (type == ElementType::boolean) return b_.CreateZExt(value, like(b_.getInt8Ty(), value));
  return value;
}

llvm::Value* ScalarCode::from_memory(llvm::Value* value, ElementType type) {
  if (is_native_half(type)) return b_.CreateBitCast(value, like(b_.getHalfTy(), value));
  if (type == ElementType::bf16)
    return b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(value, like(b_.getInt32Ty(), value)), 16),
                            like(b_.getFloatTy(), value));
  if (type == ElementType::f16) return float_.from_half_bits(value);
  if (type == ElementType::boolean) return b_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  return value;
}

llvm::Value* ScalarCode::widened(llvm::Value* value, ElementType type) {
  return is_native_half(type) ? b_.CreateFPExt(value, like(b_.getFloatTy(), value)) : value;
}

// The language computes halves in f32 and rounds each result. Where the chip computes in halves + - * / and sqrt give
// the same bits: 24 digits are at least 2 * 11 + 2, so that the rounding to f32 between changes nothing (Figueroa, When
// is double rounding innocuous?, 1995).
llvm::Value* ScalarCode::round_narrow(llvm::Value* value, ElementType type) {
  if (is_native_half(type))
    return value->getType()->getScalarType()->isHalfTy() ? value : b_.CreateFPTrunc(value, like(b_.getHalfTy(), value));
  return is_narrow(type) ? from_memory(to_memory(value, type), type) : value;
}

llvm::Value* ScalarCode::minimum(bool max, ElementType type, llvm::Value* a, llvm::Value* b) {
  if (!is_float(type)) {
    const auto id = is_signed(type) ? (max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin)
                                    : (max ? llvm::Intrinsic::umax : llvm::Intrinsic::umin);
    return b_.CreateBinaryIntrinsic(id, a, b);
  }
  if (!hooks().can().maximum) {  // a NaN where either is one
    llvm::Value* const beyond = max ? b_.CreateFCmpOGT(a, b) : b_.CreateFCmpOLT(a, b);
    llvm::Value* const one = b_.CreateSelect(b_.CreateOr(beyond, b_.CreateFCmpUNO(a, a)), a, b);
    if (cls_ != NumericsClass::strict) return one;
    llvm::Type* bits = like(b_.getIntNTy(a->getType()->getScalarSizeInBits()), a);
    llvm::Value *x = b_.CreateBitCast(a, bits), *y = b_.CreateBitCast(b, bits);
    llvm::Value* const equal = b_.CreateBitCast(max ? b_.CreateAnd(x, y) : b_.CreateOr(x, y), a->getType());
    return b_.CreateSelect(b_.CreateFCmpOEQ(a, b), equal, one);
  }
  auto* out = b_.CreateBinaryIntrinsic(max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, a, b);
  if (cls_ != NumericsClass::strict)  // the sign of a zero is free
    if (auto* call = llvm::dyn_cast<llvm::Instruction>(out)) call->setHasNoSignedZeros(true);
  return out;
}

bool ScalarCode::has_chained_extremes(ElementType type) const {
  return hooks().has_chained_extremes() && cls_ != NumericsClass::strict &&
         (type == ElementType::f32 || type == ElementType::f64);
}

llvm::Value* ScalarCode::chained_extreme(const ExprNode& node, llvm::Value* a, llvm::Value* b) {
  return hooks().chained_extreme(b_, node.op == Op::max, a, b);
}

// Floor division: x // 0 = x % 0 = 0, least // -1 wraps; no trap: the divisor is replaced where it would. That by a
// power of two shifts and masks.
llvm::Value* ScalarCode::divide(bool modulo, ElementType type, llvm::Value* a, llvm::Value* b) {
  using namespace llvm::PatternMatch;
  const llvm::APInt* power = nullptr;
  if (match(b, m_Power2(power)) && !(is_signed(type) && power->isNegative())) {
    const auto count = static_cast<int64_t>(power->logBase2());
    if (modulo) return b_.CreateAnd(a, integer(a, (int64_t{1} << count) - 1));
    return is_signed(type) ? b_.CreateAShr(a, integer(a, count)) : b_.CreateLShr(a, integer(a, count));
  }
  llvm::Value* zero = integer(a, 0);
  llvm::Value* is_zero = b_.CreateICmpEQ(b, zero);
  if (!is_signed(type)) {
    llvm::Value* safe = b_.CreateSelect(is_zero, integer(a, 1), b);
    llvm::Value* out = modulo ? b_.CreateURem(a, safe) : b_.CreateUDiv(a, safe);
    return b_.CreateSelect(is_zero, zero, out);
  }
  llvm::Value* is_minus_one = b_.CreateICmpEQ(b, integer(a, -1));
  llvm::Value* safe = b_.CreateSelect(b_.CreateOr(is_zero, is_minus_one), integer(a, 1), b);
  llvm::Value* quotient = b_.CreateSDiv(a, safe);
  llvm::Value* rest = b_.CreateSub(a, b_.CreateMul(quotient, safe));
  llvm::Value* opposite = b_.CreateICmpSLT(b_.CreateXor(rest, safe), zero);
  llvm::Value* adjust = b_.CreateAnd(b_.CreateICmpNE(rest, zero), opposite);
  if (modulo) {
    llvm::Value* out = b_.CreateAdd(rest, b_.CreateSelect(adjust, safe, zero));
    return b_.CreateSelect(b_.CreateOr(is_zero, is_minus_one), zero, out);
  }
  llvm::Value* floored = b_.CreateSub(quotient, b_.CreateZExt(adjust, a->getType()));
  return b_.CreateSelect(is_zero, zero, b_.CreateSelect(is_minus_one, b_.CreateNeg(a), floored));
}

llvm::Value* ScalarCode::compare(Op op, ElementType type, llvm::Value* a, llvm::Value* b) {
  using P = llvm::CmpInst::Predicate;
  if (is_float(type)) {
    const P p = op == Op::eq   ? P::FCMP_OEQ
                : op == Op::ne ? P::FCMP_UNE
                : op == Op::lt ? P::FCMP_OLT
                : op == Op::le ? P::FCMP_OLE
                : op == Op::gt ? P::FCMP_OGT
                               : P::FCMP_OGE;
    return b_.CreateFCmp(p, a, b);
  }
  const bool s = is_signed(type);
  const P p = op == Op::eq   ? P::ICMP_EQ
              : op == Op::ne ? P::ICMP_NE
              : op == Op::lt ? (s ? P::ICMP_SLT : P::ICMP_ULT)
              : op == Op::le ? (s ? P::ICMP_SLE : P::ICMP_ULE)
              : op == Op::gt ? (s ? P::ICMP_SGT : P::ICMP_UGT)
                             : (s ? P::ICMP_SGE : P::ICMP_UGE);
  return b_.CreateICmp(p, a, b);
}

llvm::Value* ScalarCode::math(Op op, ElementType type, std::vector<llvm::Value*> args) {
  for (llvm::Value*& arg : args) arg = widened(arg, type);
  llvm::Value* out = emit_math(b_, float_, name_of(op), args[0], args.size() > 1 ? args[1] : nullptr);
  return round_narrow(out, type);
}

llvm::Value* ScalarCode::unary(Op op, ElementType type, llvm::Value* a) {
  switch (op) {
    case Op::neg:
      return is_float(type) ? b_.CreateFNeg(a) : b_.CreateNeg(a);
    case Op::bit_not:
    case Op::logical_not:
      return b_.CreateNot(a);
    case Op::sqrt:
      return round_narrow(b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a), type);
    case Op::floor:
      return float_.floor(a);
    case Op::ceil:
      return float_.ceil(a);
    case Op::round:
      return float_.round_even(a);
    case Op::abs:
      if (is_float(type)) return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
      return is_signed(type) ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, b_.getFalse()) : a;
    default:
      return math(op, type, {a});
  }
}

llvm::Value* ScalarCode::binary(Op op, ElementType type, llvm::Value* a, llvm::Value* b) {
  const bool f = is_float(type);
  using namespace llvm::PatternMatch;
  if (!f && op == Op::add && match(a, m_Zero())) return b;
  if (!f && op == Op::mul && match(a, m_One())) return b;
  if (!f && op == Op::mul && match(b, m_One())) return a;
  switch (op) {
    case Op::add:
      return f ? round_narrow(b_.CreateFAdd(a, b), type) : b_.CreateAdd(a, b);
    case Op::sub:
      return f ? round_narrow(b_.CreateFSub(a, b), type) : b_.CreateSub(a, b);
    case Op::mul:
      return f ? round_narrow(b_.CreateFMul(a, b), type) : b_.CreateMul(a, b);
    case Op::div:
      return round_narrow(b_.CreateFDiv(a, b), type);
    case Op::floor_div:
      return divide(false, type, a, b);
    case Op::floor_mod:
      return divide(true, type, a, b);
    case Op::bit_and:
    case Op::logical_and:
      return b_.CreateAnd(a, b);
    case Op::bit_or:
    case Op::logical_or:
      return b_.CreateOr(a, b);
    case Op::bit_xor:
      return b_.CreateXor(a, b);
    case Op::shl:
      return b_.CreateShl(a, b_.CreateAnd(b, integer(b, width_of(type) - 1)));
    case Op::shr: {
      llvm::Value* count = b_.CreateAnd(b, integer(b, width_of(type) - 1));
      return is_signed(type) ? b_.CreateAShr(a, count) : b_.CreateLShr(a, count);
    }
    case Op::min:
      return minimum(false, type, a, b);
    case Op::max:
      return minimum(true, type, a, b);
    default:
      return math(op, type, {a, b});
  }
}

llvm::Value* ScalarCode::fma(ElementType type, llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  return round_narrow(float_.fma(a, b, c), type);
}

llvm::Value* ScalarCode::combine(Reducer reducer, ElementType type, llvm::Value* state, llvm::Value* value) {
  switch (reducer) {
    case Reducer::sum:
      return binary(Op::add, type, state, value);
    case Reducer::prod:
      return binary(Op::mul, type, state, value);
    case Reducer::max:  // the test for a NaN, which is of the first operand, stays off the chain of states
      return minimum(true, type, value, state);
    case Reducer::min:
      return minimum(false, type, value, state);
    case Reducer::any:
      return b_.CreateOr(state, value);
    default:
      PW_CHECK(reducer == Reducer::all);
      return b_.CreateAnd(state, value);
  }
}

// Saturating, NaN gives 0.
// LLVM takes vectors of its saturating conversion apart, lane by lane. Here the value is brought into the range first;
// what is above it in i32 cannot be written as a float and is chosen after the conversion.
llvm::Value* ScalarCode::floats_to_ints(llvm::Value* value, ElementType to) {
  const bool is_float32 = value->getType()->getScalarType()->isFloatTy();
  const auto least = static_cast<double>(ir::least_of(to)), greatest = static_cast<double>(ir::greatest_of(to));
  const bool fits = to != ElementType::i32 || !is_float32;
  const double highest = fits ? greatest : 2147483520.0;  // the float below 2^31
  llvm::Value* above = b_.CreateSelect(b_.CreateFCmpOGT(value, number(value, least)), value,
                                       number(value, least));  // a NaN becomes the least
  llvm::Value* inside = b_.CreateSelect(b_.CreateFCmpOLT(above, number(value, highest)), above, number(value, highest));
  llvm::Value* out = b_.CreateFPToSI(inside, like(b_.getInt32Ty(), value));
  if (!fits) out = b_.CreateSelect(b_.CreateFCmpOGT(value, number(value, highest)), integer(out, INT32_MAX), out);
  out = b_.CreateSelect(b_.CreateFCmpUNO(value, value), integer(out, 0), out);
  return b_.CreateIntCast(out, like(register_type(to), value), true);
}

llvm::Value* ScalarCode::float_to_int(llvm::Value* value, ElementType to) {
  if (lanes(value) > 1 && size_bytes(to) <= 4 && to != ElementType::boolean) return floats_to_ints(value, to);
  const auto id = is_signed(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  llvm::Type* type = like(register_type(to), value);
  return b_.CreateIntrinsic(id, {type, value->getType()}, {value});
}

llvm::Value* ScalarCode::clamp_int(llvm::Value* value, bool source_signed, ElementType to) {
  const bool is_short = value->getType()->getScalarSizeInBits() <= 32 && size_bytes(to) <= 4;
  llvm::Type* wide = like(is_short ? b_.getInt32Ty() : b_.getInt64Ty(), value);
  llvm::Value* v = source_signed ? b_.CreateSExt(value, wide) : b_.CreateZExt(value, wide);
  v = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, v, integer(v, ir::least_of(to)));
  v = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, v, integer(v, ir::greatest_of(to)));
  return b_.CreateTrunc(v, like(register_type(to), value));
}

llvm::Value* ScalarCode::convert(llvm::Value* value, ElementType from, ElementType to, bool saturate) {
  if (from == to) return value;
  llvm::Type* type = like(register_type(to), value);
  if (is_native_half(to) && from == ElementType::f64) return b_.CreateFPTrunc(value, type);
  value = widened(value, from);
  if (is_float(from) && is_float(to)) {
    if (to == ElementType::f64) return b_.CreateFPExt(value, type);
    if (from != ElementType::f64) return round_narrow(value, to);
    if (!is_narrow(to)) return b_.CreateFPTrunc(value, type);
    return round_narrow(round_to_odd(value), to);
  }
  if (is_float(from)) return float_to_int(value, to);
  const bool s = is_signed(from);
  if (is_float(to)) {
    if (!is_narrow(to)) return s ? b_.CreateSIToFP(value, type) : b_.CreateUIToFP(value, type);
    // Through a double that keeps every 53-bit integer, then rounded to odd: one rounding in all for what fits.
    llvm::Type* wide = like(b_.getDoubleTy(), value);
    return round_narrow(round_to_odd(s ? b_.CreateSIToFP(value, wide) : b_.CreateUIToFP(value, wide)), to);
  }
  if (to == ElementType::boolean) return b_.CreateICmpNE(value, integer(value, 0));
  if (saturate) return clamp_int(value, s, to);
  return b_.CreateIntCast(value, type, s);
}

// double -> float without losing the sticky bit (Boldo and Melquiond 2008): the later rounding to 16 bits is then the
// only one.
llvm::Value* ScalarCode::round_to_odd(llvm::Value* value) {
  llvm::Type* f = like(b_.getFloatTy(), value);
  llvm::Type* i = like(b_.getInt32Ty(), value);
  llvm::Value* nearest = b_.CreateFPTrunc(value, f);
  llvm::Value* back = b_.CreateFPExt(nearest, value->getType());
  llvm::Value* bits = b_.CreateBitCast(nearest, i);
  llvm::Value* exact = b_.CreateFCmpUEQ(back, value);
  llvm::Value* is_odd = b_.CreateICmpNE(b_.CreateAnd(bits, integer(bits, 1)), integer(bits, 0));
  llvm::Value* too_far = b_.CreateFCmpOGT(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                                          b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value));
  llvm::Value* neighbour =
      b_.CreateSelect(too_far, b_.CreateSub(bits, integer(bits, 1)), b_.CreateAdd(bits, integer(bits, 1)));
  llvm::Value* chosen = b_.CreateSelect(b_.CreateOr(exact, is_odd), bits, neighbour);
  return b_.CreateBitCast(chosen, f);
}

llvm::Value* ScalarCode::apply(const ExprNode& node, std::vector<llvm::Value*> args) {
  unify(args);
  const ElementType operand = node.args.empty() ? node.type : node.args.back()->type;
  switch (node.op) {
    case Op::convert:
      return convert(args[0], operand, node.type, false);
    case Op::saturate:
      return convert(args[0], operand, node.type, true);
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
      return compare(node.op, operand, args[0], args[1]);
    case Op::select: {
      llvm::Value* out = b_.CreateSelect(args[0], args[1], args[2]);
      // Both sides are there, and a condition on data is guessed wrongly too often for a branch.
      if (auto* chosen = llvm::dyn_cast<llvm::SelectInst>(out); chosen && lanes(out) == 1)
        chosen->setMetadata(llvm::LLVMContext::MD_unpredictable, llvm::MDNode::get(b_.getContext(), {}));
      return out;
    }
    case Op::clamp:
      return minimum(false, node.type, minimum(true, node.type, args[0], args[1]), args[2]);
    case Op::fma:
      for (llvm::Value*& arg : args) arg = widened(arg, node.type);
      return fma(node.type, args[0], args[1], args[2]);
    default:
      break;
  }
  if (args.size() == 1) return unary(node.op, node.type, args[0]);
  PW_CHECK(args.size() == 2);
  return binary(node.op, node.type, args[0], args[1]);
}

}  // namespace polyweft::targets
