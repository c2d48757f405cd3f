/* examples/recurrences as a C programmer would first write them: plain loops, tables rolled where only the last rows or
 * steps are read. See examples.c. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(EXAMPLE_needleman_wunsch)
static int32_t max(int32_t a, int32_t b) {
  return a > b ? a : b;
}
enum { NEVER = -1000000000 };
void plain(const uint8_t* restrict a, const uint8_t* restrict b, const int32_t* restrict score,
           const int32_t* restrict open, const int32_t* restrict extend, int32_t* restrict best) {
  int32_t* rows[2][3];
  for (int k = 0; k < 6; k++) rows[k / 3][k % 3] = malloc((N + 1) * sizeof(int32_t));
  for (int j = 0; j <= N; j++) {
    rows[0][0][j] = j ? NEVER : 0;
    rows[0][1][j] = NEVER;
    rows[0][2][j] = j ? -*open - j * *extend : NEVER;
  }
  for (int i = 1; i <= M; i++) {
    const int32_t* restrict s0 = rows[(i - 1) % 2][0], * restrict p0 = rows[(i - 1) % 2][1],
                             * restrict q0 = rows[(i - 1) % 2][2];
    int32_t* restrict s = rows[i % 2][0], * restrict p = rows[i % 2][1], * restrict q = rows[i % 2][2];
    s[0] = NEVER;
    p[0] = -*open - i * *extend;
    q[0] = NEVER;
    for (int j = 1; j <= N; j++) {
      s[j] = max(s0[j - 1], max(p0[j - 1], q0[j - 1])) + score[a[i - 1] * V + b[j - 1]];
      p[j] = max(max(s0[j], q0[j]) - *open, p0[j]) - *extend;
      q[j] = max(max(s[j - 1], p[j - 1]) - *open, q[j - 1]) - *extend;
    }
  }
  *best = max(rows[M % 2][0][N], max(rows[M % 2][1][N], rows[M % 2][2][N]));
  for (int k = 0; k < 6; k++) free(rows[k / 3][k % 3]);
}
#elif defined(EXAMPLE_biquads)
void plain(const double* restrict X, const double* restrict c, double* restrict Y) {
  for (int r = 0; r < R; r++) {
    double x1[K], x2[K], y1[K], y2[K];
    for (int k = 0; k < K; k++) x1[k] = x2[k] = y1[k] = y2[k] = 0;
    for (int n = 0; n < N; n++) {
      double x = X[r * N + n];
      for (int k = 0; k < K; k++) {
        const double y =
            c[k * 5] * x + c[k * 5 + 1] * x1[k] + c[k * 5 + 2] * x2[k] - c[k * 5 + 3] * y1[k] - c[k * 5 + 4] * y2[k];
        x2[k] = x1[k], x1[k] = x;
        y2[k] = y1[k], y1[k] = y;
        x = y;
      }
      Y[r * N + n] = x;
    }
  }
}
#elif defined(EXAMPLE_prefix_sum)
void plain(const double* restrict X, double* restrict sums, double* restrict highest) {
  for (int r = 0; r < R; r++) {
    double s = 0, h = -1e300;
    for (int i = 0; i < N; i++) {
      s += X[r * N + i];
      h = X[r * N + i] > h ? X[r * N + i] : h;
      sums[r * N + i] = s;
      highest[r * N + i] = h;
    }
  }
}
#elif defined(EXAMPLE_wave_2d)
void plain(const double* restrict before, const double* restrict start, const double* restrict speed,
           double* restrict now) {
  double* planes[3];
  for (int k = 0; k < 3; k++) {
    planes[k] = malloc(sizeof(double) * N * N);
    memcpy(planes[k], k == 0 ? before : start, sizeof(double) * N * N);
  }
  for (int t = 2; t < T + 2; t++) {
    const double* restrict old = planes[t % 3 == 2 ? 0 : t % 3 + 1], * restrict u = planes[(t - 1) % 3];
    double* restrict next = planes[t % 3];
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++)
        next[i * N + j] = 2 * u[i * N + j] - old[i * N + j] +
                          speed[i * N + j] * (u[(i - 1) * N + j] + u[(i + 1) * N + j] + u[i * N + j - 1] +
                                              u[i * N + j + 1] - 4 * u[i * N + j]);
    for (int i = 0; i < N; i++) {
      next[i] = start[i], next[(N - 1) * N + i] = start[(N - 1) * N + i];
      next[i * N] = start[i * N], next[i * N + N - 1] = start[i * N + N - 1];
    }
  }
  memcpy(now, planes[(T + 1) % 3], sizeof(double) * N * N);
  for (int k = 0; k < 3; k++) free(planes[k]);
}
#elif defined(EXAMPLE_red_black)
void plain(const double* restrict U0, const double* restrict F, double* restrict U) {
  memcpy(U, U0, sizeof(double) * N * N);
  for (int t = 0; t < T; t++)
    for (int colour = 0; colour < 2; colour++)
      for (int i = 1; i < N - 1; i++)
        for (int j = 1 + (i + 1 + colour) % 2; j < N - 1; j += 2)
          U[i * N + j] =
              0.25 * (U[(i - 1) * N + j] + U[(i + 1) * N + j] + U[i * N + j - 1] + U[i * N + j + 1] + F[i * N + j]);
}
#elif defined(EXAMPLE_viterbi)
void plain(const double* restrict start, const double* restrict step, const double* restrict emit,
           const int32_t* restrict seen, double* restrict best, int64_t* restrict walk) {
  double *v = malloc(sizeof(double) * S), *next = malloc(sizeof(double) * S);
  int32_t* back = malloc(sizeof(int32_t) * T * S);
  for (int s = 0; s < S; s++) v[s] = start[s] + emit[s * O + seen[0]];
  for (int t = 1; t < T; t++) {
    for (int s = 0; s < S; s++) next[s] = -1e300, back[t * S + s] = 0;
    for (int p = 0; p < S; p++)
      for (int s = 0; s < S; s++) {
        const double x = v[p] + step[p * S + s];
        back[t * S + s] = x > next[s] ? p : back[t * S + s];
        next[s] = x > next[s] ? x : next[s];
      }
    for (int s = 0; s < S; s++) v[s] = next[s] + emit[s * O + seen[t]];
  }
  int32_t at = 0;
  for (int s = 1; s < S; s++) at = v[s] > v[at] ? s : at;
  *best = v[at];
  for (int t = T - 1; t >= 0; t--) {
    walk[t] = at;
    if (t > 0) at = back[t * S + at];
  }
  free(v);
  free(next);
  free(back);
}
#elif defined(EXAMPLE_gru)
static float sigmoid(float x) {
  return 1 / (1 + expf(-x));
}
static float dot(const float* restrict a, const float* restrict b, int n) {
  float s = 0;
  for (int q = 0; q < n; q++) s += a[q] * b[q];
  return s;
}
void plain(const float* restrict X, const float* restrict W, const float* restrict U, const float* restrict b,
           const float* restrict h0, float* restrict Y) {
  for (int t = 0; t < T; t++)
    for (int n = 0; n < B; n++) {
      const float *h = t ? Y + ((t - 1) * B + n) * H : h0 + n * H, *x = X + (t * B + n) * I;
      for (int k = 0; k < H; k++) {
        float gate[3], state[3];
        for (int g = 0; g < 3; g++) {
          gate[g] = b[g * H + k] + dot(W + (g * H + k) * I, x, I);
          state[g] = dot(U + (g * H + k) * H, h, H);
        }
        const float z = sigmoid(gate[0] + state[0]), r = sigmoid(gate[1] + state[1]), p = tanhf(gate[2] + r * state[2]);
        Y[(t * B + n) * H + k] = (1 - z) * p + z * h[k];
      }
    }
}
#elif defined(EXAMPLE_stacked_lstm)
static float sigmoid(float x) {
  return 1 / (1 + expf(-x));
}
/* layer by layer, a step at a time: both products of a gate where it is wanted */
void plain(const float* restrict X, const float* restrict W, const float* restrict U, const float* restrict b,
           const float* restrict h0, const float* restrict c0, float* restrict Y, float* restrict hT,
           float* restrict cT) {
  float *below = malloc(sizeof(float) * T * H), *h = malloc(sizeof(float) * (T + 1) * H),
        *c = malloc(sizeof(float) * H);
  memcpy(below, X, sizeof(float) * T * H);
  for (int l = 0; l < L; l++) {
    memcpy(h, h0 + l * H, sizeof(float) * H);
    memcpy(c, c0 + l * H, sizeof(float) * H);
    for (int t = 0; t < T; t++)
      for (int k = 0; k < H; k++) {
        float z[4];
        for (int g = 0; g < 4; g++) {
          const float *w = W + ((l * 4 + g) * H + k) * H, *u = U + ((l * 4 + g) * H + k) * H;
          float s = b[(l * 4 + g) * H + k];
          for (int q = 0; q < H; q++) s += w[q] * below[t * H + q];
          for (int q = 0; q < H; q++) s += u[q] * h[t * H + q];
          z[g] = s;
        }
        c[k] = sigmoid(z[1]) * c[k] + sigmoid(z[0]) * tanhf(z[2]);
        h[(t + 1) * H + k] = sigmoid(z[3]) * tanhf(c[k]);
      }
    memcpy(below, h + H, sizeof(float) * T * H);
    memcpy(hT + l * H, h + T * H, sizeof(float) * H);
    memcpy(cT + l * H, c, sizeof(float) * H);
  }
  memcpy(Y, below, sizeof(float) * T * H);
  free(below);
  free(h);
  free(c);
}
#endif
