// Where the elements of a tensor live for the code below.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

/// Buffer cell = element - origin. `only_stage`: promotions serve one stage.
struct View {
  BufferId buffer = 0;
  std::vector<Affine> origin;
  std::optional<uint32_t> only_stage;
  std::vector<int64_t> stride = {};  ///< elements between cells; empty: 1 in each dimension
  /// Over kCellVar + d, coordinates of the element: those of the cell, before the origin is taken off; empty: the
  /// element's own.
  std::vector<Affine> cell = {};
};

/// The cell of an element, origin taken off.
std::vector<Affine> cell_of(const View& view, const std::vector<Affine>& element);
Access access_to(const View& view, const std::vector<Affine>& element);
/// The access with further subscripts, innermost.
Access access_to(const View& view, const std::vector<Affine>& element, const std::vector<Affine>& inner);

inline constexpr int64_t kLineBytes = 64;  ///< of the cache
/// Are rows so long (several cache lines) that it matters where they begin?
bool has_long_rows(const Buffer& buffer);
/// Cells before the first element of each row put what begins `first` cells further on a cache line.
void put_on_line(Buffer& buffer, View& view, int64_t first);
/// Rows of several cache lines begin on lines, and not all at one place of the first cache: what lies above and below
/// in a stencil is then aligned alike.
void align_rows(Buffer& buffer);

}  // namespace polyweft::ir
