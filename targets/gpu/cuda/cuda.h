// NVIDIA's driver, found when it is first asked for: libcuda.so.1 (the CUDA Driver API reference, 13.0). Its header is
// not needed: what is used of it is declared here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "polyweft/result.h"

namespace polyweft::targets {

using CudaStatus = int;  ///< 0: done
using CudaAddress = uint64_t;
struct CudaContext;
struct CudaModule;
struct CudaFunction;
struct CudaEvent;
struct CudaStream;

/// The functions that are used, by their names in the driver.
struct CudaFunctions {
  CudaStatus (*init)(unsigned flags);
  CudaStatus (*driver_version)(int* version);
  CudaStatus (*device_count)(int* count);
  CudaStatus (*device)(int* device, int number);
  CudaStatus (*device_name)(char* name, int size, int device);
  CudaStatus (*bus_id)(char* id, int size, int device);
  CudaStatus (*attribute)(int* value, int attribute, int device);
  CudaStatus (*retain_context)(CudaContext** context, int device);
  CudaStatus (*set_context)(CudaContext* context);
  CudaStatus (*load_module)(CudaModule** module, const void* image, unsigned options, int* names, void** values);
  CudaStatus (*unload_module)(CudaModule* module);
  CudaStatus (*function)(CudaFunction** function, CudaModule* module, const char* name);
  CudaStatus (*set_function)(CudaFunction* function, int attribute, int value);
  CudaStatus (*allocate)(CudaAddress* address, size_t bytes);
  CudaStatus (*release)(CudaAddress address);
  CudaStatus (*to_device)(CudaAddress to, const void* from, size_t bytes);
  CudaStatus (*to_host)(void* to, CudaAddress from, size_t bytes);
  CudaStatus (*fill)(CudaAddress to, unsigned char byte, size_t bytes);
  CudaStatus (*launch)(CudaFunction* function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                       unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,
                       CudaStream* stream, void** arguments, void** extra);
  CudaStatus (*synchronize)();
  CudaStatus (*create_event)(CudaEvent** event, unsigned flags);
  CudaStatus (*destroy_event)(CudaEvent* event);
  CudaStatus (*record)(CudaEvent* event, CudaStream* stream);
  CudaStatus (*elapsed)(float* milliseconds, CudaEvent* start, CudaEvent* end);
  CudaStatus (*error_name)(CudaStatus status, const char** name);
};

/// Shared memory that a kernel of PTX may declare; what is above that a launch has to ask for.
inline constexpr int64_t kDeclaredSharedBytes = 48 << 10;

struct CudaDevice {
  CudaFunctions cuda;
  CudaContext* context = nullptr;
  std::string name, machine;  ///< "sm_90a"
  std::string bus_id;         ///< "0000:1b:00.0", by which NVML knows it
  std::string driver;         ///< "580.65.06, CUDA 13.0"; without the former where the system does not say it
  int64_t compute_units = 1, most_threads = 1;
  int64_t local_bytes = 0;                                         ///< of a block, where its launch asks for them
  int64_t clock_mhz = 0, second_cache_bytes = 0, memory_mb_s = 0;  ///< the fastest; 0: not known
};
/// The first device. PW0517 says what is missing. The answer is kept: the driver stays loaded until the process ends.
const Result<CudaDevice>& cuda_device();

/// MHz that its units run at now, by NVML (libnvidia-ml.so.1); 0 where that is not there or does not say it.
int64_t cuda_clock_mhz(const CudaDevice& device);

/// Ok, or PW0658: "the CUDA device refused WHAT: CUDA_ERROR_..".
Status cuda_status(const CudaFunctions& cuda, CudaStatus code, const std::string& what);

}  // namespace polyweft::targets
