// OpenCL, found when it is first asked for: libOpenCL.so.1, and in it the first device that takes SPIR-V.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <memory>
#include <string>

#include "polyweft/result.h"

namespace polyweft::targets {

/// The functions that are used, by their names in CL/cl.h.
struct OpenClFunctions {
  decltype(&::clGetPlatformIDs) get_platform_ids;
  decltype(&::clGetDeviceIDs) get_device_ids;
  decltype(&::clGetDeviceInfo) get_device_info;
  decltype(&::clCreateContext) create_context;
  decltype(&::clReleaseContext) release_context;
  decltype(&::clCreateCommandQueueWithProperties) create_queue;
  decltype(&::clReleaseCommandQueue) release_queue;
  decltype(&::clCreateBuffer) create_buffer;
  decltype(&::clCreateSubBuffer) create_sub_buffer;
  decltype(&::clReleaseMemObject) release_memory;
  decltype(&::clEnqueueFillBuffer) fill_buffer;
  decltype(&::clEnqueueReadBuffer) read_buffer;
  decltype(&::clEnqueueWriteBuffer) write_buffer;
  decltype(&::clCreateProgramWithIL) create_program;
  decltype(&::clBuildProgram) build_program;
  decltype(&::clGetProgramBuildInfo) get_build_info;
  decltype(&::clReleaseProgram) release_program;
  decltype(&::clCreateKernel) create_kernel;
  decltype(&::clReleaseKernel) release_kernel;
  decltype(&::clSetKernelArg) set_argument;
  decltype(&::clEnqueueNDRangeKernel) launch;
  decltype(&::clGetKernelWorkGroupInfo) get_group_info;
  decltype(&::clGetEventProfilingInfo) get_profile;
  decltype(&::clReleaseEvent) release_event;
  decltype(&::clFinish) finish;
};

struct OpenClDevice {
  OpenClFunctions cl;
  cl_device_id id = nullptr;
  std::string name, driver;  ///< as the device says
  int64_t compute_units = 1, local_bytes = 0, most_threads = 1, clock_mhz = 0;
  int64_t second_cache_bytes = 0, memory_mb_s = 0;  ///< not known
};
/// PW0517 says what is missing. The answer is kept: drivers stay loaded until the process ends.
const Result<OpenClDevice>& opencl_device();

/// Ok, or PW0524's kin: "the device refused WHAT (OpenCL code N)".
Status opencl_status(cl_int code, const std::string& what);

}  // namespace polyweft::targets
