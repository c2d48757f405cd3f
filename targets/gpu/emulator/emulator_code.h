// A CPU's code for kernels of a grid: the kernels, the host's loops around them and the runtime that runs a grid.
#pragma once

#include "targets/cpu/build.h"
#include "targets/gpu/launches.h"

namespace polyweft::targets {

/// The CPU that runs kernels for the target: this process's. PW0517 where there is none.
Result<Target> emulating_cpu(const Target& target);

/// A fault put into kernels, so that tests see that it is found.
struct EmulatorFault {
  int dropped_call = -1;  ///< number of a call, of those by which threads wait, which is left out; -1: none
};
/// Calls by which threads wait for each other, or for copies.
Result<int> waiting_calls(const DeviceNest& nest, const Target& target);

/// As compile_object() makes it of a nest for a CPU, with the ABI of halide_buffer_t; runtime included.
Result<CompiledObject> emulated_object(const DeviceNest& nest, const Target& target, const BuildOptions& options,
                                       EmulatorFault fault = {});

/// Kernels of a text that LLVM's back end for PTX or for AMD's GPUs takes, for this CPU, and the runtime's
/// polyweft_emulator_run.
struct EmulatedModule {
  struct Kernel {
    int64_t shared_bytes = 0, stack_bytes = 0;
    bool waits = false;
    std::string launched;  ///< symbol of what emulator::Launch calls
  };
  CompiledObject object;
  std::vector<Kernel> kernels;  ///< in the order of their names
  int waiting_calls = 0;
};
Result<EmulatedModule> emulated_module(const std::string& llvm_text, const std::vector<std::string>& names,
                                       const Target& target, EmulatorFault fault = {});
Result<std::string> emulated_assembly(const DeviceNest& nest, const Target& target, const BuildOptions& options);
Result<std::string> emulated_llvm_text(const DeviceNest& nest, const Target& target, const BuildOptions& options);

}  // namespace polyweft::targets
