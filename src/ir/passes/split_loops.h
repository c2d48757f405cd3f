// Index-set splitting of innermost loops: between two values of the variable at which a condition inside changes, all
// conditions are decided, and the hot part has none.
//
//   for i: if i == 0: S[0] = X[0]; if i >= 1: S[i] = S[i - 1] + X[i]
//     ->  S[0] = X[0]; for i from 1: S[i] = S[i - 1] + X[i]
//
// A part then is one straight block, which loop-carried values in registers want (scalar_replacement.h).
#pragma once

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

/// Of serial loops with step 1 around statements, conditions and unrolled loops; at most 4 values, and 64 statements an
/// iteration. The order of statements stays. Symbolic nests stay as they are.
LoopNest split_loops(LoopNest nest);

}  // namespace polyweft::ir
