// Scalar replacement (register promotion along a loop): what an innermost loop keeps in memory only for its own next
// iterations stays in registers.
//
//   for j: D[i, j] = f(D[i, j - 1], ..)     ->     d = D[i, lo - 1];  for j: d = f(d, ..); D[i, j] = d
//   for k: C[i, j] += A[i, k] * B[k, j]     ->     c = C[i, j];  for k: c += ..;  C[i, j] = c
//
// A recurrence then waits for its arithmetic and not for memory, and vectorizers see a value of the last iteration, not
// a store that may meet a load. (Callahan, Carr and Kennedy: Improving register allocation for subscripted variables,
// PLDI 1990.)
#pragma once

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

struct ScalarReplacement {
  int64_t vector_bits =
      128;                  ///< loops that code generation computes as scans (scans.h) of such vectors keep their form
  int carried_values = 12;  ///< values from earlier iterations that a loop may hold; more: none of them
  int promoted_cells = 12;  ///< registers of elements that a loop does not move; more: none of them
};

/// Of innermost serial loops whose iterations are straight: statements, unrolled loops, whole vectors, decided
/// conditions. A stored element is carried where one to three iterations later it is read, no other statement stores
/// there until then, and the loop has step 1. An element that the loop does not move is promoted where all accesses of
/// the loop to its buffer are such elements, each read first. Both become register buffers around the loop. Results
/// stay the same, bit by bit.
LoopNest replace_scalars(LoopNest nest, const ScalarReplacement& options);

}  // namespace polyweft::ir
