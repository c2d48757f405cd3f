// The helper polyweft-device: what may crash or end the process that does it is done there, the vendor's compiler and
// driver above all.
#pragma once

#include <memory>
#include <string>

#include "targets/backend.h"
#include "targets/gpu/launches.h"

namespace polyweft::targets {

/// What the device says of itself.
struct DeviceFigures {
  std::string name, driver;
  int64_t compute_units = 1, most_threads = 1, local_bytes = 0;
};
/// Asked once a process. PW0517 says why kernels do not run here.
const Result<DeviceFigures>& device_figures();

/// The SPIR-V module of LLVM IR's text. PW0512 where LLVM refuses it.
Result<Bytes> spirv_by_helper(const std::string& llvm_text);

/// Kernels of the nest's device_nest() on the device, in a process of their own. PW0516 where the device's compiler
/// refuses the module, PW0658 where the device refuses memory or a launch, PW06xx where that process ends.
Result<std::unique_ptr<LoadedKernel>> kernel_on_device(const LoopNest& nest, const Bytes& spirv,
                                                       const std::string& symbol);

/// First byte of a request's frame. Answers begin with an error's code (empty: none) and message.
enum class DeviceRequest : uint8_t {
  spirv = 0,    ///< LLVM IR's text; the module. One a process
  figures = 1,  ///< as DeviceFigures has them
  open = 2,     ///< the nest's text, the kernels' symbol, the module
  put = 3,      ///< an argument, the place of a part of its bytes, the part: frames are limited
  call = 4,     ///< forget what is packed?; the kernel's code
  get = 5       ///< an argument, place and size of a part of its bytes; the part
};

}  // namespace polyweft::targets
