// Kernels as PTX, which NVIDIA's drivers and assembler take.
#pragma once

#include <memory>

#include "targets/backend.h"

namespace polyweft::targets {

/// Kind of its artifacts: the text of a PTX module.
inline constexpr const char* kPtxKernels = "ptx-kernels";

/// Architecture "nvptx64"; a target's one feature is its machine, "sm_90a".
std::unique_ptr<Backend> nvptx_backend();

}  // namespace polyweft::targets
