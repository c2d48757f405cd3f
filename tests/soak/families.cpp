#include "soak/families.h"

namespace polyweft::soak {
namespace {

using Names = std::vector<std::string>;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

const std::vector<NumericsClass> kAll = {NumericsClass::reassoc, NumericsClass::strict, NumericsClass::contract};
const std::vector<NumericsClass> kReassoc = {NumericsClass::reassoc};

class Collector {
 public:
  std::vector<Family> out;

  /// `body` follows the head that declares the sizes.
  Family& add(const std::string& name, const Names& sizes, const std::string& body,
              const std::vector<NumericsClass>& classes = kReassoc) {
    std::string head = "program p(", assumed;
    for (const std::string& size : sizes) {
      head += (size == sizes[0] ? "" : ", ") + size + " = $" + size;
      assumed += (size == sizes[0] ? " assume " : ", ") + size + " >= 0";
    }
    out.push_back({name, head + ")" + assumed + "\n" + body, sizes, classes});
    return out.back();
  }
  void add_types(const std::string& name, const Names& types, const Names& sizes, const std::string& body) {
    for (const std::string& type : types)
      add(name + "_" + type, sizes, replaced(body, "$T", type), type == "f32" ? kAll : kReassoc).whole =
          type != "f16" && type != "bf16";
  }
};

void add_products(Collector& c) {
  c.add_types("gemm", {"f32", "f64", "f16", "bf16", "i64", "i32", "i16", "i8", "u8"}, {"M", "N", "K"},
              "in A: $T[M, K]\nin B: $T[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * B[k, j]\n");
  c.add_types("gemm_packed", {"f32", "f64"}, {"M", "N", "K"},
              "in A: $T[M, K]\nconst in B: $T[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * B[k, j]\n");
  c.add_types("gemm_ta", {"f32"}, {"M", "N", "K"},
              "in A: $T[K, M]\nin B: $T[K, N]\nout C[i: M, j: N] = sum[k: K] A[k, i] * B[k, j]\n");
  c.add_types("gemm_tb", {"f32", "f64", "i32"}, {"M", "N", "K"},
              "in A: $T[M, K]\nin B: $T[N, K]\nout C[i: M, j: N] = sum[k: K] A[i, k] * B[j, k]\n");
  c.add_types("gemm_tt", {"f32"}, {"M", "N", "K"},
              "in A: $T[K, M]\nin B: $T[N, K]\nout C[i: M, j: N] = sum[k: K] A[k, i] * B[j, k]\n");
  c.add_types("batched", {"f32", "i16"}, {"B", "M", "N", "K"},
              "in X: $T[B, M, K]\nin Y: $T[B, K, N]\nout C[b: B, i: M, j: N] = sum[k: K] X[b, i, k] * Y[b, k, j]\n");
  c.add("gemm_bias_relu", {"M", "N", "K"},
        "in A: f32[M, K]\nconst in B: f32[K, N]\nin b: f32[N]\nlet C[i: M, j: N] = sum[k: K] A[i, k] * B[k, j]\nout "
        "D[i: M, j: N] = max(C[i, j] + b[j], 0)\n",
        kAll);
  c.add("gemm_u8i8", {"M", "N", "K"},
        "in A: u8[M, K]\nin B: i8[K, N]\nout C[i: M, j: N] = sum[k: K] i32(A[i, k]) * i32(B[k, j])\n");
  c.add("gemm_bf16_f32", {"M", "N", "K"},
        "in A: bf16[M, K]\nin B: bf16[K, N]\nout C[i: M, j: N] = sum[k: K] f32(A[i, k]) * f32(B[k, j])\n");
  c.add("gemm_f16_f32", {"M", "N", "K"},
        "in A: f16[M, K]\nin B: f16[K, N]\nout C[i: M, j: N] = sum[k: K] f32(A[i, k]) * f32(B[k, j])\n");
  c.add("qgemm", {"M", "N", "K"},
        "in A: u8[M, K]\nconst in B: i8[K, N]\nin za: i32\nin mult: f32[N]\nin zc: i32\nlet C[i: M, j: N] = sum[k: K] "
        "(i32(A[i, k]) - za) * i32(B[k, j])\n"
        "out Q[i: M, j: N] = sat_u8(i32(round(f32(C[i, j]) * mult[j])) + zc)\n");
  c.add_types("matvec", {"f32", "bf16"}, {"M", "K"},
              "in A: $T[M, K]\nin x: $T[K]\nout y[i: M] = sum[k: K] A[i, k] * x[k]\n");
  c.add_types("vecmat", {"f32", "i8"}, {"N", "K"},
              "in B: $T[K, N]\nin x: $T[K]\nout y[j: N] = sum[k: K] x[k] * B[k, j]\n");
  c.add_types("dot", {"f32", "f64", "i64"}, {"K"}, "in x: $T[K]\nin y: $T[K]\nout s = sum[k: K] x[k] * y[k]\n");
  c.add_types("outer", {"f32"}, {"M", "N"}, "in x: $T[M]\nin y: $T[N]\nout C[i: M, j: N] = x[i] * y[j]\n");
  c.add("trmm", {"M", "N"}, "in A: f32[M, M]\nin B: f32[M, N]\nout C[i: M, j: N] = sum[k: i+1..M] A[k, i] * B[k, j]\n");
}

void add_convolutions(Collector& c) {
  for (const std::string stride : {"1", "2"})
    for (const std::string dilation : {"1", "2"}) {
      const std::string at = stride + "*x + " + dilation + "*r - " + dilation;
      c.add("conv1d_s" + stride + "d" + dilation, {"N", "W", "C", "F"},
            replaced("in X: f32[N, " + stride +
                         "*W, C]\nin K: f32[3, C, F]\nout Y[n: N, x: W, f: F] = sum[r: 3, c: C where 0 <= $at < " +
                         stride + "*W] X[n, $at, c] * K[r, c, f]\n",
                     "$at", at));
      c.add("conv2d_s" + stride + "d" + dilation, {"H", "W", "C", "F"},
            replaced(
                replaced(
                    "in X: f32[" + stride + "*H, " + stride + "*W, C]\nin K: f32[3, 3, C, F]\nlet P[y: " + stride +
                        "*H + 4, x: " + stride + "*W + 4, c: C] = X[y - 2, x - 2, c] where 2 <= y < " + stride +
                        "*H + 2 and 2 <= x < " + stride +
                        "*W + 2 else 0\nout Y[y: H, x: W, f: F] = sum[r: 3, s: 3, c: C] P[$y, $x, c] * K[r, s, c, f]\n",
                    "$y", stride + "*y + " + dilation + "*r"),
                "$x", stride + "*x + " + dilation + "*s"),
            stride + dilation == "11" ? kAll : kReassoc);
    }
  c.add("conv2d_taps", {"R", "S", "C", "F"},
        "in X: f32[R + 5, S + 7, C]\nin K: f32[R, S, C, F]\nout Y[y: 5, x: 7, f: F] = sum[r: R, s: S, c: C] X[y + r, x "
        "+ s, c] * K[r, s, c, f]\n");
  c.add("conv2d_nchw", {"N", "H", "C", "F"},
        "in X: f32[N, C, H + 2, 9]\nin K: f32[F, C, 3, 3]\nout Y[n: N, f: F, y: H, x: 7] = sum[c: C, r: 3, s: 3] X[n, "
        "c, y + r, x + s] * K[f, c, r, s]\n");
  c.add("conv2d_1x1", {"H", "W", "C", "F"},
        "in X: f32[H, W, C]\nin K: f32[C, F]\nout Y[y: H, x: W, f: F] = sum[c: C] X[y, x, c] * K[c, f]\n");
  c.add("conv2d_grouped", {"G", "W", "C", "F"},
        "in X: f32[5, W, G, C]\nin K: f32[3, 3, G, C, F]\nout Y[y: 5, x: W, g: G, f: F] = sum[r: 3, s: 3, c: C where 0 "
        "<= y+r-1 < 5 and 0 <= x+s-1 < W] X[y+r-1, x+s-1, "
        "g, c] * "
        "K[r, s, g, c, f]\n");
  c.add("conv2d_u8i8", {"W", "C", "F"},
        "in X: u8[6, W + 2, C]\nin K: i8[3, 3, C, F]\nout Y[y: 4, x: W, f: F] = sum[r: 3, s: 3, c: C] i32(X[y + r, x + "
        "s, c]) * i32(K[r, s, c, f])\n");
  c.add("depthwise", {"H", "W", "C"},
        "in X: f32[H, W, C]\nin D: f32[3, 3, C]\nout T[y: H, x: W, c: C] = sum[r: 3, s: 3 where 0 <= y+r-1 < H and 0 "
        "<= x+s-1 < W] X[y+r-1, x+s-1, c] * D[r, s, c]\n",
        kAll);
  c.add("depthwise_padded", {"H", "W", "C"},
        "in X: f32[H, W, C]\nconst in K: f32[3, 3, C]\nlet P[y: H + 2, x: W + 2, c: C] = X[y - 1, x - 1, c] where 1 <= "
        "y <= H and 1 <= x <= W else 0\n"
        "out Y[y: H, x: W, c: C] = sum[r: 3, s: 3] P[y + r, x + s, c] * K[r, s, c]\n");
  c.add("depthwise_pointwise", {"H", "W", "C", "F"},
        "in X: f32[H, W, C]\nin D: f32[3, 3, C]\nin K: f32[C, F]\nlet T[y: H, x: W, c: C] = sum[r: 3, s: 3 where 0 <= "
        "y+r-1 < H and 0 <= x+s-1 < W] X[y+r-1, x+s-1, c] * "
        "D[r, "
        "s, c]\nout Y[y: H, x: W, f: F] = sum[c: C] T[y, x, c] * K[c, f]\n");
  c.add("conv2d_bias_relu", {"H", "W", "C", "F"},
        "in X: f32[H, W, C]\nconst in K: f32[3, 3, C, F]\nin b: f32[F]\nlet P[y: H+2, x: W+2, c: C] = X[y-1, x-1, c] "
        "where 1 <= y <= H and 1 <= x <= W else 0\n"
        "let Y[y: H, x: W, f: F] = sum[r: 3, s: 3, c: C] P[y+r, x+s, c] * K[r, s, c, f]\nout Z[y: H, x: W, f: F] = "
        "max(Y[y, x, f] + b[f], 0)\n");
  c.add("conv1d_transposed", {"H", "C", "F"},
        "in X: f32[H, C]\nin K: f32[4, C, F]\nout Y[y: 2*H, f: F] = sum[r: 4, c: C where (y + 1 - r) % 2 == 0 and 0 <= "
        "(y + 1 - r) // 2 < H] X[(y + 1 - r) // 2, c] * "
        "K[r, c, f]\n");
  c.add("conv2d_transposed", {"H", "W", "C", "F"},
        "in X: f32[H, W, C]\nin K: f32[4, 4, C, F]\nout Y[y: 2*H, x: 2*W, f: F] = sum[r: 4, s: 4, c: C where (y + 1 - "
        "r) % 2 == 0 and 0 <= (y + 1 - r) // 2 < H and (x + "
        "1 - s) % 2 "
        "== 0 and 0 <= (x + 1 - s) // 2 < W] X[(y + 1 - r) // 2, (x + 1 - s) // 2, c] * K[r, s, c, f]\n");
  c.add("pool", {"H", "W", "C"},
        "in X: f32[2*H, 2*W, C]\nout M[y: H, x: W, c: C] = max[r: 3, s: 3 where 0 <= 2*y+r-1 < 2*H and 0 <= 2*x+s-1 < "
        "2*W] X[2*y+r-1, 2*x+s-1, c]\n");
}

void add_rows(Collector& c) {
  auto inexact = [&](const std::string& name, const Names& sizes, const std::string& body,
                     const std::vector<NumericsClass>& classes) { c.add(name, sizes, body, classes).whole = false; };
  inexact("softmax", {"M", "N"},
          "in X: f32[M, N]\nlet m[i: M] = max[j: N] X[i, j]\nlet e[i: M, j: N] = exp(X[i, j] - m[i])\nlet s[i: M] = "
          "sum[j: N] e[i, j]\nout Y[i: M, j: N] = e[i, j] / s[i]\n",
          kAll);
  inexact("softmax_f64", {"M", "N"},
          "in X: f64[M, N]\nlet m[i: M] = max[j: N] X[i, j]\nlet e[i: M, j: N] = exp(X[i, j] - m[i])\nlet s[i: M] = "
          "sum[j: N] e[i, j]\nout Y[i: M, j: N] = e[i, j] / s[i]\n",
          kReassoc);
  inexact("layernorm", {"M", "N"},
          "in X: f32[M, N]\nin g: f32[N]\nin b: f32[N]\nconst eps: f32 = 1e-5\nlet mu[i: M] = (sum[j: N] X[i, j]) / "
          "f32(N)\nlet v[i: M] = (sum[j: N] (X[i, j] - mu[i]) * "
          "(X[i, j] - "
          "mu[i])) / f32(N)\nout Y[i: M, j: N] = (X[i, j] - mu[i]) * rsqrt(v[i] + eps) * g[j] + b[j]\n",
          kAll);
  inexact("rmsnorm", {"M", "N"},
          "in X: f32[M, N]\nin g: f32[N]\nconst eps: f32 = 1e-5\nlet v[i: M] = (sum[j: N] X[i, j] * X[i, j]) / "
          "f32(N)\nout Y[i: M, j: N] = X[i, j] * rsqrt(v[i] + eps) * "
          "g[j]\n",
          kReassoc);
  inexact("frobenius", {"M", "N"}, "in X: f32[M, N]\nlet s = sum[i: M, j: N] X[i, j] * X[i, j]\nout n = sqrt(s)\n",
          kAll);
  inexact("logsumexp", {"M", "N"},
          "in X: f32[M, N]\nlet m[i: M] = max[j: N] X[i, j]\nlet s[i: M] = sum[j: N] exp(X[i, j] - m[i])\nout Y[i: M] "
          "= m[i] + log(s[i])\n",
          kReassoc);
  for (const std::string type : {"f32", "bf16"}) {
    const bool narrow = type != "f32";
    auto wide = [&](const std::string& e) { return narrow ? "f32(" + e + ")" : e; };
    inexact("attention_" + type, {"H", "S", "D"},
            "in Q: " + type + "[H, S, D]\nin K: " + type + "[H, S, D]\nin V: " + type +
                "[H, S, D]\nlet a[h: H, i: S, j: S] = sum[d: D] " + wide("Q[h, i, d]") + " * " + wide("K[h, j, d]") +
                "\nlet m[h: H, i: S] = max[j: S] a[h, i, j]\nlet p[h: H, i: S, j: S] = exp(a[h, i, j] - m[h, i])\nlet "
                "l[h: H, i: S] = sum[j: S] p[h, i, j]\n"
                "out O[h: H, i: S, d: D] = " +
                (narrow ? "bf16((sum[j: S] p[h, i, j] * f32(V[h, j, d])) / l[h, i])\n"
                        : "(sum[j: S] p[h, i, j] * V[h, j, d]) / l[h, i]\n"),
            kReassoc);
  }
  inexact("attention_causal", {"G", "S", "D"},
          "in Q: f32[2*G, S, D]\nin K: f32[G, S, D]\nin V: f32[G, S, D]\nin scale: f32\nlet a[h: 2*G, i: S, j: 0..i+1] "
          "= scale * sum[d: D] Q[h, i, d] * K[h // 2, j, d]\n"
          "let m[h: 2*G, i: S] = max[j: 0..i+1] a[h, i, j]\nlet p[h: 2*G, i: S, j: 0..i+1] = exp(a[h, i, j] - m[h, "
          "i])\nlet l[h: 2*G, i: S] = sum[j: 0..i+1] p[h, i, j]\n"
          "out O[h: 2*G, i: S, d: D] = (sum[j: 0..i+1] p[h, i, j] * V[h // 2, j, d]) / l[h, i]\n",
          kReassoc);
}

void add_streams(Collector& c) {
  c.add_types("add", {"f32", "f64", "f16", "bf16", "i64", "i32", "i16", "i8", "u8"}, {"M", "N"},
              "in X: $T[M, N]\nin Y: $T[M, N]\nout Z[i: M, j: N] = X[i, j] + Y[i, j] * X[i, j]\n");
  c.add("bias_columns", {"M", "N"}, "in X: f32[M, N]\nin b: f32[M]\nout Z[i: M, j: N] = max(X[i, j] + b[i], 0)\n");
  c.add("gelu", {"N"}, "in X: f32[N]\nout Y[i: N] = 0.5 * X[i] * (1 + erf(X[i] * 0.70710678))\n", kAll).whole = false;
  c.add("swiglu", {"M", "N"},
        "in X: f32[M, N]\nin G: f32[M, N]\nout Y[i: M, j: N] = X[i, j] * G[i, j] * sigmoid(G[i, j])\n")
      .whole = false;
  c.add("functions", {"N"},
        "in X: f32[N]\nout A[i: N] = tanh(X[i]) + sin(X[i])\nout B[i: N] = cos(X[i]) * exp(X[i])\nout C[i: N] = "
        "pow(abs(X[i]), 1.5) + log(abs(X[i]) + 1)\n")
      .whole = false;
  c.add("functions_f64", {"N"},
        "in X: f64[N]\nout A[i: N] = tanh(X[i]) + sin(X[i])\nout B[i: N] = cos(X[i]) * exp(X[i])\nout C[i: N] = "
        "erf(X[i]) + sigmoid(X[i])\n")
      .whole = false;
  c.add("conversions", {"M", "N"},
        "in X: f32[M, N]\nin Y: i32[M, N]\nout A[i: M, j: N] = sat_u8(X[i, j] * 100)\nout B[i: M, j: N] = i16(Y[i, "
        "j])\nout C[i: M, j: N] = bf16(X[i, j])\n"
        "out D[i: M, j: N] = f16(Y[i, j])\nout E[i: M, j: N] = sat_i8(Y[i, j] * 7)\n");
  c.add("integers", {"N"},
        "in X: i32[N]\nin Y: i32[N]\nout A[i: N] = X[i] // Y[i]\nout B[i: N] = X[i] % 7\nout C[i: N] = (X[i] << Y[i]) "
        "^ (X[i] >> 3)\nout D[i: N] = clamp(X[i], -3, 5)\n");
  c.add_types("row_sums", {"f32", "f64", "bf16", "i8"}, {"M", "N"},
              "in X: $T[M, N]\nout s[i: M] = sum[j: N] X[i, j]\n");
  c.add_types("column_sums", {"f32", "f64", "i16"}, {"M", "N"}, "in X: $T[M, N]\nout s[j: N] = sum[i: M] X[i, j]\n");
  c.add_types("sum_all", {"f32", "i32"}, {"M", "N"}, "in X: $T[M, N]\nout s = sum[i: M, j: N] X[i, j]\n");
  c.add_types("row_max", {"f32", "f16", "u8"}, {"M", "N"}, "in X: $T[M, N]\nout s[i: M] = max[j: N] X[i, j]\n");
  c.add("row_prod", {"M", "N"}, "in X: i32[M, N]\nout s[i: M] = prod[j: N] X[i, j]\n");
  c.add_types("argmax_rows", {"f32", "i32"}, {"M", "N"}, "in X: $T[M, N]\nout p[i: M] = argmax[j: N] X[i, j]\n");
  c.add("argmin_columns", {"M", "N"}, "in X: f32[M, N]\nout p[j: N] = argmin[i: M] X[i, j]\n");
  c.add_types("transpose", {"f32", "f64", "i16", "u8"}, {"M", "N"}, "in X: $T[M, N]\nout Y[j: N, i: M] = X[i, j]\n");
  c.add("transpose_021", {"B", "M", "N"}, "in X: f32[B, M, N]\nout Y[b: B, j: N, i: M] = X[b, i, j]\n");
  c.add("transpose_210", {"B", "M", "N"}, "in X: f32[B, M, N]\nout Y[j: N, i: M, b: B] = X[b, i, j]\n");
  c.add("gather", {"B", "L", "D"},
        "in idx: i32[B, L] values 0..13\nin E: f32[13, D]\nout Y[b: B, d: D] = sum[l: L] E[idx[b, l], d]\n");
  c.add("two_outputs", {"M", "N"},
        "in X: f32[M, N]\nlet s[i: M] = sum[j: N] X[i, j]\nlet e[i: M, j: N] = X[i, j] - s[i]\nout Y[i: M, j: N] = "
        "e[i, j] * e[i, j]\nout t[j: N] = sum[i: M] e[i, j]\n");
}

}  // namespace

std::vector<Family> families() {
  Collector c;
  add_products(c);
  add_convolutions(c);
  add_rows(c);
  add_streams(c);
  return std::move(c.out);
}

std::string text_of(const Family& family, const Sizes& sizes) {
  std::string text = family.text;
  for (size_t k = 0; k < sizes.size(); ++k) {
    const std::string mark = "$" + family.sizes[k];
    const size_t at = text.find(mark);
    text.replace(at, mark.size(), std::to_string(sizes[k]));
  }
  return text;
}

std::string name_of(const Family& family, const Sizes& sizes) {
  std::string out = family.name;
  for (size_t k = 0; k < sizes.size(); ++k)
    out += (k == 0 ? ":" : ",") + family.sizes[k] + "=" + std::to_string(sizes[k]);
  return out;
}

}  // namespace polyweft::soak
