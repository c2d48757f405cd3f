// Rule 14: images of several sizes, each made of the next larger one or drawn larger again, in one pass over their
// rows.
#pragma once

#include "schedules/sketches/sketches.h"

namespace polyweft::schedules {

/// Traces for programs of rows at several resolutions (pyramids: filtered and drawn smaller, drawn larger and
/// subtracted), larger than the second cache: one band whose member t counts rows of the finest, each statement's rows
/// as soon as what they read is made, tensors that the program keeps for itself in rings of rows. Empty where all rows
/// move at one speed (chains do better: rule 12). Asks isl.
std::vector<NestTemplate> resolution_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                              const Isl& isl);

}  // namespace polyweft::schedules
