// Reductions whose terms are the same on a part of the domain: the part leaves, and the rest runs without the condition
// that told them apart.
//
//   max[k: N] (A[k + 1] where k + 1 < N else 0)            is  max(max[k: N - 1] A[k + 1], 0)
//   sum[k: N] B[i] * (A[i, k] where i < 2 else 3)          is  sum[k: N] B[i] * A[i, k] where i < 2 else N * (B[i] * 3)
#pragma once

#include <functional>

#include "ir/normalize/collapse_reductions.h"

namespace polyweft::ir {

/// Makes an expression of a place simpler; reductions collapse by it.
using Simplify = std::function<Expr(const Expr&, const AffineFacts&)>;
/// Null where no condition among the terms has that effect.
Expr parted(const Expr& reduce, NumericsClass cls, const AffineFacts& around, const Simplify& simple);

}  // namespace polyweft::ir
