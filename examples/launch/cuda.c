/* Launches kernels that Polyweft made for NVIDIA's GPUs, without Polyweft and without a CUDA toolkit: a header with
 * tables and the host's loops, PTX, and the driver's library, which is opened here. Checks a product against plain C.
 *
 *   polyweft build examples/16_gpu_product.weft --target sm_80 --emit header -o product.h
 *   polyweft build examples/16_gpu_product.weft --target sm_80 --emit artifact -o product.ptx
 *   cc -O2 -DHEADER='"product.h"' -DNAME=gpu_product -DM=512 -DN=512 -DK=256 examples/launch/cuda.c -ldl -o launch
 *   ./launch product.ptx
 *
 * The program is C[M, N] = A[M, K] * B[K, N]: the inputs bf16 where their elements have 2 bytes, else f32, the sums
 * f32. Element i of the inputs is (i mod 17) - 8, so that all sums are exact in any order. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include HEADER

#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)
#define KERNELS JOINED(NAME, _kernels)
#define MEMORIES JOINED(NAME, _memories)
#define KERNEL_COUNT JOINED(NAME, _kernel_count)
#define MEMORY_COUNT JOINED(NAME, _memory_count)

/* Of the CUDA Driver API reference: what cuda.h would declare. A result of 0 is success. */
typedef uint64_t address;
static int (*cuInit)(unsigned flags);
static int (*cuDeviceGetCount)(int* count);
static int (*cuDeviceGet)(int* device, int number);
static int (*cuDeviceGetName)(char* name, int size, int device);
static int (*cuDevicePrimaryCtxRetain)(void** context, int device);
static int (*cuCtxSetCurrent)(void* context);
static int (*cuModuleLoadDataEx)(void** module, const void* image, unsigned options, int* names, void** values);
static int (*cuModuleGetFunction)(void** function, void* module, const char* name);
static int (*cuFuncSetAttribute)(void* function, int attribute, int value);
static int (*cuMemAlloc)(address* at, size_t bytes);
static int (*cuMemcpyHtoD)(address to, const void* from, size_t bytes);
static int (*cuMemcpyDtoH)(void* to, address from, size_t bytes);
static int (*cuLaunchKernel)(void* function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                             unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,
                             void* stream, void** arguments, void** extra);
static int (*cuCtxSynchronize)(void);
static int (*cuEventCreate)(void** event, unsigned flags);
static int (*cuEventRecord)(void* event, void* stream);
static int (*cuEventElapsedTime)(float* milliseconds, void* start, void* end);
static int (*cuGetErrorName)(int code, const char** name);

static const struct {
  const char* name;
  void** at;
} kFunctions[] = {
    {"cuInit", (void**)&cuInit},
    {"cuDeviceGetCount", (void**)&cuDeviceGetCount},
    {"cuDeviceGet", (void**)&cuDeviceGet},
    {"cuDeviceGetName", (void**)&cuDeviceGetName},
    {"cuDevicePrimaryCtxRetain", (void**)&cuDevicePrimaryCtxRetain},
    {"cuCtxSetCurrent", (void**)&cuCtxSetCurrent},
    {"cuModuleLoadDataEx", (void**)&cuModuleLoadDataEx},
    {"cuModuleGetFunction", (void**)&cuModuleGetFunction},
    {"cuFuncSetAttribute", (void**)&cuFuncSetAttribute},
    {"cuMemAlloc_v2", (void**)&cuMemAlloc},
    {"cuMemcpyHtoD_v2", (void**)&cuMemcpyHtoD},
    {"cuMemcpyDtoH_v2", (void**)&cuMemcpyDtoH},
    {"cuLaunchKernel", (void**)&cuLaunchKernel},
    {"cuCtxSynchronize", (void**)&cuCtxSynchronize},
    {"cuEventCreate", (void**)&cuEventCreate},
    {"cuEventRecord", (void**)&cuEventRecord},
    {"cuEventElapsedTime", (void**)&cuEventElapsedTime},
    {"cuGetErrorName", (void**)&cuGetErrorName},
};

