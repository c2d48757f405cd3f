#include "ir/instantiate/copies.h"

#include <algorithm>
#include <string>
#include <utility>

namespace polyweft::ir {

namespace {

/// A dimension, and the distance between iterations of a loop over it.
using Digit = std::pair<uint32_t, int64_t>;

SizedLoop copy_loop(uint32_t dim, int64_t step, MarkKind mark = MarkKind::serial, int64_t lanes = 0) {
  const std::string suffix = mark == MarkKind::vector ? ".v" : "";
  return {dim, step, mark, lanes, false, false, "c" + std::to_string(dim) + suffix};
}

/// The dimension of a tensor along which its elements are contiguous: the last one, or the one that is the last
/// coordinate of skewed or exchanged cells.
uint32_t dense_dimension(const View& view, const Buffer& buffer, uint32_t rank) {
  if (rank == 0 || view.cell.empty() || buffer.layout.pieces.empty()) return rank == 0 ? 0 : rank - 1;
  const Affine& along = view.cell[buffer.layout.pieces.back().dim];
  for (uint32_t d = 0; d < rank; ++d)
    if (along == Affine::variable(kCellVar + d)) return d;
  return rank - 1;
}

/// Loops of a copy: one a digit of the layout, and the tensor's unit-stride dimension `last` innermost where the layout
/// transposes it.
std::vector<SizedLoop> plain_loops(const std::vector<Digit>& digits, uint32_t rank, uint32_t last, int64_t lanes,
                                   int64_t vectors) {
  std::vector<SizedLoop> out;
  for (auto [dim, step] : digits) out.push_back(copy_loop(dim, step));
  if (rank == 0) return out;
  auto is_point = [&](const SizedLoop& loop) { return loop.index == last && loop.step == 1; };
  auto place = std::find_if(out.begin(), out.end(), is_point);
  bool was_innermost = place + 1 == out.end();
  std::rotate(place, place + 1, out.end());
  if (vectors > 1) lanes = vectors;
  if ((!was_innermost && vectors == 1) || lanes < 2) return out;
  out.back().step = lanes;
  out.push_back(copy_loop(last, 1, MarkKind::vector, lanes));
  return out;
}

/// A layout that ends in [.., unit-stride dimension, another % 2, 4 or 8] interleaves rows, as tensor instructions want
/// them: so many rows at once, by vectors that fill whole lines. Empty for other layouts.
std::vector<SizedLoop> interleaving_loops(const std::vector<Digit>& digits, uint32_t rank, int64_t bytes) {
  if (digits.size() < 3 || rank < 2) return {};
  const auto [rows, one] = digits.back();
  const bool ends_in_columns = digits[digits.size() - 2] == Digit(rank - 1, 1);
  int64_t group = 1;
  for (auto [dim, step] : digits)
    if (dim == rows && step > 1) group = step;
  const bool is_group = group == 2 || group == 4 || group == 8;
  if (rows == rank - 1 || one != 1 || !ends_in_columns || !is_group || group * bytes > 8) return {};
  const int64_t lanes = kLineBytes / (group * bytes);
  std::vector<SizedLoop> out;
  for (size_t k = 0; k + 2 < digits.size(); ++k) out.push_back(copy_loop(digits[k].first, digits[k].second));
  out.push_back(copy_loop(rank - 1, lanes));
  out.push_back(copy_loop(rows, 1, MarkKind::unroll));
  out.push_back(copy_loop(rank - 1, 1, MarkKind::vector, lanes));
  return out;
}

}  // namespace

std::vector<SizedLoop> Copies::loops_of(const WindowCopy& what) const {
  const auto rank = static_cast<uint32_t>(what.window.extent.size());
  std::vector<Digit> digits;
  for (const LayoutPart& part : what.layout)
    digits.push_back({part.dim, part.part == LayoutDigit::Part::quotient ? schedule_.size_of(part.factor) : 1});
  if (what.layout.empty())
    for (uint32_t d = 0; d < rank; ++d) digits.push_back({d, 1});
  const int64_t bytes = size_bytes(schedule_.tensor(what.tensor).type);
  const uint32_t dense = dense_dimension(what.from, nest_.buffer(what.from.buffer), rank);
  int64_t lanes = kLineBytes / bytes;
  const bool is_of_unit = is_of_units(nest_.buffer(what.to.buffer).scope);  // copies of its own, and no lanes
  if (is_of_unit || (rank > 0 && what.window.extent[dense] < lanes)) lanes = 0;
  std::vector<SizedLoop> out;
  if (!is_of_unit) out = interleaving_loops(digits, rank, bytes);
  if (out.empty()) out = plain_loops(digits, rank, dense, lanes, what.vectors);
  if (out.size() > 1 && out[0].mark == MarkKind::serial) out[0].mark = what.outermost;
  return out;
}

NodeId Copies::copy(const WindowCopy& what) {
  const Window& window = what.window;
  const auto rank = static_cast<uint32_t>(window.extent.size());
  // All reads lie outside the tensor (each under a guard that never holds), or the tensor has no elements.
  if (std::find(window.extent.begin(), window.extent.end(), 0) != window.extent.end()) return nest_.add(Seq{});
  auto stage = std::make_unique<Stage>();
  stage->name = schedule_.tensor(what.tensor).name;
  stage->data_indices = rank;
  stage->lo = schedule_.box(what.tensor).lo;
  stage->hi = schedule_.box(what.tensor).hi;
  Body body;
  body.stage = stage.get();
  body.first_index = schedule_.program().index_var(0);
  body.overlap =
      schedule_.overlap_of(body.id);  // copies go as stage 0 does: where that is a frame, its last block apart
  body.leaf = Leaf::fill;
  body.initialized = true;
  body.loops = loops_of(what);
  for (uint32_t d = 0; d < rank; ++d) {
    Range range = what.limits.empty() ? Range{window.origin[d], window.extent[d], {}, {}} : what.limits[d];
    range.upper.push_back({Affine::of(stage->hi[d]) - range.origin, false});
    range.lower.push_back(Affine::of(stage->lo[d]) - range.origin);
    nest_.variables().prune(range);
    body.ranges.push_back(std::move(range));
  }
  body.fill_view = what.to;
  body.fill_source = what.from;
  stages_.push_back(std::move(stage));
  return inner_.emit(std::move(body), 0);
}

}  // namespace polyweft::ir
