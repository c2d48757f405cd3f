// Buffers that lie in the memory of others (Buffer::within): which ones meet, and passes that put them there.
#pragma once

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

/// Of each buffer the others that have bytes in common with it; all empty where no buffer lies within another.
std::vector<std::vector<BufferId>> sharers_of(const LoopNest& nest);
/// Bytes from the start of its memory (the host's, where it lies within one) to an element; nothing for gathers and
/// layouts that are not row-major without pads.
std::optional<Affine> byte_of(const LoopNest& nest, const Access& access);
/// Whether the statement moves a value from `from` to the bytes in which it lies already. Decided by form: false may be
/// true.
bool stays_in_place(const LoopNest& nest, const Compute& compute, BufferId from);

/// Lets locals that are copied to an output at the end live in the output. `total`: outputs all of whose elements the
/// program defines. Of a nest of plain loops.
void place_in_outputs(LoopNest& nest, const std::vector<bool>& total);
/// This local in this output. PW0308 where it is not so.
Status place_in_output(LoopNest& nest, TensorId local, TensorId output);
/// Lets buffers of the whole call that are never in use at the same time share memory, where that saves any.
void reuse_dead(LoopNest& nest);

}  // namespace polyweft::ir
