// SPIR-V of kernels, for consumers of OpenCL kernels.
#pragma once

#include "targets/backend.h"
#include "targets/gpu/launches.h"

namespace polyweft::targets {

/// LLVM's text of a module with a function of kernel_symbol() for each kernel.
Result<std::string> spirv_llvm_text(const DeviceNest& nest, const std::string& symbol);
/// SPIR-V 1.4 with the capability Kernel of such a text. Once a process, and LLVM may end it: by the helper
/// (device_process.h).
Result<Bytes> spirv_of_llvm(const std::string& text);

}  // namespace polyweft::targets
