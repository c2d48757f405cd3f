#pragma once

#include <string>

namespace polyweft::wasm_test {

/// "" where Wasmtime is there. Where POLYWEFT_REQUIRED names wasm, none fails the test.
std::string why_no_engine();

}  // namespace polyweft::wasm_test
