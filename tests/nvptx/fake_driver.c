/* A libcuda.so.1 without a device: memory is the process's, launches are written to the file that PW_CUDA_LOG names. It
 * says that it is of machine 9.0. PW_CUDA_REFUSES names a function that fails. Instead of what a kernel would compute,
 * each launch puts the contents of the file PW_CUDA_RESULT to the last address that it is given. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kInvalid = 1, kNoMemory = 2 };

static int refuses(const char* name) {
  const char* refused = getenv("PW_CUDA_REFUSES");
  return refused && strcmp(refused, name) == 0;
}
static FILE* log_file(void) {
  const char* path = getenv("PW_CUDA_LOG");
  return path ? fopen(path, "a") : NULL;
}

struct module {
  char* text;
};
struct function {
  struct module* module;
  char name[128];
  int most_dynamic_bytes;
};

int cuInit(unsigned flags) {
  return flags || refuses("cuInit") ? kInvalid : 0;
}
int cuDriverGetVersion(int* version) {
  return *version = 13000, 0;
}
int cuDeviceGetCount(int* count) {
  return *count = refuses("cuDeviceGetCount") ? 0 : 1, 0;
}
int cuDeviceGet(int* device, int number) {
  return *device = 7, number ? kInvalid : 0;
}
int cuDeviceGetName(char* name, int size, int device) {
  return strncpy(name, "a fake", (size_t)size), device == 7 ? 0 : kInvalid;
}
int cuDeviceGetPCIBusId(char* id, int size, int device) {
  return strncpy(id, "0000:01:00.0", (size_t)size), device == 7 ? 0 : kInvalid;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  const int values[][2] = {{1, 1024},  {8, 49152},     {13, 1980000}, {16, 132}, {36, 2619000},
                           {37, 5120}, {38, 52428800}, {75, 9},       {76, 0},   {97, 232448}};
  for (size_t k = 0; k < sizeof values / sizeof *values; ++k)
    if (values[k][0] == attribute) return *value = values[k][1], device == 7 ? 0 : kInvalid;
  return kInvalid;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  return *context = &refuses, device == 7 ? 0 : kInvalid;
}
int cuCtxSetCurrent(void* context) {
  return context == (void*)&refuses ? 0 : kInvalid;
}

int cuModuleLoadDataEx(struct module** module, const void* image, unsigned options, int* names, void** values) {
  if (refuses("cuModuleLoadDataEx")) {
    for (unsigned k = 0; k < options; ++k)
      if (names[k] == 5) strcpy(values[k], "line 1: nonsense");
    return kInvalid;
  }
  *module = malloc(sizeof **module);
  (*module)->text = strdup(image);
  return 0;
}
int cuModuleUnload(struct module* module) {
  return free(module->text), free(module), 0;
}
int cuModuleGetFunction(struct function** function, struct module* module, const char* name) {
  char entry[160];
  snprintf(entry, sizeof entry, ".entry %s(", name);
  if (!strstr(module->text, entry)) return kInvalid;
  *function = calloc(1, sizeof **function);
  (*function)->module = module;
  strncpy((*function)->name, name, sizeof(*function)->name - 1);
  (*function)->most_dynamic_bytes = 49152;
  return 0;
}
int cuFuncSetAttribute(struct function* function, int attribute, int value) {
  if (refuses("cuFuncSetAttribute") || attribute != 8 || value > 232448) return kInvalid;
  return function->most_dynamic_bytes = value, 0;
}

int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  if (refuses("cuMemAlloc_v2")) return kNoMemory;
  return *address = (uint64_t)(uintptr_t)aligned_alloc(256, (bytes + 255) / 256 * 256), 0;
}
int cuMemFree_v2(uint64_t address) {
  return free((void*)(uintptr_t)address), 0;
}
int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  return memcpy((void*)(uintptr_t)to, from, bytes), 0;
}
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  return memcpy(to, (void*)(uintptr_t)from, bytes), 0;
}
int cuMemsetD8_v2(uint64_t to, unsigned char byte, size_t bytes) {
  return memset((void*)(uintptr_t)to, byte, bytes), 0;
}

static void put_result(uint64_t address) {
  const char* path = getenv("PW_CUDA_RESULT");
  FILE* file = path && address ? fopen(path, "rb") : NULL;
  if (!file) return;
  fseek(file, 0, SEEK_END);
  const size_t bytes = (size_t)ftell(file);
  rewind(file);
  if (fread((void*)(uintptr_t)address, 1, bytes, file) != bytes) abort();
  fclose(file);
}

/* Parameters of an entry, by its text; the first byte of the memory of the last address is written past its guard
 * where PW_CUDA_WRITES is set. */
int cuLaunchKernel(struct function* function, unsigned bx, unsigned by, unsigned bz, unsigned tx, unsigned ty,
                   unsigned tz, unsigned shared, void* stream, void** arguments, void** extra) {
  char entry[160];
  if (refuses("cuLaunchKernel")) return kInvalid;
  if (shared > (unsigned)function->most_dynamic_bytes) return kInvalid;
  snprintf(entry, sizeof entry, ".entry %s(", function->name);
  const char *at = strstr(function->module->text, entry), *end = strchr(at, ')');
  FILE* log = log_file();
  if (log) fprintf(log, "%s <%u %u %u> <%u %u %u> %u", function->name, bx, by, bz, tx, ty, tz, shared);
  int number = 0;
  uint64_t last = 0;
  for (at = strstr(at, ".param"); at && at < end; at = strstr(at + 1, ".param"), ++number) {
    uint64_t value;
    memcpy(&value, arguments[number], sizeof value);
    const int is_address = value > 4096;
    if (is_address) last = value;
    if (log && !is_address) fprintf(log, " %d", (int)value);
    if (is_address && getenv("PW_CUDA_WRITES")) ((unsigned char*)(uintptr_t)value)[-1] = 0;
  }
  put_result(last);
  if (log) fprintf(log, " of %d\n", number), fclose(log);
  return stream || extra ? kInvalid : 0;
}
int cuCtxSynchronize(void) {
  return 0;
}
int cuEventCreate(void** event, unsigned flags) {
  return *event = malloc(1), flags ? kInvalid : 0;
}
int cuEventDestroy_v2(void* event) {
  return free(event), 0;
}
int cuEventRecord(void* event, void* stream) {
  return event && !stream ? 0 : kInvalid;
}
int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  return *milliseconds = 1.5f, start && end ? 0 : kInvalid;
}
int cuGetErrorName(int status, const char** name) {
  *name = status == kNoMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_INVALID_VALUE";
  return 0;
}
