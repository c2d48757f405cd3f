#pragma once

#include <memory>

#include "targets/backend.h"

namespace polyweft::targets {

std::unique_ptr<Backend> riscv_unit_backend();

}  // namespace polyweft::targets
