// Bands: statements in loops over common members. What the steps band, skew, shift, reverse, fold and distribute share.
//
// A band's frame is a stage without a computation; its statements are stages fused into it, with the members as their
// indices, so that tile, vectorize, unroll, accumulate act on them as on any other. Legality is read off the relations
// (theorems T1 to T4) each time something of the band changed.
#pragma once

#include "schedules/queries.h"
#include "schedules/steps.h"

namespace polyweft::schedules {

/// Number of the band with this name; PW0302.
Result<uint32_t> band_named(const NestTemplate& t, const std::string& name);
/// The band whose frame has this stage number, or in which this stage runs; nothing for others.
std::optional<uint32_t> band_of(const NestTemplate& t, uint32_t stage);
/// Number of a member; PW0303.
Result<uint32_t> member_named(const NestTemplate& t, const Band& band, const std::string& name);
/// The statements of a band, in sequence (as band.places).
std::vector<uint32_t> stages_of(const NestTemplate& t, uint32_t band);
/// Statements of the band that run alone in some of its tiles (isolate), in sequence.
std::vector<uint32_t> alone_in(const NestTemplate& t, uint32_t band);
/// What isl says of a band with the folds that there are; PW0320 where isl is not at hand, PW0323, PW083x.
Result<poly::BandFacts> facts_of(const NestTemplate& t, uint32_t band, const Isl& isl, const std::string& subject);
/// Makes the frame and its statements anew from band.places: point loops over all members, shared by all. PW0323,
/// PW0324, PW083x, PW0305 where the sequence of members is no legal order.
Status rebuild(NestTemplate& t, uint32_t band, const Isl& isl);
/// Do the loops of the band as they stand keep every relation? PW0305 or PW0306 with the relation that they break.
Status keeps_relations(const NestTemplate& t, uint32_t band, const std::string& subject);

/// Is the loop the statement's own: does the band not share a point loop over the same member? PW0304.
Status is_own_loop(const NestTemplate& t, uint32_t stage, const TemplateLoop& loop, const std::string& subject);

}  // namespace polyweft::schedules
