#include <algorithm>
#include <array>
// Names, layouts and cell arithmetic of LoopNest.
#include "polyweft/loop_nest.h"

namespace polyweft {

const char* name_of(Scope scope) {
  switch (scope) {
    case Scope::argument:
      return "argument";
    case Scope::constant:
      return "constant";
    case Scope::heap:
      return "heap";
    case Scope::stack:
      return "stack";
    case Scope::reg:
      return "reg";
    case Scope::shared:
      return "shared";
    case Scope::scratchpad:
      return "scratchpad";
    case Scope::tile:
      return "tile";
    case Scope::accumulator:
      return "accumulator";
  }
  return "unknown";
}

std::optional<ValueRange> promised_values(const Tensor& tensor) {
  if (tensor.kind != TensorKind::input || !tensor.values_lo) return std::nullopt;
  return ValueRange{std::max(tensor.values_lo->constant, -INT64_MAX), tensor.values_hi->constant};
}

const Affine* first_lane(const Loop& loop) {
  const auto is_near = [&](const Affine& lo) {
    return std::any_of(loop.hi.of.begin(), loop.hi.of.end(), [&](const Affine& hi) {
      const Affine extent = hi - lo;
      return extent.is_constant() && extent.constant <= loop.mark.width;
    });
  };
  const auto found = std::find_if(loop.lo.of.begin(), loop.lo.of.end(), is_near);
  return found == loop.lo.of.end() ? nullptr : &*found;
}

Layout row_major(const std::vector<int64_t>& extents) {
  Layout layout;
  for (uint32_t d = 0; d < extents.size(); ++d) layout.pieces.push_back({d, extents[d]});
  return layout;
}

std::vector<int64_t> folded_extents(const Buffer& buffer) {
  std::vector<int64_t> extents = buffer.extents;
  for (const Fold& fold : buffer.folds)
    if (extents[fold.dim] == kSymbolicExtent || extents[fold.dim] > fold.window) extents[fold.dim] = fold.window;
  return extents;
}

namespace {

int64_t padded_extent(const Layout& layout, size_t piece) {
  return layout.pieces[piece].factor + (piece < layout.pad.size() ? layout.pad[piece] : 0);
}

int64_t floor_modulo(int64_t value, int64_t divisor) {
  int64_t rest = value % divisor;
  return rest < 0 ? rest + divisor : rest;
}

/// The pieces of a dimension are digits of a mixed radix number; the first keeps whatever is left.
bool is_leading_piece(const Layout& layout, size_t piece) {
  for (size_t q = 0; q < piece; ++q)
    if (layout.pieces[q].dim == layout.pieces[piece].dim) return false;
  return true;
}

}  // namespace

int64_t allocated_elements(const Buffer& buffer) {
  int64_t elements = 1;
  PW_CHECK(std::none_of(buffer.layout.pieces.begin(), buffer.layout.pieces.end(),
                        [](const Piece& piece) { return piece.factor == kSymbolicExtent; }));
  for (size_t p = 0; p < buffer.layout.pieces.size(); ++p) elements *= padded_extent(buffer.layout, p);
  return elements;
}

int64_t physical_offset(const Buffer& buffer, const std::vector<int64_t>& index) {
  constexpr size_t kFew = 8;
  std::array<int64_t, kFew> few;
  std::vector<int64_t> many;
  if (index.size() > kFew) many = index;
  if (index.size() <= kFew) std::copy(index.begin(), index.end(), few.begin());
  int64_t* rest = index.size() > kFew ? many.data() : few.data();
  for (const Fold& fold : buffer.folds) rest[fold.dim] = floor_modulo(rest[fold.dim], fold.window);
  int64_t offset = 0, stride = 1;
  for (size_t p = buffer.layout.pieces.size(); p-- > 0;) {
    const Piece& piece = buffer.layout.pieces[p];
    int64_t& value = rest[piece.dim];
    int64_t digit = is_leading_piece(buffer.layout, p) ? value : floor_modulo(value, piece.factor);
    value = (value - digit) / piece.factor;
    offset += digit * stride;
    stride *= padded_extent(buffer.layout, p);
  }
  if (!buffer.layout.by_xor) return offset;
  const int64_t bytes = size_bytes(buffer.type), at = offset * bytes;
  return (at ^ at / kXorLineBytes % (kXorLineBytes / kXorUnitBytes) * kXorUnitBytes) / bytes;
}

}  // namespace polyweft
