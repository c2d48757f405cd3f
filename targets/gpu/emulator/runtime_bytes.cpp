#include "targets/gpu/emulator/runtime_bytes.h"

#include "support/embedded_file.h"

PW_EMBEDDED_FILE(polyweft_emulator_runtime, PW_EMULATOR_RUNTIME)

namespace polyweft::targets {

std::span<const unsigned char> emulator_runtime_object() {
  return PW_EMBEDDED_BYTES(polyweft_emulator_runtime);
}

}  // namespace polyweft::targets
