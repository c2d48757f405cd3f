// Kernels as LLVM's back ends for PTX and for AMD's GPUs take them become functions of a CPU: the thread that runs one
// is its last argument, shared memory lies at an address, and intrinsics are calls of the emulator's runtime.
#pragma once

#include <string>
#include <vector>

#include "polyweft/result.h"
#include "targets/common/llvm.h"

namespace polyweft::targets {

struct EmulatedKernel {
  llvm::Function* function = nullptr;
  int64_t shared_bytes = 0;  ///< of variables in the space of shared memory
  bool waits = false;        ///< does it call the runtime?
};
/// In place of the kernel of this name. PW0523 where it has an intrinsic that the emulator has not.
Result<EmulatedKernel> emulated_kernel(llvm::Module& module, const std::string& name);

/// Calls by which a thread waits for others, or for its copies.
std::vector<llvm::CallBase*> waiting_calls(llvm::Module& module);

}  // namespace polyweft::targets
