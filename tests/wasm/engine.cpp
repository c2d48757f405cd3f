// WebAssembly in Wasmtime takes the place of an emulator.
#include "wasm/engine.h"

#include "emulated/emulated.h"

namespace polyweft {

std::string wasm_test::why_no_engine() {
  return emulated_test::why_not_here(find_target("wasm").value(), {"wasm"});
}

std::string emulated_test::missing_emulator() {
  return wasm_test::why_no_engine();
}

std::vector<emulated_test::EmulatedLevel> emulated_test::emulated_levels() {
  return {{"simd128", "wasm", EmulatedLevel::Programs::all, 60}};
}

}  // namespace polyweft
