#include "targets/cpu/hexagon/runtime_bytes.h"

__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    ".hidden polyweft_hexagon_runtime_begin\n"
    ".hidden polyweft_hexagon_runtime_end\n"
    ".global polyweft_hexagon_runtime_begin\n"
    ".global polyweft_hexagon_runtime_end\n"
    "polyweft_hexagon_runtime_begin:\n"
    ".incbin \"" PW_HEXAGON_RUNTIME
    "\"\n"
    "polyweft_hexagon_runtime_end:\n"
    ".popsection\n");

extern "C" {
extern const unsigned char polyweft_hexagon_runtime_begin[];
extern const unsigned char polyweft_hexagon_runtime_end[];
}

namespace polyweft::targets {

std::span<const unsigned char> hexagon_runtime_object() {
  return {polyweft_hexagon_runtime_begin, polyweft_hexagon_runtime_end};
}

}  // namespace polyweft::targets
