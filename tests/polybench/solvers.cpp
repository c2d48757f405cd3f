// Factorizations, triangular systems and dynamic programming.
#include <algorithm>
#include <cmath>

#include "polybench/kernels.h"

namespace polyweft::polybench {
namespace {

/// Random values in [-1, 1) with this added to the diagonal.
void add_to_diagonal(Arrays& a, const std::string& name, int64_t n, double value) {
  const Grid matrix = a.grid(name, n, n);
  for (int64_t i = 0; i < n; ++i) matrix(i, i) += value;
}
void make_dominant(Arrays& a) {
  add_to_diagonal(a, "A0", a["N"], static_cast<double>(a["N"]) + 1);
}
void make_positive_definite(Arrays& a) {
  const int64_t n = a["N"];
  const Grid matrix = a.grid("A0", n, n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j) matrix(j, i) = matrix(i, j);
  make_dominant(a);
}

void cholesky(Arrays& a) {
  const int64_t n = a["N"];
  const Grid m = a.copy("A0", "A", n, n);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) {
      for (int64_t k = 0; k < j; ++k) m(i, j) -= m(i, k) * m(j, k);
      m(i, j) /= m(j, j);
    }
    for (int64_t k = 0; k < i; ++k) m(i, i) -= m(i, k) * m(i, k);
    m(i, i) = std::sqrt(m(i, i));
  }
}

void make_decaying(Arrays& a) {
  const int64_t n = a["N"];
  const Grid r = a.grid("r", n);
  for (int64_t i = 0; i < n; ++i) r(i) *= 0.4 / static_cast<double>((i + 1) * (i + 1));
}

void durbin(Arrays& a) {
  const int64_t n = a["N"];
  const Grid r = a.grid("r", n), y = a.grid("y_out", n);
  double alpha = -r(0), beta = 1;
  y(0) = alpha;
  std::vector<double> next(static_cast<size_t>(n));
  for (int64_t k = 1; k < n; ++k) {
    beta *= 1 - alpha * alpha;
    double sum = r(k);
    for (int64_t i = 0; i < k; ++i) sum += r(k - i - 1) * y(i);
    alpha = -sum / beta;
    for (int64_t i = 0; i < k; ++i) next[i] = y(i) + alpha * y(k - i - 1);
    std::copy_n(next.begin(), k, &y(0));
    y(k) = alpha;
  }
}

/// More columns than rows leave columns of nothing but rounding errors.
void as_many_rows_as_columns(std::map<std::string, int64_t>& sizes) {
  sizes["M"] = std::max(sizes["M"], sizes["N"] + 1);
}

void gramschmidt(Arrays& a) {
  const int64_t m = a["M"], n = a["N"];
  const Grid v = a.copy("A0", "A", m, n), r = a.grid("R", n, n), q = a.grid("Q", m, n);
  for (int64_t k = 0; k < n; ++k) {
    double squares = 0;
    for (int64_t i = 0; i < m; ++i) squares += v(i, k) * v(i, k);
    r(k, k) = std::sqrt(squares);
    for (int64_t i = 0; i < m; ++i) q(i, k) = v(i, k) / r(k, k);
    for (int64_t j = k + 1; j < n; ++j) {
      for (int64_t i = 0; i < m; ++i) r(k, j) += q(i, k) * v(i, j);
      for (int64_t i = 0; i < m; ++i) v(i, j) -= q(i, k) * r(k, j);
    }
  }
}

/// Right-looking: what row k changes is changed at once, in place.
void eliminate(const Grid& m, int64_t n) {
  for (int64_t k = 0; k < n; ++k)
    for (int64_t i = k + 1; i < n; ++i) {
      m(i, k) /= m(k, k);
      for (int64_t j = k + 1; j < n; ++j) m(i, j) -= m(i, k) * m(k, j);
    }
}

void lu(Arrays& a) {
  const int64_t n = a["N"];
  eliminate(a.copy("A0", "A", n, n), n);
}

void ludcmp(Arrays& a) {
  const int64_t n = a["N"];
  const Grid m = a.copy("A0", "A", n, n), x = a.copy("b", "x", n);
  eliminate(m, n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j) x(i) -= m(i, j) * x(j);
  for (int64_t i = n - 1; i >= 0; --i) {
    for (int64_t j = i + 1; j < n; ++j) x(i) -= m(i, j) * x(j);
    x(i) /= m(i, i);
  }
}

void make_solvable(Arrays& a) {
  add_to_diagonal(a, "L", a["N"], static_cast<double>(a["N"]) + 1);
}

void trisolv(Arrays& a) {
  const int64_t n = a["N"];
  const Grid l = a.grid("L", n, n), x = a.copy("b", "x", n);
  for (int64_t j = 0; j < n; ++j) {
    x(j) /= l(j, j);
    for (int64_t i = j + 1; i < n; ++i) x(i) -= l(i, j) * x(j);
  }
}

void make_lengths(Arrays& a) {
  for (double& length : a.values["path0"]) length = 1 + std::fmod(std::abs(length), 1000);
}

void floyd_warshall(Arrays& a) {
  const int64_t n = a["N"];
  const Grid path = a.copy("path0", "path_out", n, n);
  for (int64_t k = 0; k < n; ++k)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) path(i, j) = std::min(path(i, j), path(i, k) + path(k, j));
}

void nussinov(Arrays& a) {
  const int64_t n = a["N"];
  const Grid seq = a.grid("seq", n), table = a.grid("table", n, n);
  for (int64_t i = n - 1; i >= 0; --i)
    for (int64_t j = i + 1; j < n; ++j) {
      double best = std::max(table(i, j - 1), table(i + 1, j));
      if (i + 1 < j) best = std::max(best, table(i + 1, j - 1) + (seq(i) + seq(j) == 3 ? 1 : 0));
      for (int64_t k = i + 1; k < j; ++k) best = std::max(best, table(i, k) + table(k + 1, j));
      table(i, j) = best;
    }
}

}  // namespace

std::vector<Kernel> solver_kernels() {
  return {{"cholesky", cholesky, make_positive_definite},
          {"durbin", durbin, make_decaying},
          {"gramschmidt", gramschmidt, nullptr, as_many_rows_as_columns},
          {"lu", lu, make_dominant},
          {"ludcmp", ludcmp, make_dominant},
          {"trisolv", trisolv, make_solvable},
          {"floyd_warshall", floyd_warshall, make_lengths},
          {"nussinov", nussinov}};
}

}  // namespace polyweft::polybench
