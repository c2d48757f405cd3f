// SPIR-V kernels, which OpenCL devices run.
#pragma once

#include <memory>

#include "targets/backend.h"

namespace polyweft::targets {

/// Kind of its artifacts: the nest's text and the SPIR-V module of its kernels.
inline constexpr const char* kSpirvKernels = "spirv-kernels";

/// Architecture "spirv64", with the target "opencl".
std::unique_ptr<Backend> spirv_backend();

}  // namespace polyweft::targets
