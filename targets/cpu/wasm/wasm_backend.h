#pragma once

#include <memory>

#include "targets/backend.h"

namespace polyweft::targets {

std::unique_ptr<Backend> wasm_backend();

}  // namespace polyweft::targets
