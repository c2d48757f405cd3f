/* The examples as a C programmer would first write them: plain loops in the order of the text. Compiled by clang -O3
 * -march=native -ffast-math they are the baseline of bench/examples.py. Sizes are macros; arguments are inputs, then
 * outputs, in program order. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(EXAMPLE_gemm)
void plain(const float* restrict A, const float* restrict B, float* restrict C) {
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      float s = 0;
      for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
      C[i * N + j] = s;
    }
}
#elif defined(EXAMPLE_batched_gemm)
void plain(const float* restrict X, const float* restrict W, const float* restrict alpha, float* restrict Y) {
  for (int b = 0; b < B; b++)
    for (int i = 0; i < M; i++)
      for (int j = 0; j < N; j++) {
        float s = 0;
        for (int k = 0; k < K; k++) s += X[(b * M + i) * K + k] * W[(b * K + k) * N + j];
        Y[(b * M + i) * N + j] = *alpha * s;
      }
}
#elif defined(EXAMPLE_conv_bias_relu)
void plain(const float* restrict X, const float* restrict Kr, const float* restrict b, float* restrict Z) {
  for (int n = 0; n < N; n++)
    for (int y = 0; y < H; y++)
      for (int x = 0; x < W; x++)
        for (int f = 0; f < F; f++) {
          float s = 0;
          for (int r = 0; r < 3; r++)
            for (int t = 0; t < 3; t++) {
              const int yy = y + r - 1, xx = x + t - 1;
              if (yy < 0 || yy >= H || xx < 0 || xx >= W) continue;
              for (int c = 0; c < C; c++) s += X[((n * H + yy) * W + xx) * C + c] * Kr[((r * 3 + t) * C + c) * F + f];
            }
          s += b[f];
          Z[((n * H + y) * W + x) * F + f] = s > 0 ? s : 0;
        }
}
#elif defined(EXAMPLE_depthwise_pointwise)
void plain(const float* restrict X, const float* restrict D, const float* restrict Kr, float* restrict Y) {
  float* T = malloc(sizeof(float) * H * W * C);
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++)
      for (int c = 0; c < C; c++) {
        float s = 0;
        for (int r = 0; r < 3; r++)
          for (int t = 0; t < 3; t++) {
            const int yy = y + r - 1, xx = x + t - 1;
            if (yy >= 0 && yy < H && xx >= 0 && xx < W) s += X[(yy * W + xx) * C + c] * D[(r * 3 + t) * C + c];
          }
        T[(y * W + x) * C + c] = s;
      }
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++)
      for (int f = 0; f < F; f++) {
        float s = 0;
        for (int c = 0; c < C; c++) s += T[(y * W + x) * C + c] * Kr[c * F + f];
        Y[(y * W + x) * F + f] = s;
      }
  free(T);
}
#elif defined(EXAMPLE_softmax)
void plain(const float* restrict X, float* restrict Y) {
  for (int i = 0; i < M; i++) {
    float m = -3.4e38f, s = 0;
    for (int j = 0; j < N; j++) m = fmaxf(m, X[i * N + j]);
    for (int j = 0; j < N; j++) s += Y[i * N + j] = expf(X[i * N + j] - m);
    for (int j = 0; j < N; j++) Y[i * N + j] /= s;
  }
}
#elif defined(EXAMPLE_layernorm)
void plain(const float* restrict X, const float* restrict g, const float* restrict b, float* restrict Y) {
  for (int i = 0; i < M; i++) {
    float mu = 0, v = 0;
    for (int j = 0; j < N; j++) mu += X[i * N + j];
    mu /= N;
    for (int j = 0; j < N; j++) v += (X[i * N + j] - mu) * (X[i * N + j] - mu);
    v /= N;
    const float r = 1 / sqrtf(v + 1e-5f);
    for (int j = 0; j < N; j++) Y[i * N + j] = (X[i * N + j] - mu) * r * g[j] + b[j];
  }
}
#elif defined(EXAMPLE_attention)
void plain(const float* restrict Q, const float* restrict Kt, const float* restrict V, const float* restrict scale,
           float* restrict O) {
  float* a = malloc(sizeof(float) * S);
  for (int h = 0; h < H; h++)
    for (int i = 0; i < S; i++) {
      float m = -3.4e38f, l = 0;
      for (int j = 0; j <= i; j++) {
        float s = 0;
        for (int d = 0; d < D; d++) s += Q[(h * S + i) * D + d] * Kt[((h / 2) * S + j) * D + d];
        a[j] = *scale * s;
        m = fmaxf(m, a[j]);
      }
      for (int j = 0; j <= i; j++) l += a[j] = expf(a[j] - m);
      for (int d = 0; d < D; d++) {
        float s = 0;
        for (int j = 0; j <= i; j++) s += a[j] * V[((h / 2) * S + j) * D + d];
        O[(h * S + i) * D + d] = s / l;
      }
    }
  free(a);
}
#elif defined(EXAMPLE_jacobi2d)
void plain(const double* restrict A0, double* restrict R) {
  double *a = malloc(sizeof(double) * N * N), *b = malloc(sizeof(double) * N * N);
  for (int i = 0; i < N * N; i++) a[i] = b[i] = A0[i];
  for (int t = 0; t < T; t++) {
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        b[i * N + j] =
            0.2 * (a[i * N + j] + a[i * N + j - 1] + a[i * N + j + 1] + a[(i - 1) * N + j] + a[(i + 1) * N + j]);
    double* swap = a;
    a = b;
    b = swap;
  }
  for (int i = 0; i < N * N; i++) R[i] = a[i];
  free(a);
  free(b);
}
#elif defined(EXAMPLE_lstm)
static float sigmoid(float x) {
  return 1 / (1 + expf(-x));
}
void plain(const float* restrict X, const float* restrict W, const float* restrict U, const float* restrict b,
           float* restrict Y) {
  float *h = calloc((L + 1) * (T + 1) * H, sizeof(float)), *c = calloc((L + 1) * H, sizeof(float));
  float z[4][H];
  for (int t = 1; t <= T; t++)
    for (int k = 0; k < H; k++) h[t * H + k] = X[(t - 1) * H + k];
  for (int t = 1; t <= T; t++)
    for (int l = 1; l <= L; l++) {
      for (int g = 0; g < 4; g++)
        for (int k = 0; k < H; k++) {
          float s = b[((l - 1) * 4 + g) * H + k];
          for (int q = 0; q < H; q++) s += W[(((l - 1) * 4 + g) * H + k) * H + q] * h[((l - 1) * (T + 1) + t) * H + q];
          for (int q = 0; q < H; q++) s += U[(((l - 1) * 4 + g) * H + k) * H + q] * h[(l * (T + 1) + t - 1) * H + q];
          z[g][k] = s;
        }
      for (int k = 0; k < H; k++) {
        c[l * H + k] = sigmoid(z[1][k]) * c[l * H + k] + sigmoid(z[0][k]) * tanhf(z[2][k]);
        h[(l * (T + 1) + t) * H + k] = sigmoid(z[3][k]) * tanhf(c[l * H + k]);
      }
    }
  for (int t = 0; t < T; t++)
    for (int k = 0; k < H; k++) Y[t * H + k] = h[(L * (T + 1) + t + 1) * H + k];
  free(h);
  free(c);
}
#elif defined(EXAMPLE_cholesky)
void plain(const double* restrict A, double* restrict R) {
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < i; j++) {
      double s = 0;
      for (int k = 0; k < j; k++) s += R[i * N + k] * R[j * N + k];
      R[i * N + j] = (A[i * N + j] - s) / R[j * N + j];
    }
    double s = 0;
    for (int k = 0; k < i; k++) s += R[i * N + k] * R[i * N + k];
    R[i * N + i] = sqrt(A[i * N + i] - s);
  }
}
#elif defined(EXAMPLE_floyd_warshall)
void plain(const int32_t* restrict Wt, int32_t* restrict R) {
  for (int i = 0; i < N * N; i++) R[i] = Wt[i];
  for (int k = 0; k < N; k++)
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) {
        const int32_t via = R[i * N + k] + R[k * N + j];
        if (via < R[i * N + j]) R[i * N + j] = via;
      }
}
#elif defined(EXAMPLE_smith_waterman)
static int max(int a, int b) {
  return a > b ? a : b;
}
void plain(const uint8_t* restrict a, const uint8_t* restrict b, const int32_t* restrict score,
           int32_t* restrict best) {
  int32_t *above = calloc(N + 1, sizeof(int32_t)), *row = calloc(N + 1, sizeof(int32_t));
  int32_t most = 0;
  for (int i = 1; i <= M; i++) {
    for (int j = 1; j <= N; j++) {
      const int diagonal = above[j - 1] + score[a[i - 1] * V + b[j - 1]];
      const int gap = max(above[j], row[j - 1]) - 2;
      row[j] = max(max(0, diagonal), gap);
      most = max(most, row[j]);
    }
    int32_t* const last = above;
    above = row, row = last;
  }
  *best = most;
  free(above);
  free(row);
}
#elif defined(EXAMPLE_unsharp)
static int clamp(int x, int lo, int hi) {
  return x < lo ? lo : x > hi ? hi : x;
}
void plain(const float* restrict X, float* restrict Y) {
  static const float w[7] = {0.004433048f, 0.054005582f, 0.242036229f, 0.399050280f,
                             0.242036229f, 0.054005582f, 0.004433048f};
  float* v = malloc(sizeof(float) * H * W);
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) {
      float s = 0;
      for (int r = 0; r < 7; r++) s += X[clamp(y + r - 3, 0, H - 1) * W + x] * w[r];
      v[y * W + x] = s;
    }
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) {
      float s = 0;
      for (int r = 0; r < 7; r++) s += v[y * W + clamp(x + r - 3, 0, W - 1)] * w[r];
      Y[y * W + x] = 4.0f * X[y * W + x] - 3.0f * s;
    }
  free(v);
}
#elif defined(EXAMPLE_harris)
void plain(const float* restrict X, float* restrict R) {
  const int P = W + 4, G = W + 2;
  float *gx = malloc(sizeof(float) * (H + 2) * G), *gy = malloc(sizeof(float) * (H + 2) * G);
  for (int y = 0; y < H + 2; y++)
    for (int x = 0; x < G; x++) {
      const float *a = X + y * P + x, *b = a + P, *c = b + P;
      gx[y * G + x] = (a[2] - a[0]) + 2 * (b[2] - b[0]) + (c[2] - c[0]);
      gy[y * G + x] = (c[0] - a[0]) + 2 * (c[1] - a[1]) + (c[2] - a[2]);
    }
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++) {
      float xx = 0, xy = 0, yy = 0;
      for (int r = 0; r < 3; r++)
        for (int s = 0; s < 3; s++) {
          const float u = gx[(y + r) * G + x + s], v = gy[(y + r) * G + x + s];
          xx += u * u;
          xy += u * v;
          yy += v * v;
        }
      R[y * W + x] = (xx * yy - xy * xy) - 0.04f * (xx + yy) * (xx + yy);
    }
  free(gx);
  free(gy);
}
#elif defined(EXAMPLE_quantized_gemm)
void plain(const uint8_t* restrict A, const int8_t* restrict B, const int32_t* restrict za, const float* restrict mult,
           const int32_t* restrict zc, uint8_t* restrict Q) {
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      int32_t s = 0;
      for (int k = 0; k < K; k++) s += ((int32_t)A[i * K + k] - *za) * (int32_t)B[k * N + j];
      const int32_t q = (int32_t)rintf((float)s * mult[j]) + *zc;
      Q[i * N + j] = (uint8_t)(q < 0 ? 0 : q > 255 ? 255 : q);
    }
}
#else
#error name the example
#endif
