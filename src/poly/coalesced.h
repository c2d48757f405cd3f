// isl 0.25 coalesces some unions with integer divisions into sets that are too large or too small: { [j] : 0 <= j <= 9
// and (j <= 1 or 3*floor(j/3) < j) } becomes { [j] : 0 <= j <= 9 }, which has j = 3 (12 of 3,000 random sets with
// remainders; none of 3,000 without divisions; isl_set_is_equal was right each time, by enumeration). A check that
// reads such a set refuses what is right, a proof may take what is wrong. So nothing of ours calls isl's coalescing but
// these.
#pragma once

#include "poly/isl_util.h"

namespace polyweft::poly {

/// The same set in fewer pieces, where isl finds any.
Set coalesced(Set s);
Map coalesced(Map m);
UnionMap coalesced(UnionMap m);
PwAff coalesced(PwAff e);

}  // namespace polyweft::poly
