/* The kernels of examples/polybench as a C programmer would first write them: plain loops, in place where the kernel
 * is. Compiled by gcc, clang and clang with Polly they are the baselines of bench/polybench.py. Sizes are macros;
 * arguments are inputs, then outputs, in program order. What changes in place is first copied from the input to the
 * output, as our kernels must do too. */
#include <math.h>
#include <string.h>

#define FOR(i, n) for (int i = 0; i < (n); i++)
#define INNER(i, n) for (int i = 1; i < (n)-1; i++)

#if defined(POLYBENCH_correlation) || defined(POLYBENCH_covariance)
static double mean[M], data[N][M];
static void center(const double data0[restrict N][M]) {
  FOR(j, M) {
    mean[j] = 0;
    FOR(i, N) mean[j] += data0[i][j];
    mean[j] /= N;
  }
  FOR(i, N) FOR(j, M) data[i][j] = data0[i][j] - mean[j];
}
#endif

#if defined(POLYBENCH_correlation)
static double stddev[M];
void plain(const double data0[restrict N][M], double corr[restrict M][M]) {
  center(data0);
  FOR(j, M) {
    stddev[j] = 0;
    FOR(i, N) stddev[j] += data[i][j] * data[i][j];
    stddev[j] = sqrt(stddev[j] / N);
    if (stddev[j] <= 0.1) stddev[j] = 1;
  }
  FOR(i, N) FOR(j, M) data[i][j] /= sqrt((double)N) * stddev[j];
  FOR(i, M) {
    corr[i][i] = 1;
    for (int j = i + 1; j < M; j++) {
      corr[i][j] = 0;
      FOR(k, N) corr[i][j] += data[k][i] * data[k][j];
      corr[j][i] = corr[i][j];
    }
  }
}
#elif defined(POLYBENCH_covariance)
void plain(const double data0[restrict N][M], double cov[restrict M][M]) {
  center(data0);
  FOR(i, M)
  for (int j = i; j < M; j++) {
    cov[i][j] = 0;
    FOR(k, N) cov[i][j] += data[k][i] * data[k][j];
    cov[i][j] /= N - 1.0;
    cov[j][i] = cov[i][j];
  }
}
#elif defined(POLYBENCH_gemm)
void plain(const double* alpha, const double* beta, const double C0[restrict NI][NJ], const double A[restrict NI][NK],
           const double B[restrict NK][NJ], double C[restrict NI][NJ]) {
  FOR(i, NI) {
    FOR(j, NJ) C[i][j] = *beta * C0[i][j];
    FOR(k, NK) FOR(j, NJ) C[i][j] += *alpha * A[i][k] * B[k][j];
  }
}
#elif defined(POLYBENCH_gemver)
static double A[N][N], x[N];
void plain(const double* alpha, const double* beta, const double A0[restrict N][N], const double u1[restrict N],
           const double v1[restrict N], const double u2[restrict N], const double v2[restrict N],
           const double y[restrict N], const double z[restrict N], double w[restrict N]) {
  FOR(i, N) FOR(j, N) A[i][j] = A0[i][j] + u1[i] * v1[j] + u2[i] * v2[j];
  FOR(i, N) {
    x[i] = z[i];
    FOR(j, N) x[i] += *beta * A[j][i] * y[j];
  }
  FOR(i, N) {
    w[i] = 0;
    FOR(j, N) w[i] += *alpha * A[i][j] * x[j];
  }
}
#elif defined(POLYBENCH_gesummv)
void plain(const double* alpha, const double* beta, const double A[restrict N][N], const double B[restrict N][N],
           const double x[restrict N], double y[restrict N]) {
  FOR(i, N) {
    double a = 0, b = 0;
    FOR(j, N) {
      a += A[i][j] * x[j];
      b += B[i][j] * x[j];
    }
    y[i] = *alpha * a + *beta * b;
  }
}
#elif defined(POLYBENCH_symm)
void plain(const double* alpha, const double* beta, const double C0[restrict M][N], const double A[restrict M][M],
           const double B[restrict M][N], double C[restrict M][N]) {
  memcpy(C, C0, sizeof(double) * M * N);
  FOR(i, M) FOR(j, N) {
    double above = 0;
    FOR(k, i) {
      C[k][j] += *alpha * B[i][j] * A[i][k];
      above += B[k][j] * A[i][k];
    }
    C[i][j] = *beta * C[i][j] + *alpha * B[i][j] * A[i][i] + *alpha * above;
  }
}
#elif defined(POLYBENCH_syr2k)
void plain(const double* alpha, const double* beta, const double C0[restrict N][N], const double A[restrict N][M],
           const double B[restrict N][M], double C[restrict N][N]) {
  FOR(i, N) {
    FOR(j, i + 1) C[i][j] = *beta * C0[i][j];
    FOR(k, M) FOR(j, i + 1) C[i][j] += A[j][k] * *alpha * B[i][k] + B[j][k] * *alpha * A[i][k];
  }
}
#elif defined(POLYBENCH_syrk)
void plain(const double* alpha, const double* beta, const double C0[restrict N][N], const double A[restrict N][M],
           double C[restrict N][N]) {
  FOR(i, N) {
    FOR(j, i + 1) C[i][j] = *beta * C0[i][j];
    FOR(k, M) FOR(j, i + 1) C[i][j] += *alpha * A[i][k] * A[j][k];
  }
}
#elif defined(POLYBENCH_trmm)
void plain(const double* alpha, const double A[restrict M][M], const double B0[restrict M][N],
           double B[restrict M][N]) {
  memcpy(B, B0, sizeof(double) * M * N);
  FOR(i, M) FOR(j, N) {
    for (int k = i + 1; k < M; k++) B[i][j] += A[k][i] * B[k][j];
    B[i][j] *= *alpha;
  }
}
#elif defined(POLYBENCH_2mm)
static double tmp[NI][NJ];
void plain(const double* alpha, const double* beta, const double A[restrict NI][NK], const double B[restrict NK][NJ],
           const double C[restrict NJ][NL], const double D0[restrict NI][NL], double D[restrict NI][NL]) {
  FOR(i, NI) FOR(j, NJ) {
    tmp[i][j] = 0;
    FOR(k, NK) tmp[i][j] += *alpha * A[i][k] * B[k][j];
  }
  FOR(i, NI) FOR(j, NL) {
    D[i][j] = *beta * D0[i][j];
    FOR(k, NJ) D[i][j] += tmp[i][k] * C[k][j];
  }
}
#elif defined(POLYBENCH_3mm)
static double E[NI][NJ], F[NJ][NL];
void plain(const double A[restrict NI][NK], const double B[restrict NK][NJ], const double C[restrict NJ][NM],
           const double D[restrict NM][NL], double G[restrict NI][NL]) {
  FOR(i, NI) FOR(j, NJ) {
    E[i][j] = 0;
    FOR(k, NK) E[i][j] += A[i][k] * B[k][j];
  }
  FOR(i, NJ) FOR(j, NL) {
    F[i][j] = 0;
    FOR(k, NM) F[i][j] += C[i][k] * D[k][j];
  }
  FOR(i, NI) FOR(j, NL) {
    G[i][j] = 0;
    FOR(k, NJ) G[i][j] += E[i][k] * F[k][j];
  }
}
#elif defined(POLYBENCH_atax)
void plain(const double A[restrict M][N], const double x[restrict N], double y[restrict N]) {
  FOR(j, N) y[j] = 0;
  FOR(i, M) {
    double t = 0;
    FOR(j, N) t += A[i][j] * x[j];
    FOR(j, N) y[j] += A[i][j] * t;
  }
}
#elif defined(POLYBENCH_bicg)
void plain(const double A[restrict N][M], const double p[restrict M], const double r[restrict N], double s[restrict M],
           double q[restrict N]) {
  FOR(j, M) s[j] = 0;
  FOR(i, N) {
    q[i] = 0;
    FOR(j, M) {
      s[j] += r[i] * A[i][j];
      q[i] += A[i][j] * p[j];
    }
  }
}
#elif defined(POLYBENCH_doitgen)
void plain(const double A0[restrict NR][NQ][NP], const double C4[restrict NP][NP], double A[restrict NR][NQ][NP]) {
  FOR(r, NR) FOR(q, NQ) FOR(p, NP) {
    A[r][q][p] = 0;
    FOR(s, NP) A[r][q][p] += A0[r][q][s] * C4[s][p];
  }
}
#elif defined(POLYBENCH_mvt)
void plain(const double x1_0[restrict N], const double x2_0[restrict N], const double y_1[restrict N],
           const double y_2[restrict N], const double A[restrict N][N], double x1[restrict N], double x2[restrict N]) {
  FOR(i, N) {
    x1[i] = x1_0[i];
    FOR(j, N) x1[i] += A[i][j] * y_1[j];
  }
  FOR(i, N) {
    x2[i] = x2_0[i];
    FOR(j, N) x2[i] += A[j][i] * y_2[j];
  }
}
#elif defined(POLYBENCH_cholesky)
void plain(const double A0[restrict N][N], double A[restrict N][N]) {
  FOR(i, N) memcpy(A[i], A0[i], sizeof(double) * (i + 1));
  FOR(i, N) {
    FOR(j, i) {
      FOR(k, j) A[i][j] -= A[i][k] * A[j][k];
      A[i][j] /= A[j][j];
    }
    FOR(k, i) A[i][i] -= A[i][k] * A[i][k];
    A[i][i] = sqrt(A[i][i]);
  }
}
#elif defined(POLYBENCH_durbin)
static double z[N];
void plain(const double r[restrict N], double y[restrict N]) {
  double alpha = -r[0], beta = 1;
  y[0] = alpha;
  for (int k = 1; k < N; k++) {
    double sum = 0;
    beta *= 1 - alpha * alpha;
    FOR(i, k) sum += r[k - i - 1] * y[i];
    alpha = -(r[k] + sum) / beta;
    FOR(i, k) z[i] = y[i] + alpha * y[k - i - 1];
    FOR(i, k) y[i] = z[i];
    y[k] = alpha;
  }
}
#elif defined(POLYBENCH_gramschmidt)
static double A[M][N];
void plain(const double A0[restrict M][N], double R[restrict N][N], double Q[restrict M][N]) {
  memcpy(A, A0, sizeof A);
  FOR(k, N) {
    double squares = 0;
    FOR(i, M) squares += A[i][k] * A[i][k];
    R[k][k] = sqrt(squares);
    FOR(i, M) Q[i][k] = A[i][k] / R[k][k];
    for (int j = k + 1; j < N; j++) {
      R[k][j] = 0;
      FOR(i, M) R[k][j] += Q[i][k] * A[i][j];
      FOR(i, M) A[i][j] -= Q[i][k] * R[k][j];
    }
  }
}
#elif defined(POLYBENCH_lu) || defined(POLYBENCH_ludcmp)
static void factor(double A[restrict N][N]) {
  FOR(i, N) {
    FOR(j, i) {
      FOR(k, j) A[i][j] -= A[i][k] * A[k][j];
      A[i][j] /= A[j][j];
    }
    for (int j = i; j < N; j++) FOR(k, i) A[i][j] -= A[i][k] * A[k][j];
  }
}
#if defined(POLYBENCH_lu)
void plain(const double A0[restrict N][N], double A[restrict N][N]) {
  memcpy(A, A0, sizeof(double) * N * N);
  factor(A);
}
#else
static double A[N][N], y[N];
void plain(const double A0[restrict N][N], const double b[restrict N], double x[restrict N]) {
  memcpy(A, A0, sizeof A);
  factor(A);
  FOR(i, N) {
    y[i] = b[i];
    FOR(j, i) y[i] -= A[i][j] * y[j];
  }
  for (int i = N - 1; i >= 0; i--) {
    x[i] = y[i];
    for (int j = i + 1; j < N; j++) x[i] -= A[i][j] * x[j];
    x[i] /= A[i][i];
  }
}
#endif
#elif defined(POLYBENCH_trisolv)
void plain(const double L[restrict N][N], const double b[restrict N], double x[restrict N]) {
  FOR(i, N) {
    x[i] = b[i];
    FOR(j, i) x[i] -= L[i][j] * x[j];
    x[i] /= L[i][i];
  }
}
#elif defined(POLYBENCH_deriche)
static double forward[W][H], backward[W][H];
void plain(const double* alpha, const double imgIn[restrict W][H], double imgOut[restrict W][H]) {
  const double e = exp(-*alpha), k = (1 - e) * (1 - e) / (1 + 2 * *alpha * e - exp(2 * *alpha));
  const double a1 = k, a2 = k * e * (*alpha - 1), a3 = k * e * (*alpha + 1), a4 = -k * exp(-2 * *alpha),
               b1 = pow(2, -*alpha), b2 = -exp(-2 * *alpha);
  FOR(i, W) {
    double x1 = 0, p1 = 0, p2 = 0;
    FOR(j, H) {
      forward[i][j] = a1 * imgIn[i][j] + a2 * x1 + b1 * p1 + b2 * p2;
      x1 = imgIn[i][j];
      p2 = p1;
      p1 = forward[i][j];
    }
  }
  FOR(i, W) {
    double x1 = 0, x2 = 0, p1 = 0, p2 = 0;
    for (int j = H - 1; j >= 0; j--) {
      backward[i][j] = a3 * x1 + a4 * x2 + b1 * p1 + b2 * p2;
      x2 = x1;
      x1 = imgIn[i][j];
      p2 = p1;
      p1 = backward[i][j];
    }
  }
  FOR(i, W) FOR(j, H) imgOut[i][j] = forward[i][j] + backward[i][j];
  FOR(j, H) {
    double x1 = 0, p1 = 0, p2 = 0;
    FOR(i, W) {
      forward[i][j] = a1 * imgOut[i][j] + a2 * x1 + b1 * p1 + b2 * p2;
      x1 = imgOut[i][j];
      p2 = p1;
      p1 = forward[i][j];
    }
  }
  FOR(j, H) {
    double x1 = 0, x2 = 0, p1 = 0, p2 = 0;
    for (int i = W - 1; i >= 0; i--) {
      backward[i][j] = a3 * x1 + a4 * x2 + b1 * p1 + b2 * p2;
      x2 = x1;
      x1 = imgOut[i][j];
      p2 = p1;
      p1 = backward[i][j];
    }
  }
  FOR(i, W) FOR(j, H) imgOut[i][j] = forward[i][j] + backward[i][j];
}
#elif defined(POLYBENCH_floyd_warshall)
void plain(const int path0[restrict N][N], int path[restrict N][N]) {
  memcpy(path, path0, sizeof(int) * N * N);
  FOR(k, N)
  FOR(i, N) FOR(j, N) path[i][j] = path[i][j] < path[i][k] + path[k][j] ? path[i][j] : path[i][k] + path[k][j];
}
#elif defined(POLYBENCH_nussinov)
static int larger(int a, int b) {
  return a > b ? a : b;
}
void plain(const int seq[restrict N], int table[restrict N][N]) {
  for (int i = N - 1; i >= 0; i--) {
    table[i][i] = 0;
    for (int j = i + 1; j < N; j++) {
      table[i][j] = larger(table[i][j - 1], table[i + 1][j]);
      if (i < j - 1) table[i][j] = larger(table[i][j], table[i + 1][j - 1] + (seq[i] + seq[j] == 3));
      for (int k = i + 1; k < j; k++) table[i][j] = larger(table[i][j], table[i][k] + table[k + 1][j]);
    }
  }
}
#elif defined(POLYBENCH_adi)
static double v[N][N], p[N][N], q[N][N];
void plain(const double u0[restrict N][N], double u[restrict N][N]) {
  memcpy(u, u0, sizeof(double) * N * N);
  const double DX = 1.0 / N, DT = 1.0 / TSTEPS;
  const double a = -(2 * DT / (DX * DX)) / 2, b = 1 + 2 * DT / (DX * DX), c = a, d = -(DT / (DX * DX)) / 2,
               e = 1 + DT / (DX * DX), f = d;
  FOR(t, TSTEPS) {
    INNER(i, N) {
      v[0][i] = 1;
      p[i][0] = 0;
      q[i][0] = v[0][i];
      INNER(j, N) {
        p[i][j] = -c / (a * p[i][j - 1] + b);
        q[i][j] =
            (-d * u[j][i - 1] + (1 + 2 * d) * u[j][i] - f * u[j][i + 1] - a * q[i][j - 1]) / (a * p[i][j - 1] + b);
      }
      v[N - 1][i] = 1;
      for (int j = N - 2; j >= 1; j--) v[j][i] = p[i][j] * v[j + 1][i] + q[i][j];
    }
    INNER(i, N) {
      u[i][0] = 1;
      p[i][0] = 0;
      q[i][0] = u[i][0];
      INNER(j, N) {
        p[i][j] = -f / (d * p[i][j - 1] + e);
        q[i][j] =
            (-a * v[i - 1][j] + (1 + 2 * a) * v[i][j] - c * v[i + 1][j] - d * q[i][j - 1]) / (d * p[i][j - 1] + e);
      }
      u[i][N - 1] = 1;
      for (int j = N - 2; j >= 1; j--) u[i][j] = p[i][j] * u[i][j + 1] + q[i][j];
    }
  }
}
#elif defined(POLYBENCH_fdtd_2d)
void plain(const double ex0[restrict NX][NY], const double ey0[restrict NX][NY], const double hz0[restrict NX][NY],
           const double fict[restrict TMAX], double ex[restrict NX][NY], double ey[restrict NX][NY],
           double hz[restrict NX][NY]) {
  memcpy(ex, ex0, sizeof(double) * NX * NY);
  memcpy(ey, ey0, sizeof(double) * NX * NY);
  memcpy(hz, hz0, sizeof(double) * NX * NY);
  FOR(t, TMAX) {
    FOR(j, NY) ey[0][j] = fict[t];
    for (int i = 1; i < NX; i++) FOR(j, NY) ey[i][j] -= 0.5 * (hz[i][j] - hz[i - 1][j]);
    FOR(i, NX) for (int j = 1; j < NY; j++) ex[i][j] -= 0.5 * (hz[i][j] - hz[i][j - 1]);
    FOR(i, NX - 1) FOR(j, NY - 1) hz[i][j] -= 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
  }
}
#elif defined(POLYBENCH_heat_3d)
static double B[N][N][N];
#define SWEEP(to, from)                                                                             \
  INNER(i, N)                                                                                       \
  INNER(j, N)                                                                                       \
  INNER(k, N) to[i][j][k] = 0.125 * (from[i + 1][j][k] - 2.0 * from[i][j][k] + from[i - 1][j][k]) + \
                            0.125 * (from[i][j + 1][k] - 2.0 * from[i][j][k] + from[i][j - 1][k]) + \
                            0.125 * (from[i][j][k + 1] - 2.0 * from[i][j][k] + from[i][j][k - 1]) + from[i][j][k]
