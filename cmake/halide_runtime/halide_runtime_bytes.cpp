#include "halide_runtime_bytes.h"

// .incbin costs no compile time; an array of 144,816 numbers in a header would.
__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    ".hidden polyweft_halide_runtime_begin\n"
    ".hidden polyweft_halide_runtime_end\n"
    ".global polyweft_halide_runtime_begin\n"
    ".global polyweft_halide_runtime_end\n"
    "polyweft_halide_runtime_begin:\n"
    ".incbin \"" PW_HALIDE_RUNTIME_OBJECT
    "\"\n"
    "polyweft_halide_runtime_end:\n"
    ".popsection\n");

extern "C" {
extern const unsigned char polyweft_halide_runtime_begin[];
extern const unsigned char polyweft_halide_runtime_end[];
}

namespace polyweft {

std::span<const unsigned char> halide_runtime_object() {
  return {polyweft_halide_runtime_begin, polyweft_halide_runtime_end};
}

}  // namespace polyweft
