// Rules 7 and 8: sketches of programs with recurrences.
#pragma once

#include "schedules/sketches/sketches.h"
#include "schedules/steps.h"

namespace polyweft::schedules {

/// Traces that begin with the bands that isl proposes, storage folded to few planes: time tiles where shifts and skews
/// make every distance non-negative, then rows of vectors in the proposed order. Empty where no band has loops that a
/// statement may have for itself. Asks isl some ten questions of 5-50 ms.
std::vector<Trace> recurrence_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                       const Isl& isl);

}  // namespace polyweft::schedules
