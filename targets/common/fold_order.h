// In which order the terms of a fold come.
#pragma once

#include "polyweft/loop_nest.h"

namespace polyweft::targets {

/// Do the terms that the statement (an accumulation of argmax or argmin over one index) folds into a cell come with
/// growing indices, all of the element's terms in this statement? Then an equal term never replaces what is kept, but
/// where nothing is kept yet. False where that is not seen from coefficients and constant extents.
bool folds_upwards(const LoopNest& nest, const Compute& compute);

}  // namespace polyweft::targets
