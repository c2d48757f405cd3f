// What a call asks of the machine before anything is allocated.
#pragma once

#include "polyweft/program.h"
#include "polyweft/result.h"

namespace polyweft {

/// Do so many copies of all inputs and outputs of a bound program fit the memory that this process may take, the
/// machine's and its own limit? PW0814 otherwise. A program may define tensors that no machine holds and be compiled
/// for another; only who allocates them asks.
Status arguments_fit(const Program& bound, int copies);

}  // namespace polyweft
