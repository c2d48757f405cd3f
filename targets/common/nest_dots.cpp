// Dot products of short integers along two dense rows. A loop that is written out over vectors, each lane with a part of the sum,
//
//   for k in 0 .. 8 unroll: for v in 0 .. 16 vector 16: S[k, v] += i32(A[.., 16*k + v]) * i32(B[.., 16*k + v])
//
// becomes instructions that add neighbouring products to one lane: four products of bytes (vpdpbusd) or two of
// words (vpmaddwd). Products then go to other lanes. That is legal where all of S are parts of one element
// (Buffer::element does not depend on k and v): sums of i32 wrap, so that the parts have the same sum. Signs: the
// unit multiplies an unsigned byte a by a signed byte b.
//
//   s8 * s8   (a + 128) * b - 128 * b            a + 128 is a with its sign bit turned, 128 * b another product
//   u8 * u8   a * (b - 128) - a * (-128)
//   others    as they are, or widened to words: products of words and their pairs are exact in 32 bits (-32768 * -32768 * 2 wraps as the sum does)
#include <llvm/IR/IntrinsicsX86.h>

#include "targets/common/nest_code.h"

namespace polyweft::targets {
namespace {

/// The read behind convert:i32(read).
const Access* converted_read(const Expr& e) {
  return e->op == Op::convert && e->type == ElementType::i32 && e->args[0]->op == Op::read ? &e->args[0]->access : nullptr;
}

bool is_byte(ElementType type) {
  return type == ElementType::i8 || type == ElementType::u8;
}

/// Of a buffer's dimensions those whose subscripts use one of the variables say nothing of the element.
bool are_parts_of_one_element(const Buffer& buffer, const Access& access, VarId a, VarId b) {
  for (size_t d = 0; d < access.index.size(); ++d) {
    if (!uses(access.index[d].affine, a) && !uses(access.index[d].affine, b)) continue;
    for (const Affine& e : buffer.element)
      if (uses(e, kCellVar + static_cast<VarId>(d))) return false;
  }
  return !buffer.element.empty() || buffer.tensor != kNoTensor;
}

}  // namespace

/// Where the loop has this form; places are looked at by emit_dots.
std::optional<NestCode::Dots> NestCode::dots_of(const Loop& loop) const {
  const auto* lanes = std::get_if<Loop>(&nest_.nodes[loop.body]);
  if (lanes_.width > 1 || loop.step != 1 || !lanes || lanes->mark.kind != MarkKind::vector || lanes->mark.non_temporal || !lanes->mark.prefetch.empty()) return std::nullopt;
  const auto* compute = std::get_if<Compute>(&nest_.nodes[lanes->body]);
  const bool is_sum = compute && compute->how == Write::accumulate && compute->reducer == Reducer::sum && compute->combiner == 0 && compute->dst.size() == 1;
  if (!is_sum || compute->rhs[0]->op != Op::mul || compute->rhs[0]->type != ElementType::i32) return std::nullopt;
  const Access& dst = compute->dst[0];
  const Buffer& sums = nest_.buffers[dst.id];
  if (sums.type != ElementType::i32 || !in_registers(dst.id) || !are_parts_of_one_element(sums, dst, loop.var, lanes->var)) return std::nullopt;
  Dots out{lanes, compute, {converted_read(compute->rhs[0]->args[0]), converted_read(compute->rhs[0]->args[1])}};
  const int64_t width = lanes->mark.width, bits = 32 * width;
  out.products = 4;
  for (const Access* read : out.reads) {
    if (!read || has_data(*read) || in_registers(read->id)) return std::nullopt;
    const ElementType type = nest_.buffers[read->id].type;
    if (!is_byte(type) && type != ElementType::i16) return std::nullopt;
    if (!is_byte(type) || bits > scalar_.units().byte_products) out.products = 2;
  }
  if (bits > scalar_.units().word_products || (width != 4 && width != 8 && width != 16)) return std::nullopt;
  const Affine first = fold(lanes->lo.of[0]);
  const bool is_whole = constant_trips(*lanes, first) == width && lanes->step == 1 && !uses(lanes->lo.of[0], loop.var);
  return is_whole ? std::optional(out) : std::nullopt;
}

/// True: emitted.
bool NestCode::dense_dots(const Loop& loop, const Affine& lo, int64_t trips) {
  const auto dots = dots_of(loop);
  if (!dots || trips < dots->products) return false;
  bool is_dense = true;
  over_lanes(*dots->lanes, [&] {
    for (const Access* read : dots->reads) {
      const auto at = [&](int64_t n) {
        substitution_[loop.var] = lo + Affine::of(n);
        return offset_of(*read, nullptr);
      };
      const Affine place = at(0);
      is_dense &= place.coefficient(kLane) == 1 && !is_symbolic(read->id);
      for (int64_t n = 1; n < trips; ++n) is_dense &= at(n) - place == Affine::of(n * dots->lanes->mark.width);
    }
  });
  substitution_.erase(loop.var);
  if (!is_dense) return false;
  ++unrolled_;
  int64_t n = 0;
  for (int64_t group = 0; n + dots->products <= trips; n += dots->products, ++group) {
    over_lanes(*dots->lanes, [&] {
      substitution_[loop.var] = lo + Affine::of(n);
      llvm::Value *a = load_dense(*dots->reads[0], dots->products), *b = load_dense(*dots->reads[1], dots->products);
      substitution_[loop.var] = lo + Affine::of(group);
      store(dots->compute->dst[0], dot(*dots, load(dots->compute->dst[0]), a, b));
    });
  }
  for (; n < trips; ++n) {
    substitution_[loop.var] = lo + Affine::of(n);
    emit(loop.body);
  }
  --unrolled_;
  substitution_.erase(loop.var);
  return true;
}

/// So many vectors' elements from lane 0 on.
llvm::Value* NestCode::load_dense(const Access& read, int64_t vectors) {
  const Place place = place_at(read.id, offset_of(read, nullptr));
  auto* type = llvm::FixedVectorType::get(scalar_.memory_type(nest_.buffers[read.id].type), static_cast<unsigned>(vectors) * lanes_.width);
  return b_.CreateAlignedLoad(type, place.pointer, llvm::Align(static_cast<uint64_t>(place.alignment)));
}

llvm::Value* NestCode::dot(const Dots& dots, llvm::Value* state, llvm::Value* a, llvm::Value* b) {
  const auto is_signed_at = [&](size_t k) { return nest_.buffers[dots.reads[k]->id].type != ElementType::u8; };
  if (dots.products == 2) {
    const auto words = [&](llvm::Value* v, bool with_sign) {
      llvm::Type* type = v->getType()->getWithNewBitWidth(16);
      return with_sign ? b_.CreateSExt(v, type) : b_.CreateZExt(v, type);
    };
    const llvm::Intrinsic::ID pairs = lanes_.width == 16  ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                                      : lanes_.width == 8 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                                                          : llvm::Intrinsic::x86_sse2_pmadd_wd;
    return b_.CreateAdd(state, b_.CreateIntrinsic(pairs, {words(a, is_signed_at(0)), words(b, is_signed_at(1))}));
  }
  const llvm::Intrinsic::ID unit = lanes_.width == 16  ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
                                   : lanes_.width == 8 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                                                       : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
  const auto add = [&](llvm::Value* sum, llvm::Value* without_sign, llvm::Value* with_sign) { return b_.CreateIntrinsic(unit, {sum, without_sign, with_sign}); };
  if (is_signed_at(0) != is_signed_at(1)) return is_signed_at(0) ? add(state, b, a) : add(state, a, b);
  llvm::Value *least = llvm::ConstantInt::get(a->getType(), 0x80), *zero = llvm::Constant::getNullValue(state->getType());
  if (is_signed_at(0)) return b_.CreateSub(add(state, b_.CreateXor(a, least), b), add(zero, least, b));
  return b_.CreateSub(add(state, a, b_.CreateXor(b, least)), add(zero, a, least));
}

}  // namespace polyweft::targets