static void open_driver(void) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) {
    fprintf(stderr, "no libcuda.so.1, which NVIDIA's driver has: %s\n", dlerror());
    exit(1);
  }
  for (size_t k = 0; k < sizeof kFunctions / sizeof *kFunctions; ++k)
    if (!(*kFunctions[k].at = dlsym(library, kFunctions[k].name))) {
      fprintf(stderr, "libcuda.so.1 has no %s\n", kFunctions[k].name);
      exit(1);
    }
}

static void check(int code, const char* what) {
  const char* name = "";
  if (code == 0) return;
  if (cuGetErrorName(code, &name) != 0) name = "a code that the driver does not name";
  fprintf(stderr, "%s: %s (%d)\n", what, name, code);
  exit(1);
}

/* The first device; CUDA_VISIBLE_DEVICES chooses another. */
static void use_device(void) {
  int count = 0, device = 0;
  char name[256] = "";
  void* context = NULL;
  check(cuInit(0), "the driver's start");
  check(cuDeviceGetCount(&count), "devices");
  if (count == 0) {
    fprintf(stderr, "the driver has no device\n");
    exit(1);
  }
  check(cuDeviceGet(&device, 0), "the first device");
  check(cuDeviceGetName(name, sizeof name - 1, device), "its name");
  check(cuDevicePrimaryCtxRetain(&context, device), "its context");
  check(cuCtxSetCurrent(context), "its context");
  printf("%s\n", name);
}

/* The text of a file, ended by a zero. */
static char* file_text(const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file) return perror(path), exit(1), NULL;
  fseek(file, 0, SEEK_END);
  const size_t size = (size_t)ftell(file);
  rewind(file);
  char* text = calloc(size + 1, 1);
  if (!text || fread(text, 1, size, file) != size) return perror(path), exit(1), NULL;
  fclose(file);
  return text;
}

/* With what the driver's assembler says of PTX that it does not take. */
static void* loaded(const char* ptx) {
  enum { kErrorLog = 5, kErrorLogBytes = 6 }; /* CUjit_option */
  static char log[8192];
  int names[] = {kErrorLog, kErrorLogBytes};
  void* values[] = {log, (void*)(uintptr_t)(sizeof log - 1)};
  void* module = NULL;
  const int code = cuModuleLoadDataEx(&module, ptx, 2, names, values);
  if (code != 0) fprintf(stderr, "the driver refuses the module: %s\n", log);
  check(code, "the module");
  return module;
}

struct launches {
  void* functions[KERNEL_COUNT + 1];
  address memories[MEMORY_COUNT + 1];
};

/* The addresses of all memories, then the values of the host's loops. */
static int launch(void* context, int kernel, const int64_t* values) {
  enum { kMostValues = 16 };
  struct launches* all = context;
  const struct polyweft_kernel* of = &KERNELS[kernel];
  void* arguments[MEMORY_COUNT + kMostValues];
  if (of->blocks[0] == 0 || of->blocks[1] == 0 || of->blocks[2] == 0) return 0;
  if (of->values > kMostValues) {
    fprintf(stderr, "%s: more than %d loops of the host around it\n", of->name, kMostValues);
    return -1;
  }
  for (int m = 0; m < MEMORY_COUNT; ++m) arguments[m] = &all->memories[m];
  for (uint32_t v = 0; v < of->values; ++v) arguments[MEMORY_COUNT + v] = (void*)&values[v];
  check(cuLaunchKernel(all->functions[kernel], of->blocks[0], of->blocks[1], of->blocks[2], of->threads[0],
                       of->threads[1], of->threads[2], of->dynamic_shared_bytes, NULL, arguments, NULL),
        of->name);
  return 0;
}

/* What a block has beyond 48 KiB the driver must allow before the launch asks for it. */
static void* kernel_of(void* module, const struct polyweft_kernel* of) {
  enum { kMostDynamicBytes = 8 }; /* CUfunction_attribute */
  void* function = NULL;
  check(cuModuleGetFunction(&function, module, of->name), of->name);
  if (of->dynamic_shared_bytes > 0)
    check(cuFuncSetAttribute(function, kMostDynamicBytes, (int)of->dynamic_shared_bytes), "its shared memory");
  return function;
}

static float input_at(size_t i) {
  return (float)(i % 17) - 8;
}

