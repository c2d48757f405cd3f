#include "halide_runtime_bytes.h"

// .incbin costs no compile time; an array of 144,816 numbers in a header would.
#define PW_CARRY(symbol, path)          \
  __asm__(                              \
      ".pushsection .rodata\n"          \
      ".balign 16\n"                    \
      ".hidden " symbol                 \
      "_begin\n"                        \
      ".hidden " symbol                 \
      "_end\n"                          \
      ".global " symbol                 \
      "_begin\n"                        \
      ".global " symbol "_end\n" symbol \
      "_begin:\n"                       \
      ".incbin \"" path "\"\n" symbol   \
      "_end:\n"                         \
      ".popsection\n")

PW_CARRY("polyweft_halide_runtime", PW_HALIDE_RUNTIME_OBJECT);
PW_CARRY("polyweft_halide_runtime_aarch64", PW_HALIDE_RUNTIME_AARCH64_OBJECT);
PW_CARRY("polyweft_halide_runtime_riscv64", PW_HALIDE_RUNTIME_RISCV64_OBJECT);

extern "C" {
extern const unsigned char polyweft_halide_runtime_begin[];
extern const unsigned char polyweft_halide_runtime_end[];
extern const unsigned char polyweft_halide_runtime_aarch64_begin[];
extern const unsigned char polyweft_halide_runtime_aarch64_end[];
extern const unsigned char polyweft_halide_runtime_riscv64_begin[];
extern const unsigned char polyweft_halide_runtime_riscv64_end[];
}

namespace polyweft {

std::span<const unsigned char> halide_runtime_object(std::string_view architecture) {
  if (architecture == "x86-64") return {polyweft_halide_runtime_begin, polyweft_halide_runtime_end};
  if (architecture == "aarch64") return {polyweft_halide_runtime_aarch64_begin, polyweft_halide_runtime_aarch64_end};
  if (architecture == "riscv64") return {polyweft_halide_runtime_riscv64_begin, polyweft_halide_runtime_riscv64_end};
  return {};
}

}  // namespace polyweft
