/* What a C program needs around an emitted kernel: buffers, files. Each generated main includes this and the kernel's
 * own header. */
#include <HalideRuntime.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_RANK 8

typedef struct argument {
  halide_buffer_t buffer;
  halide_dimension_t dims[MAX_RANK];
  size_t bytes;
} argument;

/* The contents of `path`, dense and row-major; dim[0] is the last axis. */
static void load(argument* a, const char* path, int code, int bits, int rank, const int* extents) {
  a->bytes = bits / 8;
  for (int d = 0; d < rank; ++d) {
    a->dims[d].min = 0;
    a->dims[d].extent = extents[rank - 1 - d];
    a->dims[d].stride = (int)(a->bytes / (bits / 8));
    a->dims[d].flags = 0;
    a->bytes *= extents[rank - 1 - d];
  }
  a->buffer = (halide_buffer_t){
      .host = malloc(a->bytes), .type = {(uint8_t)code, (uint8_t)bits, 1}, .dimensions = rank, .dim = a->dims};
  FILE* file = fopen(path, "rb");
  if (!file || fread(a->buffer.host, 1, a->bytes, file) != a->bytes) exit(90);
  fclose(file);
}

static inline void reserve(argument* a, int64_t bytes) {
  a->bytes = (size_t)bytes;
  a->dims[0] = (halide_dimension_t){0, (int32_t)bytes, 1, 0};
  a->buffer = (halide_buffer_t){.host = aligned_alloc(64, (a->bytes + 63) / 64 * 64),
                                .type = {halide_type_uint, 8, 1},
                                .dimensions = 1,
                                .dim = a->dims};
}

static void store(const argument* a, const char* path) {
  FILE* file = fopen(path, "wb");
  if (!file || fwrite(a->buffer.host, 1, a->bytes, file) != a->bytes) exit(91);
  fclose(file);
}
