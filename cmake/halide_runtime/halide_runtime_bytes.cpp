#include "halide_runtime_bytes.h"

#include "support/embedded_file.h"

PW_EMBEDDED_FILE(polyweft_halide_runtime, PW_HALIDE_RUNTIME_OBJECT)
PW_EMBEDDED_FILE(polyweft_halide_runtime_aarch64, PW_HALIDE_RUNTIME_AARCH64_OBJECT)
PW_EMBEDDED_FILE(polyweft_halide_runtime_riscv64, PW_HALIDE_RUNTIME_RISCV64_OBJECT)

namespace polyweft {

std::span<const unsigned char> halide_runtime_object(std::string_view architecture) {
  if (architecture == "x86-64") return PW_EMBEDDED_BYTES(polyweft_halide_runtime);
  if (architecture == "aarch64") return PW_EMBEDDED_BYTES(polyweft_halide_runtime_aarch64);
  if (architecture == "riscv64") return PW_EMBEDDED_BYTES(polyweft_halide_runtime_riscv64);
  return {};
}

}  // namespace polyweft
