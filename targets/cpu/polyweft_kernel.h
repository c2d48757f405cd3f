/* What a program needs to call kernels that take halide_buffer_t (build --abi halide), where Halide is not installed;
 * C11 and C++11.
 *
 * The layout is that of Halide 14. A program that has Halide includes HalideRuntime.h in place of this. Kernels of
 * `build --abi c` need neither: they take addresses of elements.
 *
 * `--emit static` and `--emit shared` bring what kernels call. Objects (`--emit object`) leave it to the program that
 * links them: halide_malloc, halide_free, and with
 * --threads above 1 halide_do_par_for; define them, or link Halide's runtime. */
#ifndef POLYWEFT_KERNEL_H
#define POLYWEFT_KERNEL_H

#ifndef HALIDE_HALIDERUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Type codes. bool is an unsigned integer of 1 bit in a byte; bf16 is halide_type_bfloat of 16 bits. */
enum {
  halide_type_int = 0,
  halide_type_uint = 1,
  halide_type_float = 2,
  halide_type_handle = 3,
  halide_type_bfloat = 4
};

struct halide_type_t {
  uint8_t code, bits;
  uint16_t lanes; /* 1 */
};

/* In elements. Kernels want min 0, and row-major strides. */
typedef struct halide_dimension_t {
  int32_t min, extent, stride;
  uint32_t flags;
} halide_dimension_t;

struct halide_device_interface_t;

typedef struct halide_buffer_t {
  uint64_t device;                                          /* 0 */
  const struct halide_device_interface_t* device_interface; /* NULL */
  uint8_t* host;                                            /* the first element; NULL asks a kernel for the shapes */
  uint64_t flags;                                           /* 0 */
  struct halide_type_t type;
  int32_t dimensions;
  halide_dimension_t* dim; /* dim[0] is the last axis */
  void* padding;
} halide_buffer_t;

/* Memory with 128 bytes that may be read before and behind it. */
void* halide_malloc(void* user_context, size_t bytes);
void halide_free(void* user_context, void* memory);
typedef int (*halide_task_t)(void* user_context, int task_number, uint8_t* closure);
/* Runs tasks min .. min + size - 1, each once, in any order; 0, or what one of them returned. */
int halide_do_par_for(void* user_context, halide_task_t task, int min, int size, uint8_t* closure);

#ifdef __cplusplus
}
#endif

#endif /* HALIDE_HALIDERUNTIME_H */

/* A row-major array of `rank` dimensions, extents outermost first. `dims`: room for as many. */
static inline halide_buffer_t polyweft_buffer(void* elements, uint8_t code, uint8_t bits, int rank,
                                              const int32_t* extents, halide_dimension_t* dims) {
  halide_buffer_t out = {0, NULL, (uint8_t*)elements, 0, {code, bits, 1}, rank, dims, NULL};
  int32_t stride = 1;
  for (int d = 0; d < rank; ++d) {
    dims[d].min = 0;
    dims[d].extent = extents[rank - 1 - d];
    dims[d].stride = stride;
    dims[d].flags = 0;
    stride *= dims[d].extent;
  }
  return out;
}

#endif
