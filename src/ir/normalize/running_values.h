// Reductions over ranges that grow with an index: a running value instead.
//
//   let T[i: N] = sum[q: i] A[q]                              let T[0] = 0
//                                                  becomes    let T[i: 1..N] = T[i - 1] + A[i - 1]
//   let T[i: N] = max[q: i where (q + i) % 2 == 0] A[q]       .. T[i: 2..N] = max(T[i - 2], A[i - 2])
//
// The terms may move with the index only so that they come again after a few steps (periodic.h). Elements without the
// one that many steps before keep the reduction.
#pragma once

#include "polyweft/program.h"

namespace polyweft::ir {

/// Of a normalized program; the shape of an output is that of its ranges, so that its running values are a local's.
/// Sums and products of floats in class reassoc alone, of half types never: their values on the way would be rounded.
/// Ranges of numbers that are long enough; what is left of a reduction is the whole right-hand side of its equation.
Program with_running_values(Program program, NumericsClass cls);

}  // namespace polyweft::ir
