// The files of targets/instructions as text; written by CMake.
#pragma once

#include <vector>

namespace polyweft::ir {

std::vector<const char*> instruction_texts();

}  // namespace polyweft::ir
