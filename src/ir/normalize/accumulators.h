// Recurrences that take in one term a step, of which all readers want the last value: reductions instead.
//
//   let r[i: N, 0] = b[i]
//   let r[i: N, k: 1..K + 1] = r[i, k - 1] + A[i, k - 1] * x[k - 1]
//   out y[i: N] = r[i, K]
// becomes
//   let r[i: N] = b[i] + (sum[k: 1..K + 1] A[i, k - 1] * x[k - 1])
//   out y[i: N] = r[i]
//
// So programs in single assignment, as systolic designs are written, are those that sums are. The steps may go down,
// and the first value may stand in the same equation: r[i, k: K] = A[i, k] + (r[i, k - 1] where k >= 1 else b[i]).
#pragma once

#include "polyweft/program.h"

namespace polyweft::ir {

/// Sums, extremes, `or` and `and`, products of integers (theorem T12). Sums of floats in class reassoc alone, of half
/// types never: their values on the way would be rounded. Products of floats keep the order in which they are written.
/// A reader of any other value than the last keeps the recurrence.
Program with_accumulators_as_reductions(Program program, NumericsClass cls);

}  // namespace polyweft::ir
