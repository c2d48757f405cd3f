// Loops marked `pipeline N`: copies into memory near the work are made N - 1 iterations ahead (docs/theorems.md, T13).
//
//   for v in lo .. hi step s pipeline 2 {        alloc p (2 slots) {
//     alloc p {                                    copy async p[0, ..] <- X[.. lo ..]; sync async_commit
//       copy p[..] <- X[.. v ..]            -->    for t in 0 .. T {
//       work on p[..]                                if t + 1 < T: copy async p[t + 1, ..] <- X[.. lo + s (t + 1) ..]
//     }                                              sync async_commit; sync async_wait 1
//   }                                                work on p[t, ..]
//                                                  }
//                                                }
//
// The new dimension is folded: iteration t has slot t modulo N. A buffer that is allocated outside of the loop, and is
// circular along it (what threads share is), becomes N times as long. Loops whose first copies cannot be told apart
// from the work, or that have no constant number of iterations, stay as they are.
#pragma once

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

/// No mark `pipeline` is left. Arithmetic only.
LoopNest pipelined(LoopNest nest);

}  // namespace polyweft::ir
