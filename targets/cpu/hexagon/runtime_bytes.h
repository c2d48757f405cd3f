// The start of programs and the arithmetic that the machine lacks, as an object for Hexagon.
#pragma once

#include <span>

namespace polyweft::targets {

/// Empty where this was built without a compiler for Hexagon.
std::span<const unsigned char> hexagon_runtime_object();

}  // namespace polyweft::targets
