// Kernels as code objects, which AMD's drivers load.
#pragma once

#include <memory>

#include "targets/backend.h"

namespace polyweft::targets {

/// Kind of its artifacts: an ELF shared object of kernels (a "code object", "hsaco").
inline constexpr const char* kAmdgpuKernels = "amdgpu-code-object";

/// Architecture "amdgcn", as LLVM has it; a target's one feature is its machine, "gfx942".
std::unique_ptr<Backend> amdgpu_backend();

}  // namespace polyweft::targets
