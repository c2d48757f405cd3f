// Private to the checker: the cells that a statement's iterations reach. Where the iteration follows from its cell
// (tile numbers, rows and lanes are digits of a coordinate), the cells are those whose iteration is in the domain:
// conditions on quotients that all statements share. A projection hides the same in quotients of its own, and a union
// of such pieces takes isl seconds to compare.
#pragma once

#include "poly/check/views.h"

namespace polyweft::poly::checker {

/// The dimensions of the view's statement over its cell (variable x: coordinate x), on all cells that it reaches;
/// nothing where they do not follow from it.
std::optional<std::vector<Affine>> iteration_of_cell(const View& view);

/// { cells } in the space of cells.
Set cells_reached(const View& view, const Space& cells);

/// Whether each of `points` is a cell that one of the statements reaches. Where iterations follow from cells, their
/// quotients become coordinates (each point has one value of each), so that plain conjunctions are compared.
bool are_reached(const Set& points, const std::vector<const View*>& views, const Space& cells);

}  // namespace polyweft::poly::checker