/* Inputs of `bytes` bytes an element: 4 are f32's, 2 are bf16's, which are the upper half of f32's. */
static void send_input(address to, size_t elements, size_t bytes, const char* name) {
  char* data = malloc(elements * bytes);
  if (!data) exit(1);
  for (size_t i = 0; i < elements; ++i) {
    const float value = input_at(i);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint16_t upper = (uint16_t)(bits >> 16);
    memcpy(data + i * bytes, bytes == 2 ? (const void*)&upper : (const void*)&bits, bytes);
  }
  check(cuMemcpyHtoD(to, data, elements * bytes), name);
  free(data);
}

static size_t wrong_elements(const float* c) {
  size_t wrong = 0;
  float* sums = malloc(sizeof(float) * N);
  if (!sums) exit(1);
  for (size_t i = 0; i < M; ++i) {
    for (size_t j = 0; j < N; ++j) sums[j] = 0;
    for (size_t k = 0; k < K; ++k)
      for (size_t j = 0; j < N; ++j) sums[j] += input_at(i * K + k) * input_at(k * N + j);
    for (size_t j = 0; j < N; ++j)
      if (!(c[i * N + j] == sums[j]) && wrong++ == 0)
        fprintf(stderr, "C[%zu, %zu] is %g, and %g is right\n", i, j, c[i * N + j], sums[j]);
  }
  free(sums);
  return wrong;
}

int main(int argc, char** argv) {
  if (argc != 2) return fprintf(stderr, "%s KERNELS.ptx\n", argv[0]), 2;
  const size_t elements[] = {(size_t)M * K, (size_t)K * N, (size_t)M * N};
  char* ptx = file_text(argv[1]);
  open_driver();
  use_device();
  void* module = loaded(ptx);
  struct launches all = {0};
  for (int k = 0; k < KERNEL_COUNT; ++k) all.functions[k] = kernel_of(module, &KERNELS[k]);

  int result = -1;
  for (int m = 0; m < MEMORY_COUNT; ++m) {
    const struct polyweft_memory* of = &MEMORIES[m];
    check(cuMemAlloc(&all.memories[m], of->bytes), of->name);
    if (of->argument < 0) continue;
    const size_t bytes = of->argument > 2 ? 0 : of->argument_bytes / elements[of->argument];
    if (of->is_output ? bytes != sizeof(float) : bytes != 2 && bytes != 4)
      return fprintf(stderr, "%s has %zu bytes an element: this is no product of %d x %d x %d\n", of->name, bytes, M, N,
                     K),
             1;
    if (of->is_output)
      result = m;
    else
      send_input(all.memories[m], elements[of->argument], bytes, of->name);
  }
  if (result < 0) return fprintf(stderr, "the header has no output\n"), 1;

  if (JOINED(NAME, _pack)(launch, &all) != 0 || JOINED(NAME, _run)(launch, &all) != 0) return 1;
  check(cuCtxSynchronize(), "the kernels");
  float* c = malloc(elements[2] * sizeof(float));
  if (!c) return 1;
  check(cuMemcpyDtoH(c, all.memories[result], elements[2] * sizeof(float)), MEMORIES[result].name);
  const size_t wrong = wrong_elements(c);
  if (wrong) return fprintf(stderr, "%zu of %zu elements are wrong\n", wrong, elements[2]), 1;

  enum { kCalls = 100 };
  void *start = NULL, *end = NULL;
  float milliseconds = 0;
  check(cuEventCreate(&start, 0), "an event");
  check(cuEventCreate(&end, 0), "an event");
  check(cuEventRecord(start, NULL), "an event");
  for (int call = 0; call < kCalls; ++call)
    if (JOINED(NAME, _run)(launch, &all) != 0) return 1;
  check(cuEventRecord(end, NULL), "an event");
  check(cuCtxSynchronize(), "the kernels");
  check(cuEventElapsedTime(&milliseconds, start, end), "the time");
  const double ns = milliseconds * 1e6 / kCalls;
  printf("all %zu elements are right; %.1f us a call, %.1f GFLOP/s\n", elements[2], ns / 1e3, 2.0 * M * N * K / ns);
  return 0;
}
