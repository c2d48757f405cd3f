// Symbols that the C library of the machine that built this exports, libm's too; CMake asks the files
// (targets/CMakeLists.txt).
#pragma once

#include <span>
#include <string_view>

namespace polyweft::targets {

/// Sorted by bytes.
std::span<const std::string_view> c_library_symbols();

}  // namespace polyweft::targets
