/* Runs one kernel of a shared object under an emulator: harness OBJECT SYMBOL < arguments > results.
   Arguments and results, little-endian: the number of arguments (results: the code that the kernel returned), then of
   each argument its type (halide_type_code_t, bits), its rank, its extents, outermost first, the number of bytes, the
   bytes. */
#include <HalideRuntime.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMostArguments = 64, kMostRank = 16, kAlignment = 128 };

/* What kernels call of Halide's runtime. Tasks run one after the other. */
void* halide_malloc(void* user, size_t bytes) {
  return aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment + kAlignment);
}
void halide_free(void* user, void* memory) {
  free(memory);
}
void halide_error(void* user, const char* text) {
  fprintf(stderr, "%s\n", text);
}
int halide_do_par_for(void* user, halide_task_t task, int first, int count, uint8_t* closure) {
  int k, code;
  for (k = first; k < first + count; ++k)
    if ((code = task(user, k, closure)) != 0) return code;
  return 0;
}

struct argument {
  halide_buffer_t buffer;
  halide_dimension_t dims[kMostRank];
  int32_t head[3], extents[kMostRank];
  int64_t bytes;
};

static void take(void* to, size_t bytes) {
  if (bytes > 0 && fread(to, 1, bytes, stdin) != bytes) exit(70);
}
static void give(const void* from, size_t bytes) {
  if (bytes > 0 && fwrite(from, 1, bytes, stdout) != bytes) exit(71);
}

static void read_argument(struct argument* a) {
  int32_t d, stride = 1;
  take(a->head, sizeof a->head);
  take(a->extents, sizeof(int32_t) * (size_t)a->head[2]);
  take(&a->bytes, sizeof a->bytes);
  a->buffer.host = halide_malloc(0, (size_t)a->bytes);
  take(a->buffer.host, (size_t)a->bytes);
  a->buffer.type.code = (uint8_t)a->head[0];
  a->buffer.type.bits = (uint8_t)a->head[1];
  a->buffer.type.lanes = 1;
  a->buffer.dimensions = a->head[2];
  a->buffer.dim = a->dims;
  for (d = 0; d < a->head[2]; ++d) {
    a->dims[d].extent = a->extents[a->head[2] - 1 - d];
    a->dims[d].stride = stride;
    stride *= a->dims[d].extent;
  }
}

typedef halide_buffer_t* B;
#define EIGHT(type) type, type, type, type, type, type, type, type
#define FROM(k) b[k], b[k + 1], b[k + 2], b[k + 3], b[k + 4], b[k + 5], b[k + 6], b[k + 7]

int main(int count, char** words) {
  static struct argument a[kMostArguments];
  int32_t arguments, k, code;
  void *object, *kernel;
  B b[kMostArguments];
  if (count != 3) return 64;
  object = dlopen(words[1], RTLD_NOW);
  if (!object) {
    fprintf(stderr, "%s\n", dlerror());
    return 65;
  }
  kernel = dlsym(object, words[2]);
  if (!kernel) return 66;
  take(&arguments, sizeof arguments);
  if (arguments < 0 || arguments > kMostArguments) return 67;
  for (k = 0; k < arguments; ++k) read_argument(&a[k]);
  for (k = 0; k < kMostArguments; ++k) b[k] = &a[k].buffer;
  /* Arguments beyond those that the kernel has are in registers or on the stack, where nobody reads them. */
  code = ((int (*)(EIGHT(B), EIGHT(B), EIGHT(B), EIGHT(B), EIGHT(B), EIGHT(B), EIGHT(B), EIGHT(B)))kernel)(
      FROM(0), FROM(8), FROM(16), FROM(24), FROM(32), FROM(40), FROM(48), FROM(56));
  give(&code, sizeof code);
  for (k = 0; k < arguments; ++k) give(a[k].buffer.host, (size_t)a[k].bytes);
  return 0;
}
