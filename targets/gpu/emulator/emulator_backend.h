// Kernels of a GPU's grids, run by a CPU.
#pragma once

#include <memory>

#include "targets/backend.h"
#include "targets/gpu/emulator/emulated_family.h"

namespace polyweft::targets {

/// Architecture "emulated-nvptx64", "emulated-amdgcn". A target's features are its machine ("sm_90a") and, if threads
/// are not to run from the first to the last, "reverse" or "random". Artifacts are those of this process's CPU.
std::unique_ptr<Backend> emulator_backend(const EmulatedFamily& family);

}  // namespace polyweft::targets
