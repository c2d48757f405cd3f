#include "targets/cpu/wasm/runtime_bytes.h"

__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    ".hidden polyweft_wasm_runtime_begin\n"
    ".hidden polyweft_wasm_runtime_end\n"
    ".global polyweft_wasm_runtime_begin\n"
    ".global polyweft_wasm_runtime_end\n"
    "polyweft_wasm_runtime_begin:\n"
    ".incbin \"" PW_WASM_RUNTIME
    "\"\n"
    "polyweft_wasm_runtime_end:\n"
    ".popsection\n");

extern "C" {
extern const unsigned char polyweft_wasm_runtime_begin[];
extern const unsigned char polyweft_wasm_runtime_end[];
}

namespace polyweft::targets {

std::span<const unsigned char> wasm_runtime() {
  return {polyweft_wasm_runtime_begin, polyweft_wasm_runtime_end};
}

}  // namespace polyweft::targets
