// Small problems by the thousand: a batch of matrices, complex numbers, filters. Their own loops are too short for
// vectors, so elements of the batch are the lanes.
//
//   for b in 0 .. 8192                       for b.1 in 0 .. 8192 step 16
//     for i in 0 .. 3: T[b, i] <- ..           for b in 0 .. 16 vector
//   for b in 0 .. 8192             -->           for i in 0 .. 3 unroll: T[b, i] <- ..       T: f32[16, 3] reg
//     for i in 0 .. 3: Y[b, i] <- .. T ..        for i in 0 .. 3 unroll: Y[b.1 + b, i] <- .. T ..
//
// Legal where all that the loops write is apart for different elements of the batch: in each access to it one subscript
// is the batch's index.
#pragma once

#include "polyweft/loop_nest.h"
#include "polyweft/trace.h"

namespace polyweft::ir {

/// The longest run of nests that walk the same batch, one after the other, as one nest over blocks of the step's lanes;
/// what an element needs of locals is in registers, or on the stack where a serial loop walks it. Elements beyond the
/// last whole block run one by one. PW0304: no such nests, elements that need each other, too much code.
Result<LoopNest> batch_lanes(const LoopNest& nest, const BatchStep& step);

}  // namespace polyweft::ir
