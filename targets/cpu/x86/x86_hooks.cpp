#include "targets/cpu/x86/x86_hooks.h"

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/Support/MathExtras.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "targets/cpu/x86/x86_tiles.h"

namespace polyweft::targets {
namespace {

/// AVX-512 with vectors of all sizes.
bool has_avx512(const Target& target) {
  return target.has("avx512f") && target.has("avx512vl");
}

InstructionCapabilities capabilities_of(const Target& target) {
  InstructionCapabilities out;
  out.vector_bits = target.machine.units.vector_bits;
  out.fused_products = target.can.fused_products;
  out.rounding = target.has("sse4.1");
  out.half_conversions = target.has("f16c") || target.has("avx512f");
  out.half_arithmetic = target.can.half_arithmetic;
  out.masked_vectors = out.gathers = out.line_permutes = has_avx512(target);
  out.lane_funnels = target.has("avx512vbmi2");
  out.least_masked_bits = has_avx512(target) ? 128 : target.has("avx512f") ? 512 : 0;
  set_register_shares(out, target.machine.units.vector_registers);
  return out;
}

unsigned lanes_of(const llvm::Value* value) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector ? vector->getNumElements() : 1;
}
llvm::Constant* integer(const llvm::Value* shape, uint64_t value) {
  return llvm::ConstantInt::get(shape->getType(), value);
}
bool has_singles(llvm::Type* type) {
  return type->getScalarType()->isFloatTy();
}
bool is_one_byte(ElementType type) {
  return type == ElementType::i8 || type == ElementType::u8;
}

llvm::Value* some_lanes(llvm::IRBuilder<>& b, llvm::Value* vector, unsigned first, unsigned count) {
  std::vector<int> from(count);
  std::iota(from.begin(), from.end(), static_cast<int>(first));
  return b.CreateShuffleVector(vector, from);
}

llvm::CallInst* without_effects(llvm::CallInst* call) {
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  return call;
}

class X86Hooks final : public InstructionHooks {
 public:
  explicit X86Hooks(const Target& target) : InstructionHooks(capabilities_of(target)) {
    const bool has_narrow_dots = target.has("avxvnni") || (target.has("avx512vnni") && target.has("avx512vl"));
    byte_dot_bits_ = !has_narrow_dots ? 0 : target.has("avx512vnni") ? 512 : 256;
    word_dot_bits_ = target.has("avx512bw") ? 512 : target.has("avx2") ? 256 : target.has("sse2") ? 128 : 0;
    has_bf16_ = target.has("avx512bf16") && target.has("avx512vl") && target.has("avx512bw");
    has_avx512_ = has_avx512(target);
    widest_ = target.has("avx512f") ? 512 : target.has("avx") ? 256 : 128;
    widest_short_ = std::min(widest_, target.has("avx512bw") ? 512U : 256U);
  }

  // Four products of bytes (vpdpbusd), or two of words (vpmaddwd).
  int64_t dot_products(ElementType a, ElementType b, unsigned lanes) const override {
    const unsigned bits = 32 * lanes;
    if (bits > word_dot_bits_ || (lanes != 4 && lanes != 8 && lanes != 16)) return 0;
    return is_one_byte(a) && is_one_byte(b) && bits <= byte_dot_bits_ ? 4 : 2;
  }

  // The unit multiplies an unsigned byte a by a signed byte b:
  //
  //   s8 * s8   (a + 128) * b - 128 * b            a + 128 is a with its sign bit inverted, 128 * b another product
  //   u8 * u8   a * (b - 128) - a * (-128)
  //   others    as they are, or widened to words: products of words and their pairs are exact in 32 bits (-32768 *
  //   -32768 * 2 wraps as the sum does)
  llvm::Value* dot(llvm::IRBuilder<>& b, llvm::Value* sums, DotOperand x, DotOperand y) const override {
    const unsigned lanes = lanes_of(sums);
    const bool x_is_signed = x.type != ElementType::u8, y_is_signed = y.type != ElementType::u8;
    if (lanes_of(x.elements) == 2 * lanes) {
      const auto words = [&](llvm::Value* v, bool with_sign) {
        llvm::Type* type = v->getType()->getWithNewBitWidth(16);
        return with_sign ? b.CreateSExt(v, type) : b.CreateZExt(v, type);
      };
      const llvm::Intrinsic::ID pairs = lanes == 16  ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                                        : lanes == 8 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                                                     : llvm::Intrinsic::x86_sse2_pmadd_wd;
      return b.CreateAdd(sums,
                         b.CreateIntrinsic(pairs, {words(x.elements, x_is_signed), words(y.elements, y_is_signed)}));
    }
    const llvm::Intrinsic::ID unit = lanes == 16  ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
                                     : lanes == 8 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                                                  : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
    const auto add = [&](llvm::Value* sum, llvm::Value* without_sign, llvm::Value* with_sign) {
      return b.CreateIntrinsic(unit, {sum, without_sign, with_sign});
    };
    llvm::Value *one = x.elements, *other = y.elements;
    if (x_is_signed != y_is_signed) return x_is_signed ? add(sums, other, one) : add(sums, one, other);
    llvm::Value *least = integer(one, 0x80), *zero = llvm::Constant::getNullValue(sums->getType());
    if (x_is_signed) return b.CreateSub(add(sums, b.CreateXor(one, least), other), add(zero, least, other));
    return b.CreateSub(add(sums, one, b.CreateXor(other, least)), add(zero, one, least));
  }

