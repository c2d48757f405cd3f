#include "peers/case.h"

namespace polyweft::peers {
namespace {

std::string str(int64_t n) {
  return std::to_string(n);
}
std::string by(std::initializer_list<int64_t> sizes) {
  std::string out;
  for (int64_t size : sizes) out += (out.empty() ? "" : "x") + str(size);
  return out;
}

Case gemm_case(const std::string& family, const Gemm& g, bool weights_packed) {
  const std::string type = g.is_f64 ? "f64" : "f32";
  Case out;
  out.family = family + " " + type;
  out.name = by({g.m, g.n, g.k});
  out.text = "program kernel(M = " + str(g.m) + ", N = " + str(g.n) + ", K = " + str(g.k) + ")\nin A: " + type +
             "[M, K]\n" + (weights_packed ? "const in B: " : "in B: ") + type +
             "[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * B[k, j]\n";
  out.add_peers = [=](const Data& data, Peers& peers) {
    add_blas(g, data, peers);
    if (g.m * g.n * g.k <= 64 * 64 * 64) add_libxsmm(g, data, peers);
    if (!g.is_f64) add_onednn_gemm(g, weights_packed, data, peers);
  };
  return out;
}

Case convolution_case(const Convolution& c) {
  Case out;
  out.family = c.depthwise ? "depthwise" : "convolution";
  out.name = by({c.height, c.width, c.in, c.out}) + " " + by({c.taps, c.taps}) +
             (c.stride > 1 ? " stride " + str(c.stride) : "");
  const std::string s = c.stride > 1 ? str(c.stride) + "*" : "", t = str(c.taps), p = str(c.padding);
  std::string sized = "program kernel()\nin X: f32[" + str(c.height) + ", " + str(c.width) + ", " + str(c.in) +
                      "]\nconst in K: f32[" + t + ", " + t + ", " + (c.depthwise ? "" : str(c.in) + ", ") + str(c.out) +
                      "]\n";
  std::string source = "X";
  if (c.padding > 0) {
    source = "P";
    sized += "let P[y: " + str(c.height + 2 * c.padding) + ", x: " + str(c.width + 2 * c.padding) +
             ", c: " + str(c.in) + "] = X[y-" + p + ", x-" + p + ", c] where " + p + " <= y < " +
             str(c.height + c.padding) + " and " + p + " <= x < " + str(c.width + c.padding) + " else 0\n";
  }
  const std::string ranges = "out Y[y: " + str(c.out_height()) + ", x: " + str(c.out_width()) + ", f: " + str(c.out) +
                             "] = sum[r: " + t + ", s: " + t;
  if (c.depthwise)
    sized += ranges + "] " + source + "[" + s + "y+r, " + s + "x+s, f] * K[r, s, f]\n";
  else
    sized += ranges + ", c: " + str(c.in) + "] " + source + "[" + s + "y+r, " + s + "x+s, c] * K[r, s, c, f]\n";
  out.text = sized;
  out.add_peers = [=](const Data& data, Peers& peers) { add_onednn_convolution(c, data, peers); };
  return out;
}

Case rows_case(Rows kind, int64_t rows, int64_t columns) {
  Case out;
  out.exact = false;
  out.family = kind == Rows::softmax ? "softmax" : "layernorm";
  out.name = by({rows, columns});
  const std::string head = "program kernel(M = " + str(rows) + ", N = " + str(columns) + ")\nin X: f32[M, N]\n";
  if (kind == Rows::softmax)
    out.text = head +
               "let m[i: M] = max[j: N] X[i, j]\nlet e[i: M, j: N] = exp(X[i, j] - m[i])\nlet s[i: M] = sum[j: N] e[i, "
               "j]\nout Y[i: M, j: N] = e[i, j] / s[i]\n";
  else
    out.text = head +
               "in g: f32[N]\nin b: f32[N]\nconst eps: f32 = 1e-5\nlet mu[i: M] = (sum[j: N] X[i, j]) / f32(N)\nlet "
               "v[i: M] = (sum[j: N] (X[i, j] - mu[i]) * (X[i, j] - "
               "mu[i])) / "
               "f32(N)\nout Y[i: M, j: N] = (X[i, j] - mu[i]) * rsqrt(v[i] + eps) * g[j] + b[j]\n";
  out.add_peers = [=](const Data& data, Peers& peers) { add_onednn_rows(kind, rows, columns, data, peers); };
  return out;
}

Case stream_case(Stream kind, int64_t elements) {
  Case out;
  out.exact = kind == Stream::add;
  out.family = "elementwise";
  out.name = std::string(kind == Stream::add ? "add " : kind == Stream::exp ? "exp " : "gelu ") + str(elements);
  const std::string head = "program kernel(N = " + str(elements) + ")\nin X: f32[N]\n";
  out.text = kind == Stream::add   ? head + "in Y: f32[N]\nout Z[i: N] = X[i] + Y[i]\n"
             : kind == Stream::exp ? head + "out Z[i: N] = exp(X[i])\n"
                                   : head + "out Z[i: N] = 0.5 * X[i] * (1 + erf(X[i] * 0.70710678))\n";
  out.add_peers = [=](const Data& data, Peers& peers) { add_onednn_stream(kind, elements, data, peers); };
  return out;
}

Case sum_case(int64_t rows, int64_t columns, int axis) {
  Case out;
  out.family = "sums";
  out.name = std::string(axis == 1 ? "rows " : "columns ") + by({rows, columns});
  out.text = "program kernel(M = " + str(rows) + ", N = " + str(columns) + ")\nin X: f32[M, N]\n" +
             (axis == 1 ? "out s[i: M] = sum[j: N] X[i, j]\n" : "out s[j: N] = sum[i: M] X[i, j]\n");
  out.add_peers = [=](const Data& data, Peers& peers) { add_onednn_sum(rows, columns, axis, data, peers); };
  return out;
}

Case transpose_case(int64_t rows, int64_t columns) {
  Case out;
  out.family = "transpose";
  out.name = by({rows, columns});
  out.text =
      "program kernel(M = " + str(rows) + ", N = " + str(columns) + ")\nin X: f32[M, N]\nout Y[j: N, i: M] = X[i, j]\n";
  out.add_peers = [=](const Data& data, Peers& peers) {
    add_onednn_transpose(rows, columns, data, peers);
    add_blas_transpose(rows, columns, data, peers);
  };
  return out;
}

}  // namespace

std::vector<Case> all_cases() {
  std::vector<Case> out;
  for (int64_t n : {4, 8, 16, 23, 32, 48, 64}) out.push_back(gemm_case("gemm small", {n, n, n}, false));
  for (int64_t n : {16, 32}) out.push_back(gemm_case("gemm small", {n, n, n, true}, false));
  for (int64_t n : {128, 256, 512, 1024}) out.push_back(gemm_case("gemm", {n, n, n}, false));
  out.push_back(gemm_case("gemm", {1000, 1100, 1200}, false));
  out.push_back(gemm_case("gemm", {211, 199, 197}, false));
  for (int64_t n : {256, 512}) out.push_back(gemm_case("gemm", {n, n, n, true}, false));
  for (int64_t m : {1, 4, 16, 64}) out.push_back(gemm_case("gemm skinny", {m, 4096, 4096}, true));
  out.push_back(convolution_case({56, 56, 64, 64, 3, 1, 1}));
  out.push_back(convolution_case({28, 28, 128, 128, 3, 1, 1}));
  out.push_back(convolution_case({14, 14, 256, 256, 3, 1, 1}));
  out.push_back(convolution_case({7, 7, 512, 512, 3, 1, 1}));
  out.push_back(convolution_case({56, 56, 64, 256, 1, 1, 0}));
  out.push_back(convolution_case({56, 56, 128, 128, 3, 2, 1}));
  out.push_back(convolution_case({224, 224, 3, 64, 7, 2, 3}));
  out.push_back(convolution_case({112, 112, 32, 32, 3, 1, 1, true}));
  out.push_back(convolution_case({14, 14, 512, 512, 3, 1, 1, true}));
  for (auto [m, n] : {std::pair{512, 512}, {2048, 2048}, {1536, 128}}) out.push_back(rows_case(Rows::softmax, m, n));
  for (auto [m, n] : {std::pair{384, 1024}, {128, 768}, {2048, 4096}}) out.push_back(rows_case(Rows::layernorm, m, n));
  for (Stream kind : {Stream::add, Stream::exp, Stream::gelu})
    for (int64_t n : {16384, 1 << 20}) out.push_back(stream_case(kind, n));
  for (int axis : {1, 0})
    for (auto [m, n] : {std::pair{256, 256}, {1024, 1024}}) out.push_back(sum_case(m, n, axis));
  for (auto [m, n] : {std::pair{64, 256}, {512, 512}, {2048, 2048}}) out.push_back(transpose_case(m, n));
  return out;
}

}  // namespace polyweft::peers
