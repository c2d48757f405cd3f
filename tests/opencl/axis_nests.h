// Nests with loops over blocks and threads, one for each way in which these stand in a nest.
#pragma once

#include <span>
#include <string>

namespace polyweft::opencl_test {

struct AxisNest {
  const char* name;
  const char* text;
};
std::span<const AxisNest> axis_nests();
/// Of one of them; empty where there is none of this name.
std::string axis_nest(const std::string& name);

/// Each block holds a part of X and its doubles in 48 KiB and 256 bytes of shared memory, which not all devices have,
/// and writes them from the last to the first.
extern const char* const kLargeTiles;

}  // namespace polyweft::opencl_test
