// Sums of exponentials below a maximum in one pass over their index: the program's other form (ir/normalize/
// online_maximum.h), in strips of rows.
#pragma once

#include "schedules/sketches/sketches.h"

namespace polyweft::schedules {

/// Traces that begin with `online`, for maxima whose terms for a strip of rows no near cache holds: strips of the
/// output, inside them blocks of the reduced index, inside these all that a block needs. Empty where nothing has that
/// form.
std::vector<NestTemplate> online_sketches(const Program& normalized, NumericsClass cls, const Machine& machine);

}  // namespace polyweft::schedules
