#include "targets/gpu/cuda/cuda.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "targets/gpu/library_functions.h"

namespace polyweft::targets {
namespace {

// CUdevice_attribute.
constexpr int kMostThreads = 1, kSharedBytes = 8, kClockKhz = 13, kUnits = 16, kMemoryClockKhz = 36, kMemoryBits = 37,
              kSecondCacheBytes = 38, kMajor = 75, kMinor = 76, kAskedSharedBytes = 97;

bool find_functions(void* library, CudaFunctions& cuda) {
  return find_function(library, "cuInit", cuda.init) &&
         find_function(library, "cuDriverGetVersion", cuda.driver_version) &&
         find_function(library, "cuDeviceGetCount", cuda.device_count) &&
         find_function(library, "cuDeviceGet", cuda.device) &&
         find_function(library, "cuDeviceGetName", cuda.device_name) &&
         find_function(library, "cuDeviceGetPCIBusId", cuda.bus_id) &&
         find_function(library, "cuDeviceGetAttribute", cuda.attribute) &&
         find_function(library, "cuDevicePrimaryCtxRetain", cuda.retain_context) &&
         find_function(library, "cuCtxSetCurrent", cuda.set_context) &&
         find_function(library, "cuModuleLoadDataEx", cuda.load_module) &&
         find_function(library, "cuModuleUnload", cuda.unload_module) &&
         find_function(library, "cuModuleGetFunction", cuda.function) &&
         find_function(library, "cuFuncSetAttribute", cuda.set_function) &&
         find_function(library, "cuMemAlloc_v2", cuda.allocate) &&
         find_function(library, "cuMemFree_v2", cuda.release) &&
         find_function(library, "cuMemcpyHtoD_v2", cuda.to_device) &&
         find_function(library, "cuMemcpyDtoH_v2", cuda.to_host) &&
         find_function(library, "cuMemsetD8_v2", cuda.fill) && find_function(library, "cuLaunchKernel", cuda.launch) &&
         find_function(library, "cuCtxSynchronize", cuda.synchronize) &&
         find_function(library, "cuEventCreate", cuda.create_event) &&
         find_function(library, "cuEventDestroy_v2", cuda.destroy_event) &&
         find_function(library, "cuEventRecord", cuda.record) &&
         find_function(library, "cuEventElapsedTime", cuda.elapsed) &&
         find_function(library, "cuGetErrorName", cuda.error_name);
}

Error no_cuda(const std::string& why) {
  return fail("PW0517", "PTX does not run on this machine: " + why,
              {"build --emit artifact writes PTX for another machine, --emit header what launches it"});
}

int attribute_of(const CudaFunctions& cuda, int attribute, int device) {
  int value = 0;
  return cuda.attribute(&value, attribute, device) == 0 ? value : 0;
}

/// Machines from 9.0 on are built for with all that they alone have.
std::string machine_of(int major, int minor) {
  return "sm_" + std::to_string(10 * major + minor) + (major >= 9 ? "a" : "");
}

/// "580.65.06" of "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  ..", where the system says it.
std::string kernel_module_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line, word;
  std::getline(file, line);
  for (std::istringstream words(line); words >> word;)
    if (word.find_first_not_of("0123456789.") == std::string::npos && word.find('.') != std::string::npos) return word;
  return {};
}

/// By the driver's version of CUDA, 13000 for 13.0.
std::string driver_text(int version) {
  const std::string module = kernel_module_version();
  return (module.empty() ? "" : module + ", ") + "CUDA " + std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

Result<CudaDevice> open_device() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return no_cuda("there is no libcuda.so.1, which NVIDIA's driver has");
  CudaDevice out;
  if (!find_functions(library, out.cuda)) return no_cuda("its libcuda.so.1 lacks functions");
  const auto refused = [&](CudaStatus code, const std::string& what) {
    return no_cuda(cuda_status(out.cuda, code, what).error().message);
  };
  if (const CudaStatus code = out.cuda.init(0); code != 0) return refused(code, "to start");
  int count = 0, device = 0, version = 0;
  if (const CudaStatus code = out.cuda.device_count(&count); code != 0 || count == 0)
    return no_cuda("its driver has no device");
  if (const CudaStatus code = out.cuda.device(&device, 0); code != 0) return refused(code, "its first device");
  char name[256] = {}, bus_id[64] = {};
  out.cuda.device_name(name, sizeof name - 1, device);
  if (out.cuda.bus_id(bus_id, sizeof bus_id - 1, device) == 0) out.bus_id = bus_id;
  out.cuda.driver_version(&version);
  if (const CudaStatus code = out.cuda.retain_context(&out.context, device); code != 0)
    return refused(code, "a context");
  out.name = name;
  out.driver = driver_text(version);
  out.machine = machine_of(attribute_of(out.cuda, kMajor, device), attribute_of(out.cuda, kMinor, device));
  out.compute_units = attribute_of(out.cuda, kUnits, device);
  out.most_threads = attribute_of(out.cuda, kMostThreads, device);
  out.local_bytes =
      std::max(attribute_of(out.cuda, kSharedBytes, device), attribute_of(out.cuda, kAskedSharedBytes, device));
  out.clock_mhz = attribute_of(out.cuda, kClockKhz, device) / 1000;
  out.second_cache_bytes = attribute_of(out.cuda, kSecondCacheBytes, device);
  constexpr int64_t kBitsOfByte = 8, kTransfersOfCycle = 2;
  out.memory_mb_s = int64_t{attribute_of(out.cuda, kMemoryClockKhz, device)} * kTransfersOfCycle *
                    attribute_of(out.cuda, kMemoryBits, device) / kBitsOfByte / 1000;
  return out;
}

}  // namespace

const Result<CudaDevice>& cuda_device() {
  static const Result<CudaDevice> device = open_device();
  return device;
}

Status cuda_status(const CudaFunctions& cuda, CudaStatus code, const std::string& what) {
  if (code == 0) return Ok{};
  const char* name = nullptr;
  if (cuda.error_name(code, &name) != 0 || !name) name = "an error without a name";
  return fail("PW0658", "the CUDA device refused " + what + ": " + name);
}

}  // namespace polyweft::targets
