// Bands whose rows are chains (an element needs the one before it in its row and some of the row above): lanes lie
// along diagonals.
//
//   whole   band [outer.., d, x] with d = slope * i + j, x = i (or j where the slope is 1) | outer | d | each
//   statement: lanes along x strips  the same with x moved by a vector a diagonal | d.1 | x.1 | d | each statement:
//   lanes along x time    [t, d, x], d and x moved with t until all distances are >= 0 | t.1 | x.1 | d.1 | t | d | each
//   statement: lanes along x
//
// The slope is the least one at which every distance that no loop outside carries leads to a later diagonal, so that
// the cells of one diagonal need each other nowhere. Elements lie in cells skewed alike: a diagonal's are neighbours.
// Where nothing outside carries, only as many diagonals are kept as are read; what the tensors begin with and what
// reads every element then runs in the band too.
#pragma once

#include "poly/band.h"
#include "schedules/sketches/sketcher.h"

namespace polyweft::schedules {

enum class Diagonals : uint8_t { whole, strips, time };

/// Appends the band in this form. False and nothing where rows or columns have lanes as they are, where no small slope
/// does it, or where a step is refused. Asks isl some three questions of 5-50 ms and one or two a tensor.
bool add_diagonals(Sketcher& s, const Program& program, const poly::BandProposal& proposal, Diagonals form);

}  // namespace polyweft::schedules