void plain(const double A0[restrict N][N][N], const double B0[restrict N][N][N], double A[restrict N][N][N]) {
  memcpy(A, A0, sizeof B);
  memcpy(B, B0, sizeof B);
  FOR(t, TSTEPS) {
    SWEEP(B, A);
    SWEEP(A, B);
  }
}
#elif defined(POLYBENCH_jacobi_1d)
static double B[N];
void plain(const double A0[restrict N], const double B0[restrict N], double A[restrict N]) {
  memcpy(A, A0, sizeof B);
  memcpy(B, B0, sizeof B);
  FOR(t, TSTEPS) {
    INNER(i, N) B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1]);
    INNER(i, N) A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1]);
  }
}
#elif defined(POLYBENCH_jacobi_2d)
static double B[N][N];
void plain(const double A0[restrict N][N], const double B0[restrict N][N], double A[restrict N][N]) {
  memcpy(A, A0, sizeof B);
  memcpy(B, B0, sizeof B);
  FOR(t, TSTEPS) {
    INNER(i, N) INNER(j, N) B[i][j] = 0.2 * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + A[i - 1][j]);
    INNER(i, N) INNER(j, N) A[i][j] = 0.2 * (B[i][j] + B[i][j - 1] + B[i][j + 1] + B[i + 1][j] + B[i - 1][j]);
  }
}
#elif defined(POLYBENCH_seidel_2d)
void plain(const double A0[restrict N][N], double A[restrict N][N]) {
  memcpy(A, A0, sizeof(double) * N * N);
  FOR(t, TSTEPS)
  INNER(i, N)
  INNER(j, N)
  A[i][j] = (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] + A[i][j - 1] + A[i][j] + A[i][j + 1] + A[i + 1][j - 1] +
             A[i + 1][j] + A[i + 1][j + 1]) /
            9.0;
}
#endif
