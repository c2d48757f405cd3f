// Other forms of a proposed band: whole sums, and a sequence in which inner loops can be distributed.
#pragma once

#include "poly/band.h"
#include "schedules/bands.h"
#include "schedules/sketches/sketcher.h"

namespace polyweft::schedules {

/// The band without the members that sums move along: each sum is folded where its element is. Nothing where there are
/// none, or no others.
std::optional<BandStep> whole_sums(const Program& program, poly::BandProposal proposal, const std::string& name);
/// The statements in a sequence that every relation allows whose distance may be 0 along the first `depth` members.
/// Nothing where there is none, or it is the one that the step has.
std::optional<BandStep> in_running_order(const NestTemplate& t, uint32_t band, const BandStep& step, size_t depth);
/// Tensors of a band keep as few planes along its first member as their readers allow.
void fold_storage(Sketcher& s, uint32_t band);
/// Locals with a cell for each element, all of which an output takes as they are, lie in its cells: the copy is left
/// out. Nothing where there are none.
std::optional<Trace> in_outputs(const NestTemplate& t, Trace trace);
/// Does some read have neighbours along the index in neighbouring cells?
bool reads_along(const Equation& equation, VarId index);

}  // namespace polyweft::schedules
