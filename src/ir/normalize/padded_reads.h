// Guarded reads inside reductions whose subscripts are sums of slots and reduced indices: a padded copy, made once.
//
//   out Y[y: H, x: W] = sum[r: 3, s: 3] F[r, s] * (X[y + r - 1, x + s - 1] where 1 <= y + r < H + 1 and .. else 0)
// becomes
//   let P[u: -1..H + 1, v: -1..W + 1] = X[u, v] where 0 <= u < H and 0 <= v < W else 0
//   out Y[y: H, x: W] = sum[r: 3, s: 3] F[r, s] * P[y + r - 1, x + s - 1]
//
// The same values in every class. The condition is tested once an element and no more once a term.
#pragma once

#include "polyweft/program.h"

namespace polyweft::ir {

/// Of a bound, normalized program. Only where each condition bounds one subscript, subscripts share no index, and an
/// element of the copy is read often.
Program with_padded_reads(Program program);

}  // namespace polyweft::ir
