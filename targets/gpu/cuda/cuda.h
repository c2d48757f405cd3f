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
  CudaStatus (*attribute)(int* value, int attribute, int device);
  CudaStatus (*retain_context)(CudaContext** context, int device);
  CudaStatus (*set_context)(CudaContext* context);
  CudaStatus (*load_module)(CudaModule** module, const void* image, unsigned options, int* names, void** values);
  CudaStatus (*unload_module)(CudaModule* module);
  CudaStatus (*function)(CudaFunction** function, CudaModule* module, const char* name);
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

struct CudaDevice {
  CudaFunctions cuda;
  CudaContext* context = nullptr;
  std::string name, driver, machine;  ///< "sm_90a"; the driver's version of CUDA
  int64_t compute_units = 1, most_threads = 1, local_bytes = 0;
};
/// The first device. PW0517 says what is missing. The answer is kept: the driver stays loaded until the process ends.
const Result<CudaDevice>& cuda_device();

/// Ok, or PW0658: "the CUDA device refused WHAT: CUDA_ERROR_..".
Status cuda_status(const CudaFunctions& cuda, CudaStatus code, const std::string& what);

}  // namespace polyweft::targets
