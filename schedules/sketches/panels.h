// Bands whose sums fold what the band itself makes (factorizations), in panels: first values, finished values and folds
// of each sum are statements of their own.
//
//   for j.1, k.1, i.1: [for j.2, k.2, i.2:] for k: <rows of vectors>
//
// Tiles in which only folds run (all that is beyond the folded value's own panel) are products in registers.
#pragma once

#include <vector>

#include "poly/band.h"
#include "schedules/sketches/sketcher.h"

namespace polyweft::schedules {

/// Widths of tiles of a factorization, multiples of the register blocks' rows, so that the diagonal cuts few of them;
/// and of tiles in them, 0: none.
struct PanelForm {
  int64_t outer = 0, inner = 0;
  /// Blocks of tiles in which only folds run go along the panel's columns first, each in panels of its own; inner tiles
  /// have one width, so that cells of one outer panel suffice.
  bool rows_outside = false;
};
/// Wide panels pay where many tiles lie beyond them, narrow ones where there are few: an eighth of the longest index at
/// most, and not much below a fortieth.
std::vector<PanelForm> panels_for(const Program& program, const std::vector<poly::BandProposal>& proposals);
/// For searches: panels of whose square the second cache holds six, and of half that, in them tiles of three vectors,
/// and of one.
std::vector<PanelForm> panels_for_search(const Program& program, const std::vector<poly::BandProposal>& proposals,
                                         const Machine& machine);
/// Appends the band in this form; false where a sum does not fold along the proposal's first member, or a step is
/// refused: then the sketch is as it was.
bool add_as_panels(Sketcher& s, const Program& program, const poly::BandProposal& proposal, const PanelForm& form);

}  // namespace polyweft::schedules
