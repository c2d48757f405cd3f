#pragma once

#include <span>

namespace polyweft::targets {

/// A WebAssembly object with what kernels call: runtime/runtime.c.
std::span<const unsigned char> wasm_runtime();

}  // namespace polyweft::targets
