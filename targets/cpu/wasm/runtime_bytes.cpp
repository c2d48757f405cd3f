#include "targets/cpu/wasm/runtime_bytes.h"

#include "support/embedded_file.h"

PW_EMBEDDED_FILE(polyweft_wasm_runtime, PW_WASM_RUNTIME)

namespace polyweft::targets {

std::span<const unsigned char> wasm_runtime() {
  return PW_EMBEDDED_BYTES(polyweft_wasm_runtime);
}

}  // namespace polyweft::targets
