#include "targets/common/loops/interleaved_copies.h"

namespace polyweft::targets {

// for r in 0..4 unroll { for v in 0..16 vector { copy P[4 * v + r] <- X[r][v] } }: four loads, shuffles, one store.
// Lane by lane it would be a scatter of bytes.
bool InterleavedCopies::interleaved_copy(const Loop& rows, const Affine& lo, int64_t count) {
  const auto* lanes = std::get_if<Loop>(&nest_.nodes[rows.body]);
  if (!lanes || lanes->mark.kind != MarkKind::vector || lanes->lo.of.size() != 1 || lanes_.width > 1 ||
      (count != 2 && count != 4 && count != 8))
    return false;
  const auto* copy = std::get_if<Copy>(&nest_.nodes[lanes->body]);
  if (!copy || !copy->has_src || copy->dst.id == copy->src.id || !copy->valid.is_true() ||
      registers_.in_registers(copy->dst.id) || registers_.in_registers(copy->src.id))
    return false;
  for (const Affine& e : lanes->hi.of) {
    std::vector<VarId> used;
    collect_variables(e, used);
    if (std::find(used.begin(), used.end(), rows.var) != used.end()) return false;
  }
  // Whether the places fit is known before any code is made.
  const Lanes outer = lanes_;
  Lanes inside = outer;
  inside.width = lanes_of(*lanes);
  masks_.set(inside);
  variables_.substitute(lanes->var, fold(lanes->lo.of[0]) + Affine::variable(kLane));
  variables_.set_facts(kLane, {0, static_cast<int64_t>(lanes_.width) - 1, 1});
  const bool fits = rows_apart(copy->dst, rows.var, lo, count, 1).has_value() &&
                    rows_apart(copy->src, rows.var, lo, count, std::nullopt).has_value();
  variables_.end_substitution(lanes->var);
  variables_.end_substitution(rows.var);
  variables_.forget_facts(kLane);
  masks_.set(outer);
  if (!fits) return false;
  vector_loops_.over_lanes(*lanes, [&] {
    llvm::Type* element = scalar_.memory_type(nest_.buffers[copy->dst.id].type);
    std::vector<llvm::Value*> parts;
    for (int64_t n = 0; n < count; ++n) {
      variables_.substitute(rows.var, lo + Affine::of(n));
      parts.push_back(load_bits(copy->src, element));
    }
    variables_.substitute(rows.var, lo);
    Place place = places_.place_of(copy->dst);
    llvm::Value* mask = lanes_.mask;
    std::vector<int> repeated;
    for (int k = 0; k < static_cast<int>(lanes_.width * count); ++k) repeated.push_back(k / static_cast<int>(count));
    if (mask) mask = b_.CreateShuffleVector(mask, repeated);
    // Rows 0 and 2, 1 and 3 first, then their results: neighbours at every level, as the unpack instructions work.
    while (parts.size() > 1) {
      std::vector<llvm::Value*> next;
      const size_t half = parts.size() / 2;
      for (size_t k = 0; k < half; ++k) {
        const int width = static_cast<int>(llvm::cast<llvm::FixedVectorType>(parts[k]->getType())->getNumElements());
        std::vector<int> pattern;
        for (int lane = 0; lane < width; ++lane) pattern.insert(pattern.end(), {lane, width + lane});
        next.push_back(b_.CreateShuffleVector(parts[k], parts[k + half], pattern));
      }
      parts = std::move(next);
    }
    const llvm::Align align(static_cast<uint64_t>(place.alignment));
    if (mask)
      b_.CreateMaskedStore(parts[0], place.pointer, align, mask);
    else
      b_.CreateAlignedStore(parts[0], place.pointer, align);
    variables_.end_substitution(rows.var);
  });
  loads_.clear();
  return true;
}

/// The offset for the first row, where the lanes of every row are `stride` apart and rows (if given) `distance`.
std::optional<Affine> InterleavedCopies::rows_apart(const Access& access, VarId row, const Affine& lo, int64_t count,
                                                    std::optional<int64_t> distance) {
  Affine first;
  for (int64_t n = 0; n < count; ++n) {
    variables_.substitute(row, lo + Affine::of(n));
    std::vector<Affine> index;
    for (const auto& s : access.index) {
      if (s.data) return std::nullopt;
      index.push_back(fold(s.affine));
    }
    const Affine offset = facts_.offset(nest_.buffers[access.id], index);
    const int64_t stride = offset.coefficient(kLane);
    if (stride != (distance ? count : 1) || integers_.depends_on_lane(offset - Affine::variable(kLane, stride)))
      return std::nullopt;
    if (n == 0) first = offset;
    if (distance && !(offset - first == Affine::of(n * *distance))) return std::nullopt;
  }
  return first;
}

llvm::Value* InterleavedCopies::load_bits(const Access& access, llvm::Type* element) {
  const Place place = places_.place_of(access);
  auto* vector = llvm::FixedVectorType::get(element, lanes_.width);
  const llvm::Align align(static_cast<uint64_t>(place.alignment));
  if (!lanes_.mask) return b_.CreateAlignedLoad(vector, place.pointer, align);
  return b_.CreateMaskedLoad(vector, place.pointer, align, lanes_.mask, llvm::Constant::getNullValue(vector));
}

}  // namespace polyweft::targets
