// Lanes as threads of a block: what a core does in a vector a block does in neighbouring threads, each with registers
// of its own.
//
//   for i.1 axis "block_x"                              for i.1 axis "block_x"
//     alloc a: f32[4, 32] reg                     -->     alloc B.p: f32[K', 32] shared
//       for k.1: alloc B.p { copy B.p                       for t in 0 .. 32 axis "thread_x"
//         for k, i unroll: for j.v in 0 .. 32 vector          alloc a: f32[4] reg
//           a[i, j.v] += .. B.p[k, j.v] }                       for k.1: copy B.p[.., t]  sync  for k, i unroll: a[i]
//           +=
//                                                               .. B.p[.., t]  sync
//
// A loop over lanes becomes a condition on the thread. What all lanes have in common each thread does for itself, where
// it goes to registers; else the first one does it, and copies into memory that threads share are divided among them.
// Such memory is allocated around the threads: its cells are then named by where they lie in the block's range, modulo
// what is alive of them at a time. Barriers stand between statements that meet in such a cell.
#pragma once

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

/// All vector loops of the nest as threads along x; loops over other threads around them stay. PW0311 where a register
/// would belong to several threads, or a barrier would stand in a loop that is longer for some of them.
Result<LoopNest> lanes_as_threads(const LoopNest& nest);

}  // namespace polyweft::ir