  // The unit takes numbers with the exponent 0 for zero. They get the exponent 1 for it, whose last digit is worth as
  // much, and lose it again: a carry out of the digits gives 2^-126 as it should.
  llvm::Value* bf16_bits(llvm::IRBuilder<>& b, llvm::Value* value) const override {
    const unsigned lanes = lanes_of(value);
    if (!has_bf16_ || lanes < 4 || !llvm::isPowerOf2_32(lanes)) return nullptr;
    if (lanes > 32) {
      llvm::Value *low = bf16_bits(b, some_lanes(b, value, 0, lanes / 2)),
                  *high = bf16_bits(b, some_lanes(b, value, lanes / 2, lanes / 2));
      std::vector<int> both(lanes);
      std::iota(both.begin(), both.end(), 0);
      return b.CreateShuffleVector(low, high, both);
    }
    llvm::Value* bits = b.CreateBitCast(value, llvm::FixedVectorType::get(b.getInt32Ty(), lanes));
    llvm::Value* is_tiny = b.CreateICmpEQ(b.CreateAnd(bits, integer(bits, 0x7f800000)), integer(bits, 0));
    llvm::Value* normal =
        b.CreateBitCast(b.CreateSelect(is_tiny, b.CreateOr(bits, integer(bits, 0x00800000)), bits), value->getType());
    auto* words = llvm::FixedVectorType::get(b.getInt16Ty(), lanes);
    llvm::Value* out = lanes < 32 ? b.CreateFPTrunc(normal, llvm::FixedVectorType::get(b.getBFloatTy(), lanes))
                                  : b.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_cvtne2ps2bf16_512, {},
                                                      {some_lanes(b, normal, 16, 16), some_lanes(b, normal, 0, 16)});
    out = b.CreateBitCast(out, words);
    return b.CreateSelect(is_tiny, b.CreateSub(out, integer(out, 0x80)), out);
  }

  bool scales(llvm::Type* type) const override {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    const unsigned bits = vector ? vector->getNumElements() * type->getScalarSizeInBits() : 0;
    return has_avx512_ && (bits == 128 || bits == 256 || bits == 512);
  }

  // vscalefps and vscalefpd
  llvm::Value* scale(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* k) const override {
    namespace id = llvm::Intrinsic;
    const bool single = has_singles(x->getType());
    const unsigned lanes = lanes_of(x), bits = lanes * (single ? 32 : 64);
    const llvm::Intrinsic::ID of_single = bits == 512   ? id::x86_avx512_mask_scalef_ps_512
                                          : bits == 256 ? id::x86_avx512_mask_scalef_ps_256
                                                        : id::x86_avx512_mask_scalef_ps_128;
    const llvm::Intrinsic::ID of_double = bits == 512   ? id::x86_avx512_mask_scalef_pd_512
                                          : bits == 256 ? id::x86_avx512_mask_scalef_pd_256
                                                        : id::x86_avx512_mask_scalef_pd_128;
    // Results below the normal numbers cost a microcode assist, 250 cycles a vector: lanes whose result is 0 (|x|
    // < 1.5; a masked score of -inf) are left out.
    llvm::Value* stays = b.CreateFCmpUGE(k, llvm::ConstantFP::get(x->getType(), single ? -150.5 : -1075.5));
    const unsigned flags = std::max(lanes, 8U);
    if (lanes < flags) {
      std::vector<int> padded;
      for (unsigned lane = 0; lane < flags; ++lane) padded.push_back(static_cast<int>(std::min(lane, lanes)));
      stays = b.CreateShuffleVector(stays, llvm::Constant::getNullValue(stays->getType()), padded);
    }
    std::vector<llvm::Value*> arguments = {x, k, llvm::Constant::getNullValue(x->getType()),
                                           b.CreateBitCast(stays, b.getIntNTy(flags))};
    if (bits == 512) arguments.push_back(b.getInt32(4));  // the rounding mode of the thread
    return b.CreateIntrinsic(single ? of_single : of_double, {}, arguments);
  }

