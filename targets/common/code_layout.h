// What lowering tells later passes of functions and loops: how often they run, and where they lie in memory.
#pragma once

#include <cstdint>

namespace polyweft::targets {

/// Of functions, where branches say how often they are taken: how often a call of the kernel runs them one after the
/// other, in decimal; none: once.
inline constexpr const char* kRunsAttribute = "polyweft-runs";

/// Of functions with loops, and of loops: where these lie modulo a line of the caches of instructions, or modulo what
/// is fetched at a time, is then the same in every product. What the lab raced, with shorter checks before the body,
/// took 13 % longer in the shared object that was served (the base order of a random system: 0.86 and 0.97 ms, the same
/// instructions 80 bytes further on).
inline constexpr uint64_t kCodeLine = 64, kLoopLine = 32;

}  // namespace polyweft::targets
