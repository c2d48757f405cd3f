// Private to the checker: zero padding along a reduced index (LANGUAGE.md section 4).
#pragma once

#include "poly/check/flow.h"

namespace polyweft::poly::checker {

/// Iterations of a fold outside `points` (its equation's reduced points), into a defined element, whose term is +0
/// whatever the inputs are: a product of cells that copies filled with +0. They leave a sum as it is, in every class:
/// it starts at +0 and is never -0. Of a product both factors must be filled, because 0 * inf is NaN.
Set neutral_folds(const Program& program, const Statement& s, Flow& flow, const Set& points);

}  // namespace polyweft::poly::checker
