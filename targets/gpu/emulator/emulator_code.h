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
Result<std::string> emulated_assembly(const DeviceNest& nest, const Target& target, const BuildOptions& options);
Result<std::string> emulated_llvm_text(const DeviceNest& nest, const Target& target, const BuildOptions& options);

}  // namespace polyweft::targets
