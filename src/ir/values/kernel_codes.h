// Positive codes that a kernel returns; negative ones are halide_error_code_t.
#pragma once

namespace polyweft::ir {

constexpr int kNoMemory = -11;       ///< halide_error_code_out_of_memory
constexpr int kValueOutOfRange = 1;  ///< an element of an input lies outside its promised values
constexpr int kNoTileUnit = 2;       ///< the system does not let this process use the tile unit

constexpr int kSizeTooLarge = 3;      ///< symbolic kernels: a size is larger than they take
constexpr int kThreadsParted = 4;     ///< emulated: threads of a block wait for some that have ended
constexpr int kNoLevel = 5;           ///< of several levels inside the machine has none
constexpr int kFirstAssumption = 16;  ///< symbolic kernels: and up, the number of the assumption that does not hold

}  // namespace polyweft::ir
