// Rules 7 and 8: sketches of programs with recurrences.
#pragma once

#include "schedules/sketches/rule.h"

namespace polyweft::schedules {

/// Sketches that begin with the bands that isl proposes, storage folded to few planes. Empty where no band has loops
/// that a statement may have for itself. Asks isl some ten questions of 5-50 ms.
std::vector<NestTemplate> recurrence_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                              const Isl& isl);

/// Of rules for searches alone.
std::vector<NestTemplate> searched_recurrence_sketches(const Program& normalized, NumericsClass cls,
                                                       const Machine& machine, const Isl& isl);

/// Factorizations: parts of sums, cells and tiles of one panel.
void propose_panels(BandCase& c);
/// The same for searches: blocks along rows first, widths by the second cache and the vectors.
void propose_panels_by_rows(BandCase& c);
/// Parallelograms of time and place.
void propose_time_tiles(BandCase& c);
/// Diamonds of time and place.
void propose_diamonds(BandCase& c);
/// Lanes along diagonals: whole, in strips, in blocks of time.
void propose_diagonals(BandCase& c);
void propose_right_looking(BandCase& c);
/// Rows of vectors in bands as they are proposed.
void propose_rows(BandCase& c);
/// Rows of vectors where a band has them, several chains interleaved where it has not.
void propose_jams(BandCase& c);
/// Members of which nothing is carried, as lanes or unrolled and jammed.
void propose_free_members(BandCase& c);

}  // namespace polyweft::schedules
