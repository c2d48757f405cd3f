// Halide's standalone runtime as an object file, carried inside the library: `polyweft build --emit static|shared` writes it out again.
#pragma once

#include <span>

namespace polyweft {

/// An ELF relocatable object for x86-64 Linux; all its symbols are weak. It needs libc, pthread and dl.
std::span<const unsigned char> halide_runtime_object();

}  // namespace polyweft
