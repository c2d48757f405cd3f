// Values that several equations compute in the same way: computed by one of them, or by a tensor of their own.
//
//   let p[i: M] = max[k: N] X[i, k]                             let p[i: M] = max[k: N] X[i, k]
//   let q[i: M] = max[j: N] X[i, j]                             let e[i: M, j: N] = exp(X[i, j] - p[i])
//   let s[i: M] = sum[j: N] exp(X[i, j] - p[i])        becomes  let s[i: M] = sum[j: N] e[i, j]
//   out Y[i: M, j: N] = exp(X[i, j] - q[i]) / s[i]              out Y[i: M, j: N] = e[i, j] / s[i]
//
// The same operations on the same operands: values are equal bit for bit in every class. Where computing a value again
// is faster than storing it, the step `inline` undoes it.
#pragma once

#include "polyweft/program.h"

namespace polyweft::ir {

/// Of a normalized program. Equal equations of locals become one. An expression with a function (exp, log, ..) that two
/// equations have at points of the same ranges, and that needs nothing which those equations make, becomes a tensor.
Program with_common_values(Program program);

}  // namespace polyweft::ir
