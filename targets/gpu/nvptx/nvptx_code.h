// PTX of kernels.
#pragma once

#include "targets/backend.h"
#include "targets/gpu/kernels.h"
#include "targets/gpu/nvptx/nvptx_machines.h"

namespace polyweft::targets {

/// Kernels in the terms of LLVM's back end for PTX.
const DeviceDialect& nvptx_dialect(const NvptxMachine& machine);

/// PTX of a module with an entry of kernel_symbol() for each kernel.
Result<std::string> ptx_text(const DeviceNest& nest, const Target& target, const std::string& symbol);
/// LLVM's text of the same.
Result<std::string> nvptx_llvm_text(const DeviceNest& nest, const Target& target, const std::string& symbol);

}  // namespace polyweft::targets
