#include "targets/gpu/cuda/cuda.h"
#include "targets/gpu/library_functions.h"

namespace polyweft::targets {
namespace {

struct NvmlDevice;

/// What is used of NVML (its API reference, 13.0).
struct NvmlFunctions {
  int (*init)();
  int (*device)(const char* bus_id, NvmlDevice** device);
  int (*clock)(NvmlDevice* device, int kind, unsigned* mhz);
};

/// Null functions where there is no NVML.
NvmlFunctions open_nvml() {
  NvmlFunctions out{};
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  const bool is_there = library && find_function(library, "nvmlInit_v2", out.init) &&
                        find_function(library, "nvmlDeviceGetHandleByPciBusId_v2", out.device) &&
                        find_function(library, "nvmlDeviceGetClockInfo", out.clock) && out.init() == 0;
  return is_there ? out : NvmlFunctions{};
}

}  // namespace

int64_t cuda_clock_mhz(const CudaDevice& device) {
  constexpr int kUnitsClock = 1;  // nvmlClockType_t
  static const NvmlFunctions nvml = open_nvml();
  NvmlDevice* handle = nullptr;
  unsigned mhz = 0;
  if (!nvml.clock || device.bus_id.empty() || nvml.device(device.bus_id.c_str(), &handle) != 0) return 0;
  return nvml.clock(handle, kUnitsClock, &mhz) == 0 ? mhz : 0;
}

}  // namespace polyweft::targets
