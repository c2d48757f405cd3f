// Halide's standalone runtime as functions of this process, for kernels that are loaded here.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace polyweft::targets {

/// Name and address of what kernels may call: halide_* of the linked runtime, memcpy, memset, memmove.
const std::vector<std::pair<std::string, void*>>& runtime_functions();

}  // namespace polyweft::targets
