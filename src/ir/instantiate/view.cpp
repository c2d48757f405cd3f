#include "ir/instantiate/view.h"

#include <map>

#include "support/integer_division.h"

namespace polyweft::ir {

std::vector<Affine> cell_of(const View& view, const std::vector<Affine>& element) {
  std::map<VarId, Affine> map;
  for (uint32_t d = 0; d < element.size(); ++d) map[kCellVar + d] = element[d];
  std::vector<Affine> out;
  const size_t rank = view.cell.empty() ? element.size() : view.cell.size();
  for (size_t k = 0; k < rank; ++k)
    out.push_back((view.cell.empty() ? element[k] : substitute(view.cell[k], map)) - view.origin[k]);
  return out;
}

Access access_to(const View& view, const std::vector<Affine>& element) {
  Access out;
  out.id = view.buffer;
  const std::vector<Affine> cell = cell_of(view, element);
  for (size_t d = 0; d < cell.size(); ++d)
    out.index.push_back({view.stride.empty() ? cell[d] : floor_div(cell[d], view.stride[d]), nullptr, {}, {}});
  return out;
}

Access access_to(const View& view, const std::vector<Affine>& element, const std::vector<Affine>& inner) {
  Access out = access_to(view, element);
  for (const Affine& e : inner) out.index.push_back({e, nullptr, {}, {}});
  return out;
}

bool has_long_rows(const Buffer& buffer) {
  return buffer.layout.pieces.size() >= 2 &&
         buffer.layout.pieces.back().factor * size_bytes(buffer.type) >= 4 * kLineBytes;
}

void put_on_line(Buffer& buffer, View& view, int64_t first) {
  const int64_t line = kLineBytes / size_bytes(buffer.type), before = floor_remainder(-first, line);
  const VarId along = kCellVar + static_cast<VarId>(buffer.extents.size()) - 1;
  buffer.extents.back() += before;
  for (Affine& e : buffer.element) e = substitute(e, {{along, Affine::variable(along) - Affine::of(before)}});
  view.origin.back() = view.origin.back() - Affine::of(before);
  buffer.layout = row_major(folded_extents(buffer));
}

void align_rows(Buffer& buffer) {
  constexpr int64_t kAlias = 512;
  const int64_t bytes = size_bytes(buffer.type);
  int64_t row = (buffer.layout.pieces.back().factor * bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
  if (row % kAlias == 0) row += kLineBytes;
  buffer.layout.pad.assign(buffer.layout.pieces.size(), 0);
  buffer.layout.pad.back() = row / bytes - buffer.layout.pieces.back().factor;
}

}  // namespace polyweft::ir
