#include "targets/gpu/opencl/opencl.h"

#include <vector>

#include "targets/gpu/library_functions.h"

namespace polyweft::targets {
namespace {

bool find_all(void* library, OpenClFunctions& cl) {
  return find_function(library, "clGetPlatformIDs", cl.get_platform_ids) &&
         find_function(library, "clGetDeviceIDs", cl.get_device_ids) &&
         find_function(library, "clGetDeviceInfo", cl.get_device_info) &&
         find_function(library, "clCreateContext", cl.create_context) &&
         find_function(library, "clReleaseContext", cl.release_context) &&
         find_function(library, "clCreateCommandQueueWithProperties", cl.create_queue) &&
         find_function(library, "clReleaseCommandQueue", cl.release_queue) &&
         find_function(library, "clCreateBuffer", cl.create_buffer) &&
         find_function(library, "clCreateSubBuffer", cl.create_sub_buffer) &&
         find_function(library, "clReleaseMemObject", cl.release_memory) &&
         find_function(library, "clEnqueueFillBuffer", cl.fill_buffer) &&
         find_function(library, "clGetEventProfilingInfo", cl.get_profile) &&
         find_function(library, "clReleaseEvent", cl.release_event) &&
         find_function(library, "clEnqueueReadBuffer", cl.read_buffer) &&
         find_function(library, "clEnqueueWriteBuffer", cl.write_buffer) &&
         find_function(library, "clCreateProgramWithIL", cl.create_program) &&
         find_function(library, "clBuildProgram", cl.build_program) &&
         find_function(library, "clGetProgramBuildInfo", cl.get_build_info) &&
         find_function(library, "clReleaseProgram", cl.release_program) &&
         find_function(library, "clCreateKernel", cl.create_kernel) &&
         find_function(library, "clReleaseKernel", cl.release_kernel) &&
         find_function(library, "clSetKernelArg", cl.set_argument) &&
         find_function(library, "clEnqueueNDRangeKernel", cl.launch) &&
         find_function(library, "clGetKernelWorkGroupInfo", cl.get_group_info) &&
         find_function(library, "clFinish", cl.finish);
}

std::string text_of(const OpenClFunctions& cl, cl_device_id id, cl_device_info what) {
  size_t size = 0;
  if (cl.get_device_info(id, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string out(size, '\0');
  if (cl.get_device_info(id, what, size, out.data(), nullptr) != CL_SUCCESS) return {};
  out.resize(size - 1);
  return out;
}

template <class T>
int64_t number_of(const OpenClFunctions& cl, cl_device_id id, cl_device_info what) {
  T out = 0;
  return cl.get_device_info(id, what, sizeof out, &out, nullptr) == CL_SUCCESS ? static_cast<int64_t>(out) : 0;
}

Error nothing(const std::string& why) {
  return fail("PW0517", "kernels for target opencl do not run on this machine: " + why,
              {"build --emit artifact writes SPIR-V for another machine"});
}

Result<OpenClDevice> open() {
  void* const library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return nothing("there is no libOpenCL.so.1 (Debian: ocl-icd-libopencl1)");
  OpenClDevice out;
  if (!find_all(library, out.cl)) return nothing("its libOpenCL.so.1 is older than OpenCL 2.1");
  cl_uint count = 0;
  if (out.cl.get_platform_ids(0, nullptr, &count) != CL_SUCCESS || count == 0)
    return nothing("OpenCL has no platform, that is, no driver of a device");
  std::vector<cl_platform_id> platforms(count);
  out.cl.get_platform_ids(count, platforms.data(), nullptr);
  std::string others;
  for (cl_platform_id platform : platforms) {
    if (out.cl.get_device_ids(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) continue;
    std::vector<cl_device_id> devices(count);
    out.cl.get_device_ids(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr);
    for (cl_device_id id : devices) {
      const std::string name = text_of(out.cl, id, CL_DEVICE_NAME);
      if (text_of(out.cl, id, CL_DEVICE_IL_VERSION).find("SPIR-V") == std::string::npos) {
        others += (others.empty() ? "" : ", ") + name;
        continue;
      }
      out.id = id;
      out.name = name;
      out.driver = text_of(out.cl, id, CL_DRIVER_VERSION);
      out.compute_units = number_of<cl_uint>(out.cl, id, CL_DEVICE_MAX_COMPUTE_UNITS);
      out.local_bytes = number_of<cl_ulong>(out.cl, id, CL_DEVICE_LOCAL_MEM_SIZE);
      out.most_threads = number_of<size_t>(out.cl, id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
      out.clock_mhz = number_of<cl_uint>(out.cl, id, CL_DEVICE_MAX_CLOCK_FREQUENCY);
      return out;
    }
  }
  return nothing(others.empty() ? "OpenCL has no device" : "none of its OpenCL devices takes SPIR-V: " + others);
}

}  // namespace

const Result<OpenClDevice>& opencl_device() {
  static const Result<OpenClDevice> device = open();
  return device;
}

Status opencl_status(cl_int code, const std::string& what) {
  if (code == CL_SUCCESS) return Ok{};
  return fail("PW0658", "the OpenCL device refused " + what + ": code " + std::to_string(code));
}

}  // namespace polyweft::targets
