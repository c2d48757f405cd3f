// What a program computes more often than needed, said shorter: before the reductions become equations of their own
// (normalize).
//
//   x where 0 <= i and i // 2 < N else 0     is  x            where the ranges around say so (affine_facts.h)
//   sum[k: N] (A[k] where k < 4 else 0)      is  sum[k: 4] A[k]
//   max[k: N] f(i)                           is  f(i) where N >= 1 else -inf
//   sum[j: N, k: j + 1] f(j)                 is  sum[j: N] (j + 1) * f(j)
//   argmin[j: N] f(i)                        is  0, the first index
//   max[j: N where j % 2 == 1] A[j]          is  max[j: N // 2] A[2*j + 1]   (N a number)
//   sum[j: N] A[j % 2]                       is  sum[j: 2] count * A[j]      (periodic.h)
//   prod[j: N] x                             is  pow(x, N)
//
// Values stay: integers, max, min, any and all bit by bit in every class. In class reassoc alone, which leaves the
// order of a sum and its last bits open, a floating-point sum of n equal terms becomes n * x, a product pow(x, n), and
// a function of a number that number. Zero times a float stays (infinities and NaN); a term +0 or -0 of a sum goes, for
// a sum starts at +0 and never becomes -0 by it.
#pragma once

#include "polyweft/program.h"

namespace polyweft::ir {

Program simplified(const Program& program, NumericsClass cls);

}  // namespace polyweft::ir
