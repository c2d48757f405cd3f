// Which loops become vectors. HVX has lanes of 8, 16 and 32 bits: loops over floats, over
// 64-bit integers and of fewer lanes than a vector of words has stay loops.
#pragma once

#include "polyweft/loop_nest.h"

namespace polyweft::targets {

/// The same nest without the marks `vector` of loops whose lanes the machine has not. Buffers of registers that such a
/// loop reads or writes lie on the stack. Structural only.
LoopNest with_lanes_of_the_machine(LoopNest nest);

}  // namespace polyweft::targets
