// Sums over what their own row has finished (parentheses: T[i, j] from T[i, k] and T[k, j] for all k between):
// right-looking.
//
//   band [outer.., k, x] | outer | k | what is finished at k; then the folds of k into all that is beyond, lanes along
//   x
//
// As whole sums they run down columns of what is finished. Here element (.., k) of the row is finished first and is one
// value for all lanes, and the other operand's row is neighbours. A sum's cells are those of one row.
#pragma once

#include "poly/band.h"
#include "schedules/sketches/sketcher.h"

namespace polyweft::schedules {

/// Appends the band with its sums as first values and folds. False and nothing where no member has whole sums'
/// contiguous elements, or a step is refused. Asks isl up to three questions of 5-50 ms and one to three a tensor.
bool add_right_looking(Sketcher& s, const Program& program, const poly::BandProposal& proposal);

}  // namespace polyweft::schedules
