// Conditions that are no conjunction, as disjoint conjunctions: the border `i == 0 or i == N-1 or j == 0` becomes
// pieces that a loop can visit.
#pragma once

#include "schedules/hulls.h"

namespace polyweft::schedules {

/// Disjoint parts of a domain that together are all of it; each part's conditions, of form e >= 0 or e == 0, take the
/// place of domain.guards. Conditions with quotients stay guards of every part. Parts without a point in the domain's
/// intervals are left out. Nothing where there would be more than 64. `reduced`: the first reduced index of a sum,
/// kNoVar for none: a part in which nothing is folded stays where it has elements, which have a first value.
std::optional<std::vector<std::vector<Guard>>> disjoint_pieces(const Domain& domain, VarId reduced = kNoVar);

}  // namespace polyweft::schedules