  bool has_chained_extremes() const override { return has_avx512_; }

  // The instruction gives its second operand where one is no number; where the first is none, the mask leaves the
  // first. A comparison of whole registers makes the mask in one operation; that of a bit comes by way of the flags and
  // a general register, which took 1.4 times as long in two recurrences of `max`.
  llvm::Value* chained_extreme(llvm::IRBuilder<>& b, bool is_max, llvm::Value* x, llvm::Value* y) const override {
    const bool single = has_singles(x->getType());
    auto* vector = llvm::FixedVectorType::get(x->getType(), single ? 4 : 2);
    const auto low = [&](llvm::Value* v) {
      return b.CreateInsertElement(llvm::PoisonValue::get(vector), v, b.getInt64(0));
    };
    constexpr int kThisRounding = 4, kOrdered = 7;
    const llvm::Intrinsic::ID compare =
        single ? llvm::Intrinsic::x86_avx512_mask_cmp_ss : llvm::Intrinsic::x86_avx512_mask_cmp_sd;
    llvm::Value* mask =
        b.CreateIntrinsic(compare, {low(x), low(x), b.getInt32(kOrdered), b.getInt8(0xff), b.getInt32(kThisRounding)});
    const llvm::Intrinsic::ID id =
        single
            ? (is_max ? llvm::Intrinsic::x86_avx512_mask_max_ss_round : llvm::Intrinsic::x86_avx512_mask_min_ss_round)
            : (is_max ? llvm::Intrinsic::x86_avx512_mask_max_sd_round : llvm::Intrinsic::x86_avx512_mask_min_sd_round);
    llvm::Value* out = b.CreateIntrinsic(id, {low(x), low(y), low(x), mask, b.getInt32(kThisRounding)});
    return b.CreateExtractElement(out, b.getInt64(0));
  }

  // vpermps, vpermd, vpermpd, vpermq
  llvm::Value* looked_up(llvm::IRBuilder<>& b, llvm::Value* table, llvm::Value* index) const override {
    const bool is_float = table->getType()->isFPOrFPVectorTy();
    const llvm::Intrinsic::ID wide =
        is_float ? llvm::Intrinsic::x86_avx512_permvar_df_512 : llvm::Intrinsic::x86_avx512_permvar_di_512;
    const llvm::Intrinsic::ID narrow =
        is_float ? llvm::Intrinsic::x86_avx512_permvar_sf_512 : llvm::Intrinsic::x86_avx512_permvar_si_512;
    return b.CreateIntrinsic(table->getType()->getScalarSizeInBits() == 64 ? wide : narrow, {table, index});
  }

  // LLVM 22 takes a permutation for it, which needs its indices in a register and overwrites an operand.
  llvm::Value* joined(llvm::IRBuilder<>& b, llvm::Value* first, llvm::Value* second, unsigned late) const override {
    auto* type = llvm::FunctionType::get(first->getType(), {first->getType(), first->getType()}, false);
    const std::string text = (first->getType()->getScalarSizeInBits() == 64 ? "valignq $$" : "valignd $$") +
                             std::to_string(late) + ", $1, $2, $0";
    llvm::CallInst* out =
        without_effects(b.CreateCall(type, llvm::InlineAsm::get(type, text, "=v,v,v", false), {first, second}));
    out->addFnAttr(llvm::Attribute::WillReturn);  // where nobody needs it, it vanishes
    return out;
  }
  /// Of one register: inline assembly takes no other types.
  llvm::Value* opaque(llvm::IRBuilder<>& b, llvm::Value* vector) const override {
    const auto bits = static_cast<unsigned>(vector->getType()->getPrimitiveSizeInBits().getFixedValue());
    const bool is_register = llvm::isPowerOf2_32(bits) && bits >= 128 &&
                             bits <= (vector->getType()->getScalarSizeInBits() < 32 ? widest_short_ : widest_);
    if (!is_register || !vector->getType()->isVectorTy()) return vector;
    auto* type = llvm::FunctionType::get(vector->getType(), {vector->getType()}, false);
    return without_effects(b.CreateCall(type, llvm::InlineAsm::get(type, "", "=v,0", false), {vector}));
  }

  const TileUnit* tile_unit() const override { return &x86_tile_unit(); }

 private:
  unsigned byte_dot_bits_ = 0, word_dot_bits_ = 0;  ///< of the widest vector of sums; 0: none
  bool has_bf16_ = false, has_avx512_ = false;
  unsigned widest_ = 128, widest_short_ = 128;  ///< bits of a register; of elements of less than 32 bits
};

}  // namespace

std::unique_ptr<InstructionHooks> x86_hooks(const Target& target) {
  return std::make_unique<X86Hooks>(target);
}

}  // namespace polyweft::targets
