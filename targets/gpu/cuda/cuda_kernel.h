// Kernels of a nest on the CUDA device.
#pragma once

#include <memory>

#include "targets/gpu/device_program.h"

namespace polyweft::targets {

/// PW0517 where there is no device, PW0516 where the driver refuses the PTX, PW0658 where it refuses memory.
Result<std::unique_ptr<DeviceProgram>> cuda_kernel(DeviceNest nest, std::string_view ptx, const std::string& symbol);

}  // namespace polyweft::targets
