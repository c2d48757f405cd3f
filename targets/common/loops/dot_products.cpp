#include "targets/common/loops/dot_products.h"

namespace polyweft::targets {
namespace {

/// The read behind convert:i32(read).
const Access* converted_read(const Expr& e) {
  return e->op == Op::convert && e->type == ElementType::i32 && e->args[0]->op == Op::read ? &e->args[0]->access
                                                                                           : nullptr;
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
std::optional<DotProducts::Dots> DotProducts::dots_of(const Loop& loop) const {
  const auto* lanes = std::get_if<Loop>(&nest_.nodes[loop.body]);
  if (lanes_.width > 1 || loop.step != 1 || !lanes || lanes->mark.kind != MarkKind::vector ||
      lanes->mark.non_temporal || !lanes->mark.prefetch.empty())
    return std::nullopt;
  const auto* compute = std::get_if<Compute>(&nest_.nodes[lanes->body]);
  const bool is_sum = compute && compute->how == Write::accumulate && compute->reducer == Reducer::sum &&
                      compute->combiner == 0 && compute->dst.size() == 1;
  if (!is_sum || compute->rhs[0]->op != Op::mul || compute->rhs[0]->type != ElementType::i32) return std::nullopt;
  const Access& dst = compute->dst[0];
  const Buffer& sums = nest_.buffers[dst.id];
  if (sums.type != ElementType::i32 || !registers_.in_registers(dst.id) ||
      !are_parts_of_one_element(sums, dst, loop.var, lanes->var))
    return std::nullopt;
  Dots out{lanes, compute, {converted_read(compute->rhs[0]->args[0]), converted_read(compute->rhs[0]->args[1])}};
  const int64_t width = lanes->mark.width;
  std::array<ElementType, 2> types = {};
  for (size_t k = 0; k < types.size(); ++k) {
    const Access* read = out.reads[k];
    if (!read || has_data(*read) || registers_.in_registers(read->id)) return std::nullopt;
    types[k] = nest_.buffers[read->id].type;
    if (!is_byte(types[k]) && types[k] != ElementType::i16) return std::nullopt;
  }
  out.products = scalar_.hooks().dot_products(types[0], types[1], static_cast<unsigned>(width));
  if (out.products == 0) return std::nullopt;
  const Affine first = fold(lanes->lo.of[0]);
  const bool is_whole =
      variables_.constant_trips(*lanes, first) == width && lanes->step == 1 && !uses(lanes->lo.of[0], loop.var);
  return is_whole ? std::optional(out) : std::nullopt;
}

bool DotProducts::dense_dots(const Loop& loop, const Affine& lo, int64_t trips) {
  const auto dots = dots_of(loop);
  if (!dots || trips < dots->products) return false;
  bool is_dense = true;
  vector_loops_.over_lanes(*dots->lanes, [&] {
    for (const Access* read : dots->reads) {
      const auto at = [&](int64_t n) {
        variables_.substitute(loop.var, lo + Affine::of(n));
        return places_.offset_of(*read, nullptr);
      };
      const Affine place = at(0);
      is_dense &= place.coefficient(kLane) == 1 && !strides_.is_symbolic(read->id);
      for (int64_t n = 1; n < trips; ++n) is_dense &= at(n) - place == Affine::of(n * dots->lanes->mark.width);
    }
  });
  variables_.end_substitution(loop.var);
  if (!is_dense) return false;
  vector_loops_.begin_unrolled();
  int64_t n = 0;
  for (int64_t group = 0; n + dots->products <= trips; n += dots->products, ++group) {
    vector_loops_.over_lanes(*dots->lanes, [&] {
      variables_.substitute(loop.var, lo + Affine::of(n));
      llvm::Value *a = load_dense(*dots->reads[0], dots->products), *b = load_dense(*dots->reads[1], dots->products);
      variables_.substitute(loop.var, lo + Affine::of(group));
      const auto operand_of = [&](size_t k, llvm::Value* elements) {
        return DotOperand{elements, nest_.buffers[dots->reads[k]->id].type};
      };
      memory_.store(dots->compute->dst[0],
                    scalar_.hooks().dot(b_, memory_.load(dots->compute->dst[0]), operand_of(0, a), operand_of(1, b)));
    });
  }
  for (; n < trips; ++n) {
    variables_.substitute(loop.var, lo + Affine::of(n));
    further_.emit(loop.body);
  }
  vector_loops_.end_unrolled();
  variables_.end_substitution(loop.var);
  return true;
}

/// So many vectors' elements from lane 0 on.
llvm::Value* DotProducts::load_dense(const Access& read, int64_t vectors) {
  const Place place = places_.place_at(read.id, places_.offset_of(read, nullptr));
  auto* type = llvm::FixedVectorType::get(scalar_.memory_type(nest_.buffers[read.id].type),
                                          static_cast<unsigned>(vectors) * lanes_.width);
  return b_.CreateAlignedLoad(type, place.pointer, llvm::Align(static_cast<uint64_t>(place.alignment)));
}

}  // namespace polyweft::targets
