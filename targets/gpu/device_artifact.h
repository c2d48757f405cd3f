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

}  // namespace polyweft::targets
