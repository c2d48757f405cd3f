// The base order left to the compiler's own vectorizers: a candidate of every search, and what is served where no
// schedule is expected to win.
#pragma once

#include <vector>

#include "polyweft/trace.h"
#include "schedules/sketches/sketches.h"
#include "schedules/steps.h"

namespace polyweft::schedules {

/// `autovectorize` alone, after loops are interchanged so that memory is walked contiguously, and for threads with each
/// statement's outermost loop parallel where that is legal; each with the compiler's gathers, where it has any, and
/// without. `isl`: what replay asks of it.
std::vector<NestTemplate> auto_vectorized_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                                   const Isl& isl);

}  // namespace polyweft::schedules
