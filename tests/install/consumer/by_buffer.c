/* A kernel with the default ABI in a program that has no Halide; C and C++. */
#include <polyweft_kernel.h>
#include <stdio.h>

#include "gemm.h"

enum { M = 30, N = 20, K = 10 };
static float a[M][K], b[K][N], c[M][N];

int main(void) {
  for (int i = 0; i < M * K; ++i) (&a[0][0])[i] = (float)(i % 7 - 3);
  for (int i = 0; i < K * N; ++i) (&b[0][0])[i] = (float)(i % 5 - 2);
  const int32_t shapes[3][2] = {{M, K}, {K, N}, {M, N}};
  halide_dimension_t dims[3][2];
  halide_buffer_t in_a = polyweft_buffer(a, halide_type_float, 32, 2, shapes[0], dims[0]);
  halide_buffer_t in_b = polyweft_buffer(b, halide_type_float, 32, 2, shapes[1], dims[1]);
  halide_buffer_t out = polyweft_buffer(c, halide_type_float, 32, 2, shapes[2], dims[2]);
  int wrong = gemm(&in_a, &in_b, &out) != 0;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      float sum = 0;
      for (int k = 0; k < K; ++k) sum += a[i][k] * b[k][j];
      wrong += sum != c[i][j];
    }
  printf("by_buffer: %s\n", wrong == 0 ? "right" : "wrong");
  return wrong == 0 ? 0 : 1;
}
