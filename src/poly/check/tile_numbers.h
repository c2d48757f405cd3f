// Private to the checker: points with the numbers of their tiles. Statements inside common loops over tiles, `for j.1
// .. step 128`, fold points of whose coordinates such a loop gives the tile: j in [128 q, 128 q + 128) + lo. Seen as
// points alone these are projections, with q hidden in them; with q as a coordinate that the point determines (one q to
// each point) they stay conjunctions, and the union of what is folded is compared with the whole without divisions.
#pragma once

#include "poly/check/statements.h"

namespace polyweft::poly::checker {

/// A loop around all of some statements, dimension `loop` of each, whose counter q is to be floor((coordinate - outer)
/// / step).
struct TileNumber {
  unsigned loop = 0;
  size_t coordinate = 0;
  int64_t step = 1;
  Affine outer;  ///< over the tile numbers found before (variable k: the k-th) and a constant
};

/// Candidates, outermost first. `coordinates[k]`: of the k-th statement's point, over its dimensions. That a
/// statement's points lie in the tiles of their numbers is not proven here: whoever compares sets with these numbers
/// finds less where it is wrong, never more.
std::vector<TileNumber> tile_numbers(const std::vector<const Statement*>& statements,
                                     const std::vector<std::vector<Affine>>& coordinates);

/// Over the space [coordinates.., numbers..]: each number is that of its coordinate's tile.
Guard numbers_of_points(const std::vector<TileNumber>& numbers, size_t coordinates);

}  // namespace polyweft::poly::checker
