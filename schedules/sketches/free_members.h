// Independent recurrences: a band along one member of which nothing is carried (signals through filters, rows with
// running sums).
//
//   lanes    r.1 | members that carry, the longest first | each statement: lanes along r, whose cells lie next to each
//   other jammed   r.1 | members that carry, the longest first | r, a few of them, unrolled: single values, several
//   chains at once
//
// What a band's tensors begin with, and what is made of them element by element, runs in the band too, so that a few
// steps of them are kept and no more.
#pragma once

#include <optional>
#include <vector>

#include "poly/band.h"
#include "schedules/sketches/sketcher.h"

namespace polyweft::schedules {

/// A band in its order of loops: free members but the longest, those that carry (the longest first, so that few of its
/// steps are kept), the longest free one.
struct FreeBand {
  poly::BandProposal proposal;
  size_t outer = 0;  ///< free members in front: the number of the first one that carries
};

/// The proposals, those with the same free members that read the same inputs as one, each with the equations beside it
/// that may run there. Only bands with such a member and without sums; empty where there is none. Asks isl some
/// questions a proposal.
std::vector<FreeBand> free_members(const Program& program, NumericsClass cls, const Machine& machine, const Isl& isl,
                                   const std::vector<poly::BandProposal>& proposals);

/// One band by itself, after what `begun` has; nothing where no member is free or a statement is a sum.
std::optional<FreeBand> free_band(const Sketcher& begun, const Program& program, const poly::BandProposal& proposal);

enum class FreeForm : uint8_t { lanes, jammed };
/// Appends the band in this form; nothing and false where a step is refused.
bool add_free_band(Sketcher& s, const Program& program, const FreeBand& band, FreeForm form);

}  // namespace polyweft::schedules
