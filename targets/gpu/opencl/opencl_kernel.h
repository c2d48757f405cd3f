// Kernels of a nest on the OpenCL device.
#pragma once

#include <memory>

#include "targets/backend.h"
#include "targets/gpu/device_program.h"

namespace polyweft::targets {

/// PW0516 where the device's compiler refuses the module, PW0658 where the device refuses memory or a block's size.
Result<std::unique_ptr<DeviceProgram>> opencl_kernel(DeviceNest nest, std::string_view spirv,
                                                     const std::string& symbol);

}  // namespace polyweft::targets
