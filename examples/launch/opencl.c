/* Launches kernels that Polyweft made for an OpenCL device, without Polyweft: a header with tables and the host's
 * loops, and a SPIR-V module.
 *
 *   polyweft build examples/01_gemm.weft --target opencl --emit header -o gemm.h
 *   polyweft build examples/01_gemm.weft --target opencl --emit artifact -o gemm.spv
 *   cc -DHEADER='"gemm.h"' -DNAME=gemm examples/launch/opencl.c -lOpenCL -lm -o launch && ./launch gemm.spv
 *
 * Inputs are f32: element i of each is (i mod 17) - 8. Prints the sum of each output's elements. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include HEADER

#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)
#define KERNELS JOINED(NAME, _kernels)
#define MEMORIES JOINED(NAME, _memories)
#define KERNEL_COUNT JOINED(NAME, _kernel_count)
#define MEMORY_COUNT JOINED(NAME, _memory_count)

static void check(cl_int code, const char *what) {
  if (code == CL_SUCCESS) return;
  fprintf(stderr, "%s: OpenCL code %d\n", what, code);
  exit(1);
}

/* The first device that takes SPIR-V. */
static cl_device_id device_for_spirv(void) {
  cl_platform_id platforms[16];
  cl_uint platform_count = 0;
  check(clGetPlatformIDs(16, platforms, &platform_count), "platforms");
  for (cl_uint p = 0; p < platform_count && p < 16; ++p) {
    cl_device_id devices[16];
    cl_uint count = 0;
    if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 16, devices, &count) != CL_SUCCESS) continue;
    for (cl_uint d = 0; d < count && d < 16; ++d) {
      char text[256] = "";
      clGetDeviceInfo(devices[d], CL_DEVICE_IL_VERSION, sizeof text, text, NULL);
      if (text[0] != '\0') return devices[d];
    }
  }
  fprintf(stderr, "no OpenCL device takes SPIR-V\n");
  exit(1);
}

struct launches {
  cl_command_queue queue;
  cl_kernel kernels[KERNEL_COUNT + 1];
};

static int launch(void *context, int kernel, const int64_t *values) {
  struct launches *all = context;
  const struct polyweft_kernel *of = &KERNELS[kernel];
  size_t local[3], global[3];
  for (int d = 0; d < 3; ++d) {
    local[d] = of->threads[d];
    global[d] = (size_t)of->blocks[d] * of->threads[d];
    if (global[d] == 0) return 0;
  }
  for (uint32_t v = 0; v < of->values; ++v)
    check(clSetKernelArg(all->kernels[kernel], MEMORY_COUNT + v, sizeof(int64_t), &values[v]), "a loop's value");
  return clEnqueueNDRangeKernel(all->queue, all->kernels[kernel], 3, NULL, global, local, 0, NULL, NULL);
}

static char *file_bytes(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) return perror(path), exit(1), NULL;
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*size);
  if (fread(bytes, 1, *size, file) != *size) return perror(path), exit(1), NULL;
  fclose(file);
  return bytes;
}

int main(int argc, char **argv) {
  if (argc != 2) return fprintf(stderr, "%s MODULE.spv\n", argv[0]), 2;
  cl_int code = CL_SUCCESS;
  cl_device_id device = device_for_spirv();
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  check(code, "context");
  struct launches all = {0};
  all.queue = clCreateCommandQueueWithProperties(context, device, NULL, &code);
  check(code, "queue");
  size_t size = 0;
  char *module = file_bytes(argv[1], &size);
  cl_program program = clCreateProgramWithIL(context, module, size, &code);
  check(code, "module");
  check(clBuildProgram(program, 1, &device, "-cl-fp32-correctly-rounded-divide-sqrt", NULL, NULL), "build");

  cl_mem memories[MEMORY_COUNT + 1];
  for (int m = 0; m < MEMORY_COUNT; ++m) {
    memories[m] = clCreateBuffer(context, CL_MEM_READ_WRITE, MEMORIES[m].bytes, NULL, &code);
    check(code, MEMORIES[m].name);
    if (MEMORIES[m].argument < 0 || MEMORIES[m].is_output || MEMORIES[m].argument_bytes == 0) continue;
    float *data = malloc(MEMORIES[m].argument_bytes);
    for (uint64_t i = 0; i < MEMORIES[m].argument_bytes / sizeof *data; ++i) data[i] = (float)(i % 17) - 8;
    check(clEnqueueWriteBuffer(all.queue, memories[m], CL_TRUE, 0, MEMORIES[m].argument_bytes, data, 0, NULL, NULL),
          MEMORIES[m].name);
    free(data);
  }
  for (int k = 0; k < KERNEL_COUNT; ++k) {
    all.kernels[k] = clCreateKernel(program, KERNELS[k].name, &code);
    check(code, KERNELS[k].name);
    for (int m = 0; m < MEMORY_COUNT; ++m)
      check(clSetKernelArg(all.kernels[k], (cl_uint)m, sizeof(cl_mem), &memories[m]), KERNELS[k].name);
  }

  check(JOINED(NAME, _pack)(launch, &all), "pack");
  check(JOINED(NAME, _run)(launch, &all), "run");

  for (int m = 0; m < MEMORY_COUNT; ++m) {
    if (MEMORIES[m].argument < 0 || !MEMORIES[m].is_output || MEMORIES[m].argument_bytes == 0) continue;
    float *data = malloc(MEMORIES[m].argument_bytes);
    check(clEnqueueReadBuffer(all.queue, memories[m], CL_TRUE, 0, MEMORIES[m].argument_bytes, data, 0, NULL, NULL),
          MEMORIES[m].name);
    double sum = 0;
    for (uint64_t i = 0; i < MEMORIES[m].argument_bytes / sizeof *data; ++i) sum += data[i];
    printf("%s %.9g\n", MEMORIES[m].name, sum);
    free(data);
  }
  return 0;
}
