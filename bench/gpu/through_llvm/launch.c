// Loads kernels of matrix products as PTX or machine code through the driver (dlopen, no CUDA runtime), checks samples
// of their results against double precision and times them by events.
//     launch FILE(.ptx|.cubin) ENTRY SIZE TILE_ROWS TILE_COLUMNS THREADS SHARED_BYTES BOX_A BOX_B BLOCKS CLUSTER
// BOX: rows that a tensor map copies (0: the kernel takes matrices). BLOCKS 0: a grid of two dimensions, -1: of one.
#include <cuda.h>
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void* driver;

static void* find(const char* name) {
  void* function = dlsym(driver, name);
  if (!function) fprintf(stderr, "%s is not in libcuda.so.1\n", name), exit(1);
  return function;
}

static void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  CUresult (*name)(CUresult, const char**) = find("cuGetErrorName");
  const char* text = "?";
  name(result, &text);
  fprintf(stderr, "%s: %s\n", what, text);
  exit(1);
}

#define CALL(type, name, ...) check(((CUresult(*) type)find(name))(__VA_ARGS__), name)

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static char* contents(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (!file) fprintf(stderr, "%s: cannot be read\n", path), exit(1);
  char* text = calloc(1, 1 << 24);
  *size = fread(text, 1, (1 << 24) - 1, file);
  fclose(file);
  return text;
}

static float bf16_value(uint16_t bits) {
  const uint32_t word = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &word, 4);
  return value;
}

static uint16_t bf16_of(float value) {
  uint32_t word;
  memcpy(&word, &value, 4);
  return (uint16_t)((word + 0x7FFF + (word >> 16 & 1)) >> 16);
}

static uint32_t state = 1;
static float random_value(void) {
  state = state * 1664525u + 1013904223u;
  return (float)(int32_t)state * 0x1p-31f;
}

typedef struct {
  size_t n;
  int is_bf16;
  void *host_a, *host_b;
  CUdeviceptr a, b, c, map_a, map_b;
} Problem;

static float value_at(const Problem* p, const void* data, size_t i) {
  return p->is_bf16 ? bf16_value(((const uint16_t*)data)[i]) : ((const float*)data)[i];
}

static Problem make(size_t n, int is_bf16) {
  Problem p = {n, is_bf16, malloc(n * n * 4), malloc(n * n * 4), 0, 0, 0, 0, 0};
  const size_t bytes = n * n * (is_bf16 ? 2 : 4);
  for (size_t i = 0; i < n * n; ++i) {
    if (is_bf16) ((uint16_t*)p.host_a)[i] = bf16_of(random_value()), ((uint16_t*)p.host_b)[i] = bf16_of(random_value());
    if (!is_bf16) ((float*)p.host_a)[i] = random_value(), ((float*)p.host_b)[i] = random_value();
  }
  CUdeviceptr* const pointers[] = {&p.a, &p.b, &p.c};
  for (int i = 0; i < 3; ++i) CALL((CUdeviceptr*, size_t), "cuMemAlloc_v2", pointers[i], bytes);
  CALL((CUdeviceptr*, size_t), "cuMemAlloc_v2", &p.map_a, 256);
  p.map_b = p.map_a + 128;
  CALL((CUdeviceptr, const void*, size_t), "cuMemcpyHtoD_v2", p.a, p.host_a, bytes);
  CALL((CUdeviceptr, const void*, size_t), "cuMemcpyHtoD_v2", p.b, p.host_b, bytes);
  CALL((CUdeviceptr, unsigned char, size_t), "cuMemsetD8_v2", p.c, 0xEE, bytes);
  return p;
}

static void put_map(const Problem* p, CUdeviceptr matrix, uint32_t rows, CUdeviceptr to) {
  CUtensorMap map __attribute__((aligned(64)));
  const cuuint64_t extents[] = {p->n, p->n}, strides[] = {2 * p->n};
  const cuuint32_t box[] = {64, rows}, ones[] = {1, 1};
  CALL((CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
        const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill),
       "cuTensorMapEncodeTiled", &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, (void*)matrix, extents, strides, box, ones,
       CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
       CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  CALL((CUdeviceptr, const void*, size_t), "cuMemcpyHtoD_v2", to, &map, 128);
}

static double worst_error(const Problem* p) {
  const size_t n = p->n;
  void* c = malloc(n * n * 4);
  CALL((void*, CUdeviceptr, size_t), "cuMemcpyDtoH_v2", c, p->c, n * n * (p->is_bf16 ? 2 : 4));
  double worst = 0;
  for (int sample = 0; sample < 3000; ++sample) {
    state = state * 1664525u + 1013904223u;
    const size_t i = (state >> 8) % n, j = (state * 2654435761u >> 9) % n;
    double exact = 0, size = 0;
    for (size_t k = 0; k < n; ++k) {
      const double term = (double)value_at(p, p->host_a, i * n + k) *
                          (double)value_at(p, p->host_b, p->is_bf16 ? j * n + k : k * n + j);
      exact += term, size += fabs(term);
    }
    const double error =
        fabs((double)value_at(p, c, i * n + j) - exact) / (p->is_bf16 ? fabs(exact) + 1e-3 * size : size);
    if (!(error <= worst)) worst = error;
  }
  free(c);
  return worst;
}

static CUfunction load(const char* path, const char* name, double* ms) {
  size_t size;
  char* image = contents(path, &size);
  char log[8192] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, (void*)sizeof(log)};
  CUmodule module;
  const double begin = now_ms();
  const CUresult result =
      ((CUresult(*)(CUmodule*, const void*, unsigned, CUjit_option*, void**))find("cuModuleLoadDataEx"))(
          &module, image, 2, options, values);
  *ms = now_ms() - begin;
  if (log[0]) fprintf(stderr, "%s\n", log);
  check(result, "cuModuleLoadDataEx");
  CUfunction function;
  CALL((CUfunction*, CUmodule, const char*), "cuModuleGetFunction", &function, module, name);
  return function;
}

