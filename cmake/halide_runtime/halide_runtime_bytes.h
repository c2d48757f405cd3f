// Halide's standalone runtime as object files, carried inside the library: `polyweft build --emit static|shared` writes
// it out again.
#pragma once

#include <span>
#include <string_view>

namespace polyweft {

/// An ELF relocatable object for Linux on this architecture ("x86-64", "aarch64", "riscv64"); all its symbols are weak.
/// It needs
/// libc, pthread and dl. Empty: there is none.
std::span<const unsigned char> halide_runtime_object(std::string_view architecture);

}  // namespace polyweft
