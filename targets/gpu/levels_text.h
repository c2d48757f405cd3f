// A nest's launches for people: what `show --stage levels` prints for targets with grids.
#pragma once

#include <string>

#include "targets/gpu/launches.h"

namespace polyweft::targets {

/// Memories by where they lie, then the host's loops with a line for each kernel: grid, block, threads, shared bytes.
std::string levels_text(const DeviceNest& device);

}  // namespace polyweft::targets
