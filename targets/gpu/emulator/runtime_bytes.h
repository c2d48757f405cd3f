// The emulator's runtime as an object file of this machine.
#pragma once

#include <span>

namespace polyweft::targets {

std::span<const unsigned char> emulator_runtime_object();

}  // namespace polyweft::targets
