// Artifacts of kernels that run on grids.
#pragma once

#include <string>

#include "targets/backend.h"
#include "targets/gpu/launches.h"

namespace polyweft::targets {

/// `bytes` of this kind, with a launch for each kernel and the workspaces of a call.
Artifact device_artifact(const DeviceNest& nest, const std::string& kind, Bytes bytes, const std::string& symbol);
/// The symbol that the artifact's kernels were named after.
std::string symbol_of_kernels(const Artifact& artifact);

/// What one launch may have on a kind of device; 0: not known.
struct GridLimits {
  GridSize blocks = {0, 0, 0};
  int64_t threads = 0;       ///< of a block
  int64_t shared_bytes = 0;  ///< of a block
};
/// PW0525 names the kernel that asks for more.
Status fits_grid(const DeviceNest& nest, const GridLimits& limits, const std::string& target);

}  // namespace polyweft::targets
