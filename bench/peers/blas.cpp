// OpenBLAS, BLIS, libxsmm.
#include <dlfcn.h>
#ifdef PW_HAS_LIBXSMM
#include <libxsmm.h>
#endif

#include "peers/case.h"

namespace polyweft::peers {
namespace {

constexpr int kRowMajor = 101, kNotTransposed = 111, kTransposed = 112;
using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
using Dgemm = void (*)(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*,
                       int);
using Somatcopy = void (*)(int, int, int, int, float, const float*, int, float*, int);

struct Library {
  const char* name;
  std::vector<const char*> files;
};

void* opened(const Library& library) {
  for (const char* file : library.files)
    if (void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL)) return handle;
  return nullptr;
}

const std::vector<std::pair<std::string, void*>>& libraries() {
  static const auto all = [] {
    std::vector<std::pair<std::string, void*>> out;
    for (const Library& library :
         {Library{"OpenBLAS", {"/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0", "libopenblas.so.0"}},
          Library{"BLIS", {"libblis.so.4", "libblis.so"}}})
      if (void* handle = opened(library)) out.push_back({library.name, handle});
    return out;
  }();
  return all;
}

}  // namespace

void add_blas(const Gemm& g, const Data& data, Peers& out) {
  const int m = static_cast<int>(g.m), n = static_cast<int>(g.n), k = static_cast<int>(g.k);
  for (const auto& [name, handle] : libraries()) {
    if (g.is_f64) {
      auto dgemm = reinterpret_cast<Dgemm>(dlsym(handle, "cblas_dgemm"));
      const double *a = data.in<double>(0), *b = data.in<double>(1);
      if (dgemm)
        out.push_back({name, [=](void* c) {
                         dgemm(kRowMajor, kNotTransposed, kNotTransposed, m, n, k, 1, a, k, b, n, 0,
                               static_cast<double*>(c), n);
                       }});
      continue;
    }
    auto sgemm = reinterpret_cast<Sgemm>(dlsym(handle, "cblas_sgemm"));
    const float *a = data.in<float>(0), *b = data.in<float>(1);
    if (sgemm)
      out.push_back({name, [=](void* c) {
                       sgemm(kRowMajor, kNotTransposed, kNotTransposed, m, n, k, 1, a, k, b, n, 0,
                             static_cast<float*>(c), n);
                     }});
  }
}

void add_blas_transpose(int64_t rows, int64_t columns, const Data& data, Peers& out) {
  for (const auto& [name, handle] : libraries()) {
    auto copy = reinterpret_cast<Somatcopy>(dlsym(handle, "cblas_somatcopy"));
    const float* x = data.in<float>(0);
    const int m = static_cast<int>(rows), n = static_cast<int>(columns);
    if (copy)
      out.push_back({name, [=](void* y) { copy(kRowMajor, kTransposed, m, n, 1, x, n, static_cast<float*>(y), m); }});
  }
}

#ifdef PW_HAS_LIBXSMM
/// Row-major C = A B is column-major C' = B' A'.
void add_libxsmm(const Gemm& g, const Data& data, Peers& out) {
  libxsmm_init();
  const auto m = static_cast<libxsmm_blasint>(g.n), n = static_cast<libxsmm_blasint>(g.m),
             k = static_cast<libxsmm_blasint>(g.k);
  if (g.is_f64) {
    const double alpha = 1, beta = 0;
    const libxsmm_dmmfunction code =
        libxsmm_dmmdispatch(m, n, k, nullptr, nullptr, nullptr, &alpha, &beta, nullptr, nullptr);
    const double *a = data.in<double>(0), *b = data.in<double>(1);
    if (code) out.push_back({"libxsmm", [=](void* c) { code(b, a, static_cast<double*>(c)); }});
    return;
  }
  const float alpha = 1, beta = 0;
  const libxsmm_smmfunction code =
      libxsmm_smmdispatch(m, n, k, nullptr, nullptr, nullptr, &alpha, &beta, nullptr, nullptr);
  const float *a = data.in<float>(0), *b = data.in<float>(1);
  if (code) out.push_back({"libxsmm", [=](void* c) { code(b, a, static_cast<float*>(c)); }});
}
#else
void add_libxsmm(const Gemm&, const Data&, Peers&) {}
#endif

}  // namespace polyweft::peers
