// Statistics and products: correlation, covariance, the BLAS-like kernels and chains of them.
#include <algorithm>
#include <cmath>

#include "polybench/kernels.h"

namespace polyweft::polybench {
namespace {

std::vector<double> column_means(const Grid& data, int64_t rows, int64_t columns) {
  std::vector<double> mean(static_cast<size_t>(columns), 0.0);
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) mean[j] += data(i, j);
    mean[j] /= static_cast<double>(rows);
  }
  return mean;
}

void correlation(Arrays& a) {
  const int64_t m = a["M"], n = a["N"];
  const Grid data = a.copy("data0", "data", n, m), corr = a.grid("corr", m, m);
  const auto mean = column_means(data, n, m);
  for (int64_t j = 0; j < m; ++j) {
    double squares = 0;
    for (int64_t i = 0; i < n; ++i) squares += (data(i, j) - mean[j]) * (data(i, j) - mean[j]);
    double stddev = std::sqrt(squares / static_cast<double>(n));
    if (stddev <= 0.1) stddev = 1;
    for (int64_t i = 0; i < n; ++i) data(i, j) = (data(i, j) - mean[j]) / (std::sqrt(static_cast<double>(n)) * stddev);
  }
  for (int64_t i = 0; i < m; ++i) {
    corr(i, i) = 1;
    for (int64_t j = i + 1; j < m; ++j) {
      for (int64_t k = 0; k < n; ++k) corr(i, j) += data(k, i) * data(k, j);
      corr(j, i) = corr(i, j);
    }
  }
}

void two_rows_at_least(std::map<std::string, int64_t>& sizes) {
  sizes["N"] = std::max<int64_t>(sizes["N"], 2);
}

void covariance(Arrays& a) {
  const int64_t m = a["M"], n = a["N"];
  const Grid data = a.copy("data0", "data", n, m), cov = a.grid("cov", m, m);
  const auto mean = column_means(data, n, m);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) data(i, j) -= mean[j];
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = i; j < m; ++j) {
      for (int64_t k = 0; k < n; ++k) cov(i, j) += data(k, i) * data(k, j);
      cov(i, j) /= static_cast<double>(n) - 1.0;
      cov(j, i) = cov(i, j);
    }
}

/// C += factor * A B
void add_product(const Grid& c, double factor, const Grid& a, const Grid& b, int64_t rows, int64_t columns,
                 int64_t depth) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t j = 0; j < columns; ++j) c(i, j) += factor * a(i, k) * b(k, j);
}
void scale(const Grid& c, double factor, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) c(i, j) *= factor;
}

void gemm(Arrays& a) {
  const int64_t ni = a["NI"], nj = a["NJ"], nk = a["NK"];
  const Grid c = a.copy("C0", "C", ni, nj);
  scale(c, a.scalar("beta"), ni, nj);
  add_product(c, a.scalar("alpha"), a.grid("A", ni, nk), a.grid("B", nk, nj), ni, nj, nk);
}

void two_products(Arrays& a) {
  const int64_t ni = a["NI"], nj = a["NJ"], nk = a["NK"], nl = a["NL"];
  const Grid tmp = a.grid("tmp", ni, nj), d = a.copy("D0", "D", ni, nl);
  add_product(tmp, a.scalar("alpha"), a.grid("A", ni, nk), a.grid("B", nk, nj), ni, nj, nk);
  scale(d, a.scalar("beta"), ni, nl);
  add_product(d, 1, tmp, a.grid("C", nj, nl), ni, nl, nj);
}

void three_products(Arrays& a) {
  const int64_t ni = a["NI"], nj = a["NJ"], nk = a["NK"], nl = a["NL"], nm = a["NM"];
  const Grid e = a.grid("E", ni, nj), f = a.grid("F", nj, nl);
  add_product(e, 1, a.grid("A", ni, nk), a.grid("B", nk, nj), ni, nj, nk);
  add_product(f, 1, a.grid("C", nj, nm), a.grid("D", nm, nl), nj, nl, nm);
  add_product(a.grid("G", ni, nl), 1, e, f, ni, nl, nj);
}

void gemver(Arrays& a) {
  const int64_t n = a["N"];
  const double alpha = a.scalar("alpha"), beta = a.scalar("beta");
  const Grid m = a.copy("A0", "A", n, n), u1 = a.grid("u1", n), v1 = a.grid("v1", n), u2 = a.grid("u2", n),
             v2 = a.grid("v2", n);
  const Grid x = a.grid("x", n), y = a.grid("y", n), z = a.grid("z", n), w = a.grid("w", n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) m(i, j) += u1(i) * v1(j) + u2(i) * v2(j);
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < n; ++i) x(i) += beta * m(j, i) * y(j);
  for (int64_t i = 0; i < n; ++i) x(i) += z(i);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) w(i) += alpha * m(i, j) * x(j);
}

