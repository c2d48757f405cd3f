#include "targets/cpu/hexagon/runtime_bytes.h"

#include "support/embedded_file.h"

PW_EMBEDDED_FILE(polyweft_hexagon_runtime, PW_HEXAGON_RUNTIME)

namespace polyweft::targets {

std::span<const unsigned char> hexagon_runtime_object() {
  return PW_EMBEDDED_BYTES(polyweft_hexagon_runtime);
}

}  // namespace polyweft::targets
