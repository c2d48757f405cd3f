// Sums that a warp holds go from its registers straight to what follows them.
//
//   alloc L                                        alloc a tile
//     alloc a tile                           -->     ..  a[i, j] += A * B
//       ..  a[i, j] += A * B                         for i, j: Y[i, j] = f(a[i, j])
//       for i, j: L[i, j] = a[i, j]
//     for i, j: Y[i, j] = f(L[i, j])
//
// What follows is then done by the lanes for the sums that they hold (lanes_as_threads.h). Through L it would be done
// by threads that do not hold them.
#pragma once

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

/// Of buffers of the nest that one copy fills from sums of a product by warps, and of which all reads stand behind the
/// sums in the same sequence, at cells that both name alike. Others stay as they are.
LoopNest forwarded_sums(LoopNest nest);

}  // namespace polyweft::ir
