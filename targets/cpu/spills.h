// Spills of vector registers, counted in the object itself.
#pragma once

#include <vector>

namespace polyweft::targets {

/// Stores of vector registers to [rsp/rbp + c] in all functions of an ELF object. 0 where it cannot be read.
int count_spills(const std::vector<unsigned char>& object);

}  // namespace polyweft::targets
