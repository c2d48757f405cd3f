// A nest's kernels on an OpenCL device, called from this process.
#pragma once

#include "targets/backend.h"
#include "targets/gpu/launches.h"

namespace polyweft::targets {

/// Compiles the module on opencl_device() and takes the memory that calls need. PW0517 where there is no device, PW0516
/// where the device's compiler refuses the module, PW0658 where it refuses memory or a launch.
Result<std::unique_ptr<LoadedKernel>> opencl_kernel(DeviceNest nest, const Bytes& spirv, const std::string& symbol);

}  // namespace polyweft::targets