static int compare(const void* a, const void* b) {
  return *(const float*)a > *(const float*)b ? 1 : -1;
}

static void set(CUfunction function, CUfunction_attribute attribute, int value) {
  CALL((CUfunction, CUfunction_attribute, int), "cuFuncSetAttribute", function, attribute, value);
}

static int attribute_of(CUfunction function, CUfunction_attribute attribute) {
  int value;
  CALL((int*, CUfunction_attribute, CUfunction), "cuFuncGetAttribute", &value, attribute, function);
  return value;
}

/// Sorted times in ms.
static void run(CUfunction function, CUlaunchConfig config, void** arguments, float* times, int count) {
  CUevent begin, end;
  CALL((CUevent*, unsigned), "cuEventCreate", &begin, 0);
  CALL((CUevent*, unsigned), "cuEventCreate", &end, 0);
  for (int i = -2; i < count; ++i) {
    CALL((CUevent, CUstream), "cuEventRecord", begin, NULL);
    CALL((const CUlaunchConfig*, CUfunction, void**, void**), "cuLaunchKernelEx", &config, function, arguments, NULL);
    CALL((CUevent, CUstream), "cuEventRecord", end, NULL);
    CALL((CUevent), "cuEventSynchronize", end);
    if (i >= 0) CALL((float*, CUevent, CUevent), "cuEventElapsedTime", &times[i], begin, end);
  }
  qsort(times, (size_t)count, sizeof(float), compare);
}

static void start(void) {
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) fprintf(stderr, "%s\n", dlerror()), exit(1);
  CUdevice device;
  CUcontext context;
  CALL((unsigned), "cuInit", 0);
  CALL((CUdevice*, int), "cuDeviceGet", &device, 0);
  CALL((CUcontext*, CUdevice), "cuDevicePrimaryCtxRetain", &context, device);
  CALL((CUcontext), "cuCtxSetCurrent", context);
}

static CUlaunchConfig grid(unsigned n, int rows, int columns, int threads, int shared, int blocks) {
  CUlaunchConfig config = {.gridDimX = n / (unsigned)columns,
                           .gridDimY = n / (unsigned)rows,
                           .gridDimZ = 1,
                           .blockDimX = (unsigned)threads,
                           .blockDimY = 1,
                           .blockDimZ = 1,
                           .sharedMemBytes = (unsigned)shared};
  if (blocks < 0) config.gridDimX *= config.gridDimY, config.gridDimY = 1;
  if (blocks > 0) config.gridDimX = (unsigned)blocks, config.gridDimY = 1;
  return config;
}

int main(int count, char** words) {
  if (count != 12) return 2;
  int numbers[12];
  for (int i = 3; i < 12; ++i) numbers[i] = atoi(words[i]);
  const size_t n = (size_t)numbers[3];
  const int box_a = numbers[8], box_b = numbers[9], is_bf16 = strcmp(words[2], "sgemm") != 0;
  start();
  double load_ms;
  CUfunction function = load(words[1], words[2], &load_ms);
  Problem p = make(n, is_bf16);
  if (box_a) put_map(&p, p.a, (uint32_t)box_a, p.map_a), put_map(&p, p.b, (uint32_t)box_b, p.map_b);
  set(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, numbers[7]);
  uint32_t size = (uint32_t)n;
  void* arguments[] = {box_a ? &p.map_a : &p.a, box_a ? &p.map_b : &p.b, &p.c, &size, &size};
  CUlaunchConfig config = grid(size, numbers[4], numbers[5], numbers[6], numbers[7], numbers[10]);
  CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                               .value.clusterDim = {(unsigned)numbers[11], 1, 1}};
  if (numbers[11] > 1) config.attrs = &cluster, config.numAttrs = 1;
  float times[21];
  run(function, config, arguments, times, 21);
  const double us = 1e3 * (double)times[10], error = worst_error(&p);
  const char* file = strrchr(words[1], '/') ? strrchr(words[1], '/') + 1 : words[1];
  printf("%s\t%zu\t%s, worst error %.2g\tload %.1f ms\t%d registers\t%d B local\t%.1f us\t%.1f TFLOP/s\tspread %.3f\n",
         file, n, error < (is_bf16 ? 5e-3 : 1e-5) ? "right" : "WRONG", error, load_ms,
         attribute_of(function, CU_FUNC_ATTRIBUTE_NUM_REGS), attribute_of(function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
         us, 2e-6 * (double)n * (double)n * (double)n / us, (double)((times[15] - times[5]) / times[10]));
  return 0;
}
