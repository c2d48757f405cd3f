// A statement in other indices: its instances counted by the members of a band.
#pragma once

#include "schedules/queries.h"

namespace polyweft::schedules {

/// A stage whose indices are the members (those that move with data indices first, then those that move with reduced ones), then the reduced indices that no member moves
/// with.
struct Reindexed {
  Stage stage;  ///< without name, place, hull and loops
  Equation equation;
  std::vector<uint32_t> index_of_member;
};
/// PW0324 where members do not give back the statement's indices by whole numbers.
Result<Reindexed> reindexed(const NestTemplate& t, const BandPlace& place, const std::vector<std::string>& members, const std::string& subject);

}  // namespace polyweft::schedules
