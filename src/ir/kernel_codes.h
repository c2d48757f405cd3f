// Positive codes that a kernel returns; negative ones are halide_error_code_t.
#pragma once

namespace polyweft::ir {

constexpr int kValueOutOfRange = 1;  ///< an element of an input lies outside its promised values
constexpr int kNoTileUnit = 2;       ///< the system does not let this process use the tile unit

}  // namespace polyweft::ir
