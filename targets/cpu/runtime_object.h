// Halide's standalone runtime: as bytes, for products, and as functions of this process, for kernels that are loaded here.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace polyweft::targets {

/// The ELF object, embedded at build time.
const std::vector<unsigned char>& runtime_object();
/// Name and address of what kernels may call: halide_* of the linked runtime, memcpy, memset, memmove.
const std::vector<std::pair<std::string, void*>>& runtime_functions();

}  // namespace polyweft::targets
