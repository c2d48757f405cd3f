// The C header of kernels for a device: what a program of its own needs to launch them.
#pragma once

#include <string>

#include "targets/backend.h"
#include "targets/gpu/launches.h"

namespace polyweft::targets {

/// C11 and C++17: grid, block and shared bytes of each kernel, the order of its arguments, the memory that a call
/// needs, and the host's loops around the launches. `form`: what the kernels are written in.
Bytes device_header(const DeviceNest& nest, const std::string& symbol, const std::string& form);

}  // namespace polyweft::targets
