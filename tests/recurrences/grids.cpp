// Waves, relaxation in two colours, a two-grid cycle.
#include <cmath>

#include "recurrences/oracles.h"

namespace polyweft::recurrences {
namespace {

using polybench::Arrays;
using polybench::Grid;

double neighbours(const Grid& u, int64_t i, int64_t j) {
  return u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1);
}

/// Two planes that take turns.
void wave_2d(Arrays& a) {
  const int64_t steps = a["T"], n = a["N"];
  a.copy("before", "old", n, n);
  a.copy("start", "now", n, n);
  const Grid speed = a.grid("speed", n, n);
  for (int64_t t = 0; t < steps; ++t) {
    const Grid old = a.grid("old", n, n), now = a.grid("now", n, n);
    for (int64_t i = 1; i + 1 < n; ++i)
      for (int64_t j = 1; j + 1 < n; ++j)
        old(i, j) = 2 * now(i, j) - old(i, j) + speed(i, j) * (neighbours(now, i, j) - 4 * now(i, j));
    if (t == 0)
      for (int64_t i = 0; i < n; ++i)
        for (const int64_t end : {int64_t{0}, n - 1}) old(i, end) = now(i, end), old(end, i) = now(end, i);
    a.values.at("old").swap(a.values.at("now"));
  }
}

void make_slow(Arrays& a) {
  for (double& s : a.values.at("speed")) s = 0.25 * std::abs(s);
}

void red_black(Arrays& a) {
  const int64_t sweeps = a["T"], n = a["N"];
  const Grid f = a.grid("F", n, n), u = a.copy("U0", "U", n, n);
  for (int64_t t = 0; t < sweeps; ++t)
    for (const int64_t colour : {0, 1})
      for (int64_t i = 1; i + 1 < n; ++i)
        for (int64_t j = 1 + (i + 1 + colour) % 2; j + 1 < n; j += 2) u(i, j) = 0.25 * (neighbours(u, i, j) + f(i, j));
}

/// Damped Jacobi: u + 0.2 (f - A u), the borders stay. u and f are n x n.
void relax(std::vector<double>& values, const std::vector<double>& right, int64_t n, int64_t sweeps) {
  for (int64_t s = 0; s < sweeps; ++s) {
    std::vector<double> old = values, f = right;
    const Grid u(old, n, 1), next(values, n, 1), rhs(f, n, 1);
    for (int64_t i = 1; i + 1 < n; ++i)
      for (int64_t j = 1; j + 1 < n; ++j)
        next(i, j) = u(i, j) + 0.2 * (rhs(i, j) - (4 * u(i, j) - neighbours(u, i, j)));
  }
}

void multigrid(Arrays& a) {
  const int64_t sweeps = a["S"], m = a["M"], n = 2 * m + 1, coarse = m + 1;
  std::vector<double> u = a.values.at("U0"), f = a.values.at("F");
  relax(u, f, n, sweeps);
  // Scattered: a fine point gives what the weights say to the coarse points around it.
  std::vector<double> residuals(static_cast<size_t>(coarse * coarse)), error(residuals.size());
  const Grid fine(u, n, 1), right(f, n, 1), rc(residuals, coarse, 1), e(error, coarse, 1);
  for (int64_t i = 1; i + 1 < n; ++i)
    for (int64_t j = 1; j + 1 < n; ++j) {
      const double r = right(i, j) - (4 * fine(i, j) - neighbours(fine, i, j));
      for (int64_t ci = i / 2; ci <= (i + 1) / 2; ++ci)
        for (int64_t cj = j / 2; cj <= (j + 1) / 2; ++cj) rc(ci, cj) += (i % 2 ? 0.25 : 0.5) * (j % 2 ? 0.25 : 0.5) * r;
    }
  for (double& r : residuals) r *= 4;
  relax(error, residuals, coarse, 2 * sweeps);
  for (int64_t ci = 0; ci < coarse; ++ci)
    for (int64_t cj = 0; cj < coarse; ++cj)
      for (int64_t di = -1; di <= 1; ++di)
        for (int64_t dj = -1; dj <= 1; ++dj)
          if (const int64_t i = 2 * ci + di, j = 2 * cj + dj; i >= 0 && i < n && j >= 0 && j < n)
            fine(i, j) += (di ? 0.5 : 1.0) * (dj ? 0.5 : 1.0) * e(ci, cj);
  relax(u, f, n, sweeps);
  // The borders are what they were: with S > 0 the program says so; the correction is 0 there anyway.
  a.values["U"] = u;
}

}  // namespace

std::vector<polybench::Kernel> grid_kernels() {
  const char* here = "recurrences";
  return {{"wave_2d", wave_2d, make_slow, nullptr, here},
          {"red_black", red_black, nullptr, nullptr, here},
          {"multigrid", multigrid, nullptr, nullptr, here}};
}

}  // namespace polyweft::recurrences
