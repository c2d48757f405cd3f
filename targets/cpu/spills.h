// Spills of vector registers, counted in the object itself.
#pragma once

#include <vector>

namespace polyweft::targets {

struct AssemblyCode;

/// Most stores of vector registers to the stack in one innermost loop of all functions of an ELF object. 0 where it
/// cannot be read.
int count_spills(const std::vector<unsigned char>& object);
/// The same of assembly text.
int count_spills(const AssemblyCode& assembly);

}  // namespace polyweft::targets
