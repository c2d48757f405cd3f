// A machine's figures, measured on it by one thread: the best of many short repetitions, so that what others do
// meanwhile shows little.
#pragma once

#include "polyweft/target.h"

namespace polyweft::targets {

/// The target's machine with what was measured: clock, rate and latency of multiply-adds in its widest vectors, loads
/// and stores a cycle, capacity and rate of each cache as one thread sees it, ways of the first, look-aside buffers,
/// rate of memory, fork and join. What could not be told stays as it was, with its origin. Some 2 s; 96 MiB of memory.
Result<Machine> probed_machine(const Target& target);

}  // namespace polyweft::targets
