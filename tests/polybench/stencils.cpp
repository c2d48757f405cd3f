// Stencils in time, alternating directions and recursive filters.
#include <cmath>

#include "polybench/kernels.h"

namespace polyweft::polybench {
namespace {

struct Filter {
  double here, before, after, after2, back1,
      back2;  ///< `here`, `before` of the forward pass, `after`s of the backward pass
};

Filter deriche_filter(double alpha) {
  const double decay = std::exp(-alpha);
  const double k = (1 - decay) * (1 - decay) / (1 + 2 * alpha * decay - std::exp(2 * alpha));
  return {k,
          k * decay * (alpha - 1),
          k * decay * (alpha + 1),
          -k * std::exp(-2 * alpha),
          std::pow(2.0, -alpha),
          -std::exp(-2 * alpha)};
}

/// One line of n pixels, `step` apart: forward plus backward pass.
void filter_line(const Filter& f, const double* in, double* out, int64_t n, int64_t step) {
  std::vector<double> forward(static_cast<size_t>(n));
  double x1 = 0, y1 = 0, y2 = 0;
  for (int64_t j = 0; j < n; ++j) {
    const double x = in[j * step];
    forward[j] = f.here * x + f.before * x1 + f.back1 * y1 + f.back2 * y2;
    x1 = x;
    y2 = y1;
    y1 = forward[j];
  }
  x1 = y1 = y2 = 0;
  double x2 = 0;
  for (int64_t j = n - 1; j >= 0; --j) {
    const double y = f.after * x1 + f.after2 * x2 + f.back1 * y1 + f.back2 * y2;
    x2 = x1;
    x1 = in[j * step];
    y2 = y1;
    y1 = y;
    out[j * step] = forward[j] + y;
  }
}

void make_smooth(Arrays& a) {
  a.values["alpha"] = {0.25};
}

void deriche(Arrays& a) {
  const int64_t w = a["W"], h = a["H"];
  const Filter f = deriche_filter(a.scalar("alpha"));
  const Grid in = a.grid("imgIn", w, h), rows = a.grid("rows", w, h), out = a.grid("imgOut", w, h);
  for (int64_t i = 0; i < w; ++i) filter_line(f, &in(i, 0), &rows(i, 0), h, 1);
  for (int64_t j = 0; j < h; ++j) filter_line(f, &rows(0, j), &out(0, j), w, h);
}

/// One tridiagonal system: factors lo, mid, up, right-hand side rhs, ends 1; x(0 .. n-1).
template <typename RightHandSide, typename Solution>
void solve_line(double lo, double mid, double up, int64_t n, RightHandSide rhs, Solution x) {
  std::vector<double> p(static_cast<size_t>(n)), q(static_cast<size_t>(n));
  p[0] = 0;
  q[0] = 1;
  for (int64_t j = 1; j + 1 < n; ++j) {
    const double pivot = lo * p[j - 1] + mid;
    p[j] = -up / pivot;
    q[j] = (rhs(j) - lo * q[j - 1]) / pivot;
  }
  x(0) = x(n - 1) = 1;
  for (int64_t j = n - 2; j >= 1; --j) x(j) = p[j] * x(j + 1) + q[j];
}

void adi(Arrays& arrays) {
  const int64_t steps = arrays["TSTEPS"], n = arrays["N"];
  const Grid u = arrays.copy("u0", "u_out", n, n), v = arrays.grid("v", n, n);
  const double dx = 1.0 / static_cast<double>(n), dt = 1.0 / static_cast<double>(steps);
  const double a = -(2 * dt / (dx * dx)) / 2, b = 1 - 2 * a, d = -(dt / (dx * dx)) / 2, e = 1 - 2 * d;
  for (int64_t t = 0; t < steps; ++t) {
    for (int64_t i = 1; i + 1 < n; ++i)
      solve_line(
          a, b, a, n, [&](int64_t j) { return -d * u(j, i - 1) + (1 + 2 * d) * u(j, i) - d * u(j, i + 1); },
          [&](int64_t j) -> double& { return v(j, i); });
    for (int64_t i = 1; i + 1 < n; ++i)
      solve_line(
          d, e, d, n, [&](int64_t j) { return -a * v(i - 1, j) + (1 + 2 * a) * v(i, j) - a * v(i + 1, j); },
          [&](int64_t j) -> double& { return u(i, j); });
  }
}

void fdtd_2d(Arrays& a) {
  const int64_t steps = a["TMAX"], nx = a["NX"], ny = a["NY"];
  const Grid ex = a.copy("ex0", "ex_out", nx, ny), ey = a.copy("ey0", "ey_out", nx, ny),
             hz = a.copy("hz0", "hz_out", nx, ny), drive = a.grid("fict", steps);
  for (int64_t t = 0; t < steps; ++t) {
    for (int64_t i = 0; i < nx; ++i)
      for (int64_t j = 0; j < ny; ++j) {
        ey(i, j) = i == 0 ? drive(t) : ey(i, j) - 0.5 * (hz(i, j) - hz(i - 1, j));
        if (j > 0) ex(i, j) -= 0.5 * (hz(i, j) - hz(i, j - 1));
      }
    for (int64_t i = 0; i + 1 < nx; ++i)
      for (int64_t j = 0; j + 1 < ny; ++j) hz(i, j) -= 0.7 * (ex(i, j + 1) - ex(i, j) + ey(i + 1, j) - ey(i, j));
  }
}

double second_difference(double before, double here, double after) {
  return 0.125 * (after - 2.0 * here + before);
}
void heat_sweep(const Grid& to, const Grid& from, int64_t n) {
  for (int64_t i = 1; i + 1 < n; ++i)
    for (int64_t j = 1; j + 1 < n; ++j)
      for (int64_t k = 1; k + 1 < n; ++k) {
        const double here = from(i, j, k);
        to(i, j, k) = second_difference(from(i - 1, j, k), here, from(i + 1, j, k)) +
                      second_difference(from(i, j - 1, k), here, from(i, j + 1, k)) +
                      second_difference(from(i, j, k - 1), here, from(i, j, k + 1)) + here;
      }
}
void heat_3d(Arrays& arrays) {
  const int64_t n = arrays["N"];
  const Grid a = arrays.copy("A0", "A_out", n, n, n), b = arrays.copy("B0", "B", n, n, n);
  for (int64_t t = 0; t < arrays["TSTEPS"]; ++t) {
    heat_sweep(b, a, n);
    heat_sweep(a, b, n);
  }
}

void line_sweep(const Grid& to, const Grid& from, int64_t n) {
  for (int64_t i = 1; i + 1 < n; ++i) to(i) = 0.33333 * (from(i - 1) + from(i) + from(i + 1));
}
void jacobi_1d(Arrays& arrays) {
  const int64_t n = arrays["N"];
  const Grid a = arrays.copy("A0", "A_out", n), b = arrays.copy("B0", "B", n);
  for (int64_t t = 0; t < arrays["TSTEPS"]; ++t) {
    line_sweep(b, a, n);
    line_sweep(a, b, n);
  }
}

void plane_sweep(const Grid& to, const Grid& from, int64_t n) {
  for (int64_t i = 1; i + 1 < n; ++i)
    for (int64_t j = 1; j + 1 < n; ++j)
      to(i, j) = 0.2 * (from(i, j) + from(i, j - 1) + from(i, j + 1) + from(i + 1, j) + from(i - 1, j));
}
void jacobi_2d(Arrays& arrays) {
  const int64_t n = arrays["N"];
  const Grid a = arrays.copy("A0", "A_out", n, n), b = arrays.copy("B0", "B", n, n);
  for (int64_t t = 0; t < arrays["TSTEPS"]; ++t) {
    plane_sweep(b, a, n);
    plane_sweep(a, b, n);
  }
}

void seidel_2d(Arrays& arrays) {
  const int64_t n = arrays["N"];
  const Grid a = arrays.copy("A0", "A_out", n, n);
  for (int64_t t = 0; t < arrays["TSTEPS"]; ++t)
    for (int64_t i = 1; i + 1 < n; ++i)
      for (int64_t j = 1; j + 1 < n; ++j) {
        double sum = 0;
        for (int64_t r = i - 1; r <= i + 1; ++r) sum += a(r, j - 1) + a(r, j) + a(r, j + 1);
        a(i, j) = sum / 9.0;
      }
}

}  // namespace

std::vector<Kernel> stencil_kernels() {
  return {{"deriche", deriche, make_smooth},
          {"adi", adi},
          {"fdtd_2d", fdtd_2d},
          {"heat_3d", heat_3d},
          {"jacobi_1d", jacobi_1d},
          {"jacobi_2d", jacobi_2d},
          {"seidel_2d", seidel_2d}};
}

}  // namespace polyweft::polybench
