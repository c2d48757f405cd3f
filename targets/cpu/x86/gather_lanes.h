// Gathers and scatters by their names.
#pragma once

#include <string>

namespace polyweft::targets {

/// Lanes of the gather or scatter with this name of LLVM's ("VGATHERQPDZrm": 8); 0 for any other instruction.
int gathered_lanes(const std::string& name);

}  // namespace polyweft::targets
