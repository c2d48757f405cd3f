// A statement in other indices: its instances counted by the members of a band.
#pragma once

#include "schedules/queries.h"

namespace polyweft::schedules {

/// A stage whose indices are the members (those that move with data indices first, then those that move with reduced
/// ones), then the reduced indices that no member moves with.
struct Reindexed {
  Stage stage;  ///< without name, place, hull and loops
  Equation equation;
  std::vector<uint32_t> index_of_member;
};
/// Whether the condition moves with an index of the program from `first` on.
bool mentions_from(const Guard& condition, VarId first);
/// Solves row[k](x) == result[k] for x = variables first .. first + count - 1 by elimination with coefficients 1 and
/// -1: each x over the variables `result + k`. Nothing where that does not give them all; `rest`: what the rows that
/// were not needed require to be 0, over the same variables.
std::optional<std::vector<Affine>> inverse(const std::vector<Affine>& rows, VarId first, uint32_t count, VarId result,
                                           std::vector<Affine>* rest = nullptr);
/// PW0324 where members do not give back the statement's indices by whole numbers.
Result<Reindexed> reindexed(const NestTemplate& t, const BandPlace& place, const std::vector<std::string>& members,
                            const std::string& subject);

}  // namespace polyweft::schedules
