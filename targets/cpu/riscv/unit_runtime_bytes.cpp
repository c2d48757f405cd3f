#include "targets/cpu/riscv/unit_runtime_bytes.h"

__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    ".hidden polyweft_unit_runtime_begin\n"
    ".hidden polyweft_unit_runtime_end\n"
    ".global polyweft_unit_runtime_begin\n"
    ".global polyweft_unit_runtime_end\n"
    "polyweft_unit_runtime_begin:\n"
    ".incbin \"" PW_UNIT_RUNTIME
    "\"\n"
    "polyweft_unit_runtime_end:\n"
    ".popsection\n");

extern "C" {
extern const unsigned char polyweft_unit_runtime_begin[];
extern const unsigned char polyweft_unit_runtime_end[];
}

namespace polyweft::targets {

std::span<const unsigned char> unit_runtime_object() {
  return {polyweft_unit_runtime_begin, polyweft_unit_runtime_end};
}

}  // namespace polyweft::targets
