// Rule 13: sums that read the same large matrix share one pass over it.
#pragma once

#include "schedules/sketches/sketches.h"

namespace polyweft::schedules {

/// Traces for programs in which several sums read a matrix that no near cache holds, along its rows (A x) or down its
/// columns (A^T r): blocks of rows in one band, each sum's part of a block while the block is near. Elementwise
/// matrices of that size are computed where they are read. Empty where nothing is shared. Asks isl.
std::vector<NestTemplate> one_pass_sketches(const Program& normalized, NumericsClass cls, const Machine& machine,
                                            const Isl& isl);

}  // namespace polyweft::schedules
