/* The same through the C ABI, without a database: the analytic model's first choice. */
#include <polyweft/c_api.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 24, N = 40, K = 17 };
static const char* const text =
    "program gemm(M = 24, N = 40, K = 17)\n"
    "in  A: f32[M, K]\n"
    "in  B: f32[K, N]\n"
    "out C[i: M, j: N] = sum[k: K] A[i, k] * B[k, j]\n";
static float a[M][K], b[K][N], c[M][N];

static int wrong_elements(void) {
  int wrong = 0;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      float sum = 0;
      for (int k = 0; k < K; ++k) sum += a[i][k] * b[k][j];
      wrong += sum != c[i][j];
    }
  return wrong;
}

int main(void) {
  const char* level = getenv("POLYWEFT_HOST");
  if (level && pw_hold_host(level) != PW_OK) return 1;
  for (int i = 0; i < M * K; ++i) (&a[0][0])[i] = (float)(i * 3 % 11 - 5);
  for (int i = 0; i < K * N; ++i) (&b[0][0])[i] = (float)(i * 7 % 11 - 5);
  pw_program* program = NULL;
  pw_tuner* tuner = NULL;
  pw_kernel* kernel = NULL;
  void* buffers[] = {a, b, c};
  const size_t bytes[] = {sizeof a, sizeof b, sizeof c};
  const int done = pw_program_parse(text, &program) == PW_OK && pw_tuner_create(NULL, &tuner) == PW_OK &&
                   pw_tuner_check(tuner, program) == PW_OK &&
                   pw_tuner_compile(tuner, program, NULL, &kernel) == PW_OK &&
                   pw_kernel_run(kernel, buffers, bytes, 3) == PW_OK;
  if (!done) fprintf(stderr, "consumer_c: %s\n", pw_last_error());
  const int wrong = done ? wrong_elements() : -1;
  printf("consumer_c: %s\n", wrong == 0 ? "right" : "wrong");
  pw_kernel_free(kernel);
  pw_tuner_free(tuner);
  pw_program_free(program);
  return wrong == 0 ? 0 : 1;
}
