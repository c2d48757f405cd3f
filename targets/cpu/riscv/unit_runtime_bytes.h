// The start of programs and the model of a unit, as an object for RISC-V.
#pragma once

#include <span>

namespace polyweft::targets {

/// Empty where this was built without a compiler for RISC-V.
std::span<const unsigned char> unit_runtime_object();

}  // namespace polyweft::targets
