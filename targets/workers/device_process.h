// What this process asks of the helper polyweft-device (device_client.h).
#pragma once

#include <memory>
#include <string>

#include "targets/backend.h"
#include "targets/workers/device_client.h"

namespace polyweft::targets {

/// Asked once a process. PW0517 says why kernels do not run here.
const Result<DeviceFigures>& device_figures();
/// The same of the device that takes PTX.
const Result<DeviceFigures>& cuda_figures();

/// The same of another program that answers these requests.
Result<DeviceFigures> figures_of_helper(const std::string& program);
/// Kernels in a process of such a program; `kernels`: as it takes them (DeviceRequest::open).
Result<std::unique_ptr<LoadedKernel>> kernel_in_helper(const std::string& program, const LoopNest& nest,
                                                       const std::string& kernels);

/// The SPIR-V module of LLVM IR's text. PW0512 where LLVM refuses it.
Result<Bytes> spirv_by_helper(const std::string& llvm_text);

/// Kernels of the nest's device_nest() on the device, in a process of their own. PW0516 where the device's compiler
/// refuses the module, PW0658 where the device refuses memory or a launch, PW06xx where that process ends.
Result<std::unique_ptr<LoadedKernel>> kernel_on_device(const LoopNest& nest, const Bytes& module,
                                                       const std::string& symbol);

}  // namespace polyweft::targets