void gesummv(Arrays& a) {
  const int64_t n = a["N"];
  const Grid m = a.grid("A", n, n), b = a.grid("B", n, n), x = a.grid("x", n), y = a.grid("y", n);
  for (int64_t i = 0; i < n; ++i) {
    double first = 0, second = 0;
    for (int64_t j = 0; j < n; ++j) {
      first += m(i, j) * x(j);
      second += b(i, j) * x(j);
    }
    y(i) = a.scalar("alpha") * first + a.scalar("beta") * second;
  }
}

void symm(Arrays& a) {
  const int64_t m = a["M"], n = a["N"];
  const Grid lower = a.grid("A", m, m), b = a.grid("B", m, n), c = a.copy("C0", "C", m, n);
  scale(c, a.scalar("beta"), m, n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t k = 0; k <= i; ++k)
      for (int64_t j = 0; j < n; ++j) {
        c(i, j) += a.scalar("alpha") * lower(i, k) * b(k, j);
        if (k < i) c(k, j) += a.scalar("alpha") * lower(i, k) * b(i, j);  // the mirrored element
      }
}

void syr2k(Arrays& a) {
  const int64_t m = a["M"], n = a["N"];
  const Grid x = a.grid("A", n, m), y = a.grid("B", n, m), c = a.copy("C0", "C", n, n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      c(i, j) *= a.scalar("beta");
      for (int64_t k = 0; k < m; ++k) c(i, j) += a.scalar("alpha") * (x(j, k) * y(i, k) + y(j, k) * x(i, k));
    }
}

void syrk(Arrays& a) {
  const int64_t m = a["M"], n = a["N"];
  const Grid x = a.grid("A", n, m), c = a.copy("C0", "C", n, n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      c(i, j) *= a.scalar("beta");
      for (int64_t k = 0; k < m; ++k) c(i, j) += a.scalar("alpha") * x(i, k) * x(j, k);
    }
}

void trmm(Arrays& a) {
  const int64_t m = a["M"], n = a["N"];
  const Grid lower = a.grid("A", m, m), b = a.copy("B0", "B", m, n);
  for (int64_t i = 0; i < m; ++i)  // row i needs the old rows below it
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t k = i + 1; k < m; ++k) b(i, j) += lower(k, i) * b(k, j);
      b(i, j) *= a.scalar("alpha");
    }
}

void atax(Arrays& a) {
  const int64_t m = a["M"], n = a["N"];
  const Grid matrix = a.grid("A", m, n), x = a.grid("x", n), y = a.grid("y", n);
  for (int64_t i = 0; i < m; ++i) {
    double product = 0;
    for (int64_t j = 0; j < n; ++j) product += matrix(i, j) * x(j);
    for (int64_t j = 0; j < n; ++j) y(j) += matrix(i, j) * product;
  }
}

void bicg(Arrays& a) {
  const int64_t m = a["M"], n = a["N"];
  const Grid matrix = a.grid("A", n, m), p = a.grid("p", m), r = a.grid("r", n), s = a.grid("s", m), q = a.grid("q", n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) {
      s(j) += r(i) * matrix(i, j);
      q(i) += matrix(i, j) * p(j);
    }
}

void doitgen(Arrays& a) {
  const int64_t nq = a["NQ"], nr = a["NR"], np = a["NP"];
  const Grid tensor = a.copy("A0", "A", nr, nq, np), c4 = a.grid("C4", np, np);
  std::vector<double> sum(static_cast<size_t>(np));
  for (int64_t r = 0; r < nr; ++r)
    for (int64_t q = 0; q < nq; ++q) {
      for (int64_t p = 0; p < np; ++p) {
        sum[p] = 0;
        for (int64_t s = 0; s < np; ++s) sum[p] += tensor(r, q, s) * c4(s, p);
      }
      for (int64_t p = 0; p < np; ++p) tensor(r, q, p) = sum[p];
    }
}

void mvt(Arrays& a) {
  const int64_t n = a["N"];
  const Grid matrix = a.grid("A", n, n), y1 = a.grid("y_1", n), y2 = a.grid("y_2", n), x1 = a.copy("x1_0", "x1", n),
             x2 = a.copy("x2_0", "x2", n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      x1(i) += matrix(i, j) * y1(j);
      x2(i) += matrix(j, i) * y2(j);
    }
}

}  // namespace

std::vector<Kernel> product_kernels() {
  return {{"correlation", correlation},
          {"covariance", covariance, nullptr, two_rows_at_least},
          {"gemm", gemm},
          {"gemver", gemver},
          {"gesummv", gesummv},
          {"symm", symm},
          {"syr2k", syr2k},
          {"syrk", syrk},
          {"trmm", trmm},
          {"2mm", two_products},
          {"3mm", three_products},
          {"atax", atax},
          {"bicg", bicg},
          {"doitgen", doitgen},
          {"mvt", mvt}};
}

}  // namespace polyweft::polybench
