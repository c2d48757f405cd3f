// Values outside reductions that are the same for many points of an equation: made once, in a tensor of their own.
//   Y[i, j, k] = exp(A[j, k]) * B[i]   =   e[j, k] * B[i],   e[j, k] = exp(A[j, k])
#pragma once

#include <map>

#include "ir/values/scope.h"

namespace polyweft::ir {

/// About how many additions of vectors its operators take, conditions included; reads cost nothing.
int cost_of(const Expr& e);
/// Is a value of this cost, wanted this often, better stored and read than made again?
bool is_worth_storing(int cost, int64_t repetitions);

/// How often a value of that domain, a projection of the scope, stands among the points of the scope: about, 1 where
/// that depends on parameters.
int64_t repetitions_of(const ExprScope& scope, const ExprScope& domain);

}  // namespace polyweft::ir
