// From a kernel's object to a module that engines take.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "targets/cpu/build.h"

namespace polyweft::targets {

/// Of a module; the first of its memory.
inline constexpr unsigned kWasmStackBytes = 1 << 20;

/// Exports its memory, these functions, SYMBOL_repeat for the first of them, and polyweft_allocate (runtime/runtime.c).
/// SYMBOL_repeat takes how often it calls SYMBOL with the arguments behind that, and returns the last code: callers
/// outside of the engine take microseconds for a call. `addresses`: how many SYMBOL takes; none: there is no
/// SYMBOL_repeat. PW0514 where the linker
/// refuses.
Result<Bytes> wasm_module(const CompiledObject& object, const std::vector<std::string>& exported,
                          std::optional<size_t> addresses, const Target& target);

}  // namespace polyweft::targets
