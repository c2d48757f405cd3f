// Reductions by a combiner whose components are reductions of their own: a maximum and sums that are scaled to it.
//
//   combine f((m, s, o), (n, t, q)) from (-inf, 0, 0) = (c, s * exp(m - c) + t * exp(n - c), o * exp(m - c) + ..)
//   let (m, s, o)[i: N, d: D] = reduce f[j: K] (a[i, j], 1, V[j, d])              with c = max(m, n)
// becomes
//   let m[i: N] = max[j: K] a[i, j]
//   let s[i: N] = sum[j: K] exp(a[i, j] - m[i])
//   let o[i: N, d: D] = sum[j: K] exp(a[i, j] - m[i]) * V[j, d]
//
// Theorem T11, read backwards; which of the two forms is faster is then the schedule's to decide (online_maximum.h).
// Components that are folds by one operator (c of an integer sum and a maximum, say) are reductions in the same way.
#pragma once

#include "polyweft/program.h"

namespace polyweft::ir {

/// Of a source program, before reductions become equations of their own. Where all components of a reduction that is a
/// whole right-hand side are such, for locals and outputs; locals lose the dimensions that a component does not have.
/// Scaled sums and sums of floats in class reassoc alone, of a combiner that is promised to be associative and
/// commutative. Where the values to be scaled are sums, a combiner of blocks, it stays: it is the one-pass form.
Program with_combiners_as_stages(Program program, NumericsClass cls);

}  // namespace polyweft::ir
