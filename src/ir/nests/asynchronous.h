// Copies that a machine makes beside the work (Copy::is_async): do they arrive before anybody needs them? T13.
#pragma once

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

bool has_async_copies(const LoopNest& nest);

/// A copy is under way from where it stands to the Sync that waits for its group; in a block of threads to the barrier
/// behind that. Meanwhile nobody may read or write its cell, nor write its source: then the nest means what it means
/// with copies made at once. PW0407 otherwise. Walks over the iterations of loops around asynchronous copies and waits,
/// and takes what is inside of others as boxes: what it accepts is so, but it may refuse copies whose cells a box
/// cannot tell apart. PW0409 where that takes too long.
Status verify_arrivals(const LoopNest& nest);

}  // namespace polyweft::ir
