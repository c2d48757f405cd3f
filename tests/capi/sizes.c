/* Symbolic kernels: one kernel, sizes with each call. */
#include "checks.h"

enum { kMost = 12 };

static const char kText[] =
    "program mm(M = 8, N = 8, K = 8)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * B[k, "
    "j]\n";

static void is_right(pw_kernel* kernel, int64_t m, int64_t n, int64_t k) {
  float a[kMost * kMost], b[kMost * kMost], c[kMost * kMost];
  int64_t sizes[3], i, j, l;
  void* buffers[3];
  size_t bytes[3];
  sizes[0] = m, sizes[1] = n, sizes[2] = k;
  buffers[0] = a, buffers[1] = b, buffers[2] = c;
  bytes[0] = (size_t)(m * k) * 4, bytes[1] = (size_t)(k * n) * 4, bytes[2] = (size_t)(m * n) * 4;
  for (i = 0; i < m * k; ++i) a[i] = (float)(i % 7) - 3;
  for (i = 0; i < k * n; ++i) b[i] = (float)(i % 5) - 2;
  CHECK(pw_kernel_run_at(kernel, sizes, 3, buffers, bytes, 3) == PW_OK);
  for (i = 0; i < m; ++i)
    for (j = 0; j < n; ++j) {
      float sum = 0;
      for (l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
      CHECK(c[i * n + j] == sum);
    }
  bytes[1] += 4;
  CHECK(pw_kernel_run_at(kernel, sizes, 3, buffers, bytes, 3) == PW_BAD_INPUT && error_has("PW0653", "B has "));
}

void sizes_at_the_call(pw_tuner* tuner) {
  pw_program* program = program_of(kText);
  pw_kernel *kernel = NULL, *sized = NULL, *bound = NULL;
  pw_task_options options = task();
  const char* names[] = {"M", "N"};
  const int64_t values[] = {5, 7}, bad[] = {4, 0, 4}, good[] = {4, 5, 6};
  float x = 0;
  void* buffers[3];
  size_t bytes[] = {4, 4, 4};
  buffers[0] = buffers[1] = buffers[2] = &x;
  options.symbolic = 1;
  CHECK(pw_tuner_compile(tuner, program, &options, &kernel) == PW_OK);
  CHECK(strcmp(pw_kernel_origin(kernel), "symbolic base order") == 0);
  CHECK(pw_kernel_size_count(kernel) == 3 && strcmp(pw_kernel_size_name(kernel, 2), "K") == 0 &&
        pw_kernel_size_name(kernel, 3)[0] == 0);
  CHECK(pw_kernel_argument_rank(kernel, 0) == 2 && pw_kernel_argument_extent(kernel, 0, 0) == -1 &&
        pw_kernel_argument_bytes(kernel, 0) == SIZE_MAX);
  is_right(kernel, 1, 1, 1), is_right(kernel, 5, 7, 11), is_right(kernel, 12, 3, 12), is_right(kernel, 8, 8, 8);
  CHECK(pw_kernel_at(kernel, good, 3, &sized) == PW_OK && pw_kernel_size_count(sized) == 0);
  CHECK(pw_kernel_argument_extent(sized, 1, 0) == 6 && pw_kernel_argument_bytes(sized, 2) == 4 * 5 * 4);
  CHECK(pw_kernel_run(kernel, buffers, bytes, 3) == PW_BAD_INPUT && error_has("PW0670", "takes its sizes with each"));
  CHECK(pw_kernel_at(kernel, bad, 3, &bound) == PW_BAD_INPUT && !bound && error_has("PW0670", "assumption N > 0"));
  CHECK(pw_kernel_at(kernel, good, 2, &bound) == PW_BAD_INPUT && error_has("PW0670", "takes 3 sizes (M, N, K), not 2"));
  CHECK(pw_kernel_at(sized, good, 3, &bound) == PW_BAD_INPUT && error_has("PW0670", "the kernel has its sizes"));
  CHECK(pw_kernel_at(NULL, good, 3, &bound) == PW_BAD_INPUT && pw_kernel_at(kernel, NULL, 3, &bound) == PW_BAD_INPUT &&
        pw_kernel_at(kernel, good, 3, NULL) == PW_BAD_INPUT && error_has("PW0021", "out is NULL"));
  CHECK(pw_kernel_run_at(NULL, good, 3, buffers, bytes, 3) == PW_BAD_INPUT &&
        pw_kernel_run_at(kernel, NULL, 3, buffers, bytes, 3) == PW_BAD_INPUT &&
        pw_kernel_run_at(kernel, good, 3, NULL, bytes, 3) == PW_BAD_INPUT && error_has("PW0021", "buffers or bytes"));
  CHECK(pw_kernel_size_count(NULL) == 0 && pw_kernel_size_name(NULL, 0)[0] == 0);
  options.parameter_names = names, options.parameter_values = values, options.parameter_count = 2;
  CHECK(pw_tuner_verify(tuner, program, &options) == PW_OK);
  CHECK(pw_tuner_compile(tuner, program, &options, &bound) == PW_BAD_INPUT && error_has("PW0521", "no sizes to bind"));
  pw_kernel_free(kernel), pw_kernel_free(sized);
  pw_program_free(program);
}
