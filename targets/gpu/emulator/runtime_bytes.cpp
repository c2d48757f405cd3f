#include "targets/gpu/emulator/runtime_bytes.h"

__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    ".hidden polyweft_emulator_runtime_begin\n"
    ".hidden polyweft_emulator_runtime_end\n"
    ".global polyweft_emulator_runtime_begin\n"
    ".global polyweft_emulator_runtime_end\n"
    "polyweft_emulator_runtime_begin:\n"
    ".incbin \"" PW_EMULATOR_RUNTIME
    "\"\n"
    "polyweft_emulator_runtime_end:\n"
    ".popsection\n");

extern "C" {
extern const unsigned char polyweft_emulator_runtime_begin[];
extern const unsigned char polyweft_emulator_runtime_end[];
}

namespace polyweft::targets {

std::span<const unsigned char> emulator_runtime_object() {
  return {polyweft_emulator_runtime_begin, polyweft_emulator_runtime_end};
}

}  // namespace polyweft::targets
