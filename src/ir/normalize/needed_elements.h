// Elements of locals that no output needs.
//
//   let T[i: N, j: i + 1] = sum[k: N] X[k, i] * X[k, j]
//   out Y[i: N] = T[i, 0]                                    let T[i: N, j: 1] = ..
//
// For each local the boxes of elements that somebody reads are collected from the outputs on, through the conditions
// around each read; what lies outside leaves the domains of its equations. A few boxes stay apart where the one around
// them would hold twice as much: an equation then becomes one for each. Boxes that go on growing (recurrences) are
// widened to the whole domain on the side where they grow. A box holds at least what is needed; where half of a local
// is needed or more, it stays whole.
#pragma once

#include "polyweft/program.h"

namespace polyweft::ir {

/// Outputs have the same values at the same elements. Parameters may be open: a bound then has to hold for all of their
/// values.
Program without_unneeded_elements(const Program& program);

}  // namespace polyweft::ir
