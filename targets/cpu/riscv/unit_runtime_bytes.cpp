#include "targets/cpu/riscv/unit_runtime_bytes.h"

#include "support/embedded_file.h"

PW_EMBEDDED_FILE(polyweft_unit_runtime, PW_UNIT_RUNTIME)

namespace polyweft::targets {

std::span<const unsigned char> unit_runtime_object() {
  return PW_EMBEDDED_BYTES(polyweft_unit_runtime);
}

}  // namespace polyweft::targets
