#include "backend/python_cases.h"

namespace polyweft::backend_test {
namespace {

const PythonCase kPrograms[] = {
    {"matrix_product",
     "program p(M = 7, N = 5, K = 9)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * B[k, "
     "j]\n"},
    {"convolution_with_padding", R"(program p(H = 6, W = 5, C = 2, F = 3)
in X: f32[H, W, C]
in K: f32[3, 3, C, F]
let P[y: H+2, x: W+2, c: C] = X[y-1, x-1, c] where 1 <= y <= H and 1 <= x <= W else 0
out Y[y: H, x: W, f: F] = sum[r: 3, s: 3, c: C] P[y+r, x+s, c] * K[r, s, c, f]
)"},
    {"stencil_in_time", R"(program p(T = 4, N = 11)
in A0: f64[N]
let A[0, i: N] = A0[i]
let A[t: 1..T+1, i: 1..N-1] = 0.125 * (A[t-1, i-1] - 2.0 * A[t-1, i] + A[t-1, i+1]) + A[t-1, i]
let A[t: 1..T+1, i: N] where i == 0 or i == N-1 = A[t-1, i]
out R[i: N] = A[T, i]
)"},
    {"prefix_sum", R"(program p(N = 20)
in X: i32[N]
let S[0] = X[0]
let S[i: 1..N] = S[i-1] + X[i]
out Y[i: N] = S[i]
)"},
    {"edit_distance", R"(program p(M = 7, N = 6)
in a: u8[M] values 0..3
in b: u8[N] values 0..3
let D[0, j: N+1] = j
let D[i: 1..M+1, 0] = i
let D[i: 1..M+1, j: 1..N+1]: i64 = min(min(D[i-1, j], D[i, j-1]) + 1, D[i-1, j-1] + select(a[i-1] == b[j-1], 0, 1))
out d = D[M, N]
)"},
    {"guard_in_a_sum",
     "program p(N = 13)\nin A: f32[N, N]\nout Y[i: N] = sum[k: N where (i + k) % 3 == 1 and k // 2 < i] A[i, k]\n"},
    {"max_pool", R"(program p(H = 7, W = 6, C = 2)
in X: f32[H, W, C]
out M[y: (H-1)//2 + 1, x: (W-1)//2 + 1, c: C] = max[r: 3, s: 3 where 0 <= 2*y+r-1 < H and 0 <= 2*x+s-1 < W] X[2*y+r-1, 2*x+s-1, c]
)"},
    {"triangular_sum",
     "program p(M = 6, N = 5)\nin A: f64[M, M]\nin B: f64[M, N]\nin alpha: f64\n"
     "out C[i: M, j: N] = alpha * (B[i, j] + sum[k: i+1..M] A[k, i] * B[k, j])\n"},
    {"gather",
     "program p(B = 4, L = 3, V = 10, D = 5)\nin at: i32[B, L] values 0..V\nin E: f32[V, D]\nout Y[b: B, d: D] = "
     "sum[l: L] E[at[b, l], d]\n"},
    {"gather_by_exact_integers",
     "program p(N = 16)\nin X: i64[N]\nin T: i32[9]\nout Y[i: N] = T[(X[i] * X[i] - 1) % 9]\n"},
    {"wrap_around", R"(program p(N = 24)
in A: i8[N]
in B: u8[N]
in C: i64[N]
out S: i8 = sum[i: N] A[i] * A[i]
out P: u8 = prod[i: N] (B[i] + 3)
out Q[i: N] = C[i] * C[i] - (C[i] << 3)
out R[i: N]: i16 = i16(A[i]) * i16(B[i]) * 257
)"},
    {"argmax_of_rows",
     "program p(M = 5, N = 9)\nin X: f32[M, N]\nout p[i: M] = argmax[j: N] X[i, j]\nout q[i: M] = argmin[j: N] X[i, "
     "j]\n"},
    {"combiner", R"(program p(N = 12)
in A: i32[N]
in B: i32[N]
combine after((a, b), (c, d)): (i32, i32) from (1, 0) associative = (a * c, b * c + d)
let (f, g) = reduce after[i: N] (A[i], B[i])
out F = f
out G = g
)"},
    {"constants_and_bools", R"(program p(N = 9)
in X: f64[N]
in on: bool[N]
const w: f64[3] = [0.25, -0.0, 1e300]
out Y[i: N]: f64 = select(on[i] and X[i] <= 0.5, X[i], w[i % 3] / X[i])
out some: bool = any[i: N] (X[i] > 0.5)
out every: bool = all[i: N] on[i]
)"},
    {"partial_output", "program p(N = 8)\nin X: i32[N]\nout partial Y[i: N, j: 0..i+1] = X[j] // X[i]\n"},
    {"const_input", "program p(N = 6)\nconst in W: f32[N, N]\nin x: f32[N]\nout y[i: N] = sum[j: N] W[i, j] * x[j]\n"},
};

const PythonCase kNests[] = {
    {"fold_pads_and_a_mixed_radix_layout", R"(nest 1 fold class strict
param N = 7
loops t, x, y, z
buffer X: f32[13] argument align 4
buffer Y: f32[13] argument align 4 output
buffer w: f32[8, 13] heap layout [1:4, 0:2, 1:4] pad [0, 1, 2] fold 0 mod 2 align 64
arguments X, Y
body {
  alloc w {
    for x in 0 .. 13 {
      copy w[0, x] <- X[x]
    }
    for t in 1 .. N + 1 {
      for y in 0 .. 13 vector 16 {
        compute 0(t, y) store: w[t, y] <- ((w[t - 1, clamp(y - 1, 0, 12)] * 0.5:f32) + w[t - 1, y])
      }
    }
    for z in 0 .. 13 parallel {
      copy Y[z] <- w[N, z]
    }
  }
}
)"},
    {"packed_input", R"(nest 1 packs class strict
loops j, k, p, i, q, v
buffer B: i32[3, 5] argument align 4
buffer Bp: i32[3, 5] argument layout [1:2, 0:3, 1:4] align 64 packed
buffer x: i32[3] argument align 4
buffer y: i32[5] argument align 4 output
arguments Bp, x, y
pack B to Bp {
  for j in 0 .. 2 {
    for k in 0 .. 3 {
      for p in 0 .. min(4, -4*j + 5) vector 4 {
        copy Bp[k, 4*j + p] <- B[k, 4*j + p]
      }
    }
  }
}
body {
  for v in 0 .. 5 vector 8 {
    compute 0(v) init sum: y[v]
  }
  for i in 0 .. 5 unroll {
    for q in 0 .. 3 step 2 {
      compute 0(i, q) accumulate sum: y[i] <- (Bp[q, i] * x[q])
    }
  }
}
)"},
    {"one_buffer_within_another", R"(nest 1 shares class strict
loops i, j, k
buffer X: f64[6] argument align 8
buffer Y: f64[6] argument align 8 output
buffer a: f64[6] heap align 64 within Y at 0
arguments X, Y
body {
  alloc a {
    for i in 0 .. 6 {
      compute 0(i) store: a[i] <- (X[i] * X[i])
    }
    for j in 0 .. 6 {
      if any(j - 4 >= 0, j - 1 == 0) {
        compute 1(j) store: Y[j] <- neg(a[j])
      } else {
        copy Y[j] <- a[j] valid 2*floor(j / 2) - j == 0 else 7:f64
      }
    }
  }
}
)"},
    {"fused_products", R"(nest 1 fused class reassoc
loops i, j, k
buffer A: f64[400] argument align 8
buffer B: f64[400] argument align 8
buffer C: f64[400] argument align 8
buffer Y: f64[400] argument align 8 output
buffer Z: f64[400] argument align 8 output
arguments A, B, C, Y, Z
body {
  for i in 0 .. 400 {
    copy Y[i] <- C[i]
  }
  for j in 0 .. 400 {
    compute 0(j) accumulate sum fused: Y[j] <- (A[j] * B[j])
  }
  for k in 0 .. 400 {
    compute 1(k) init sum: Z[k]
    compute 1(k) accumulate sum fused: Z[k] <- ((A[k] * B[k]) + (C[k] * A[k]))
  }
}
)"},
    {"ties_met_from_the_last_index_on", R"(nest 1 ties class strict
loops i, k
buffer X: u8[60, 2] argument align 1
buffer V: u8[60] argument align 1 output
buffer P: i64[60] argument align 8 output
arguments X, V, P
body {
  for i in 0 .. 60 {
    compute 0(i) init argmax: V[i], P[i]
    for k in 0 .. 2 {
      compute 0(i, k) accumulate argmax: V[i], P[i] <- X[i, -k + 1], affine(-k + 1)
    }
  }
}
)"},
    {"empty_tensors", R"(nest 1 empty class strict
loops i, j
buffer X: f64[0] argument align 8
buffer Y: f64[0, 3] argument align 8 output
buffer Z: f64[2] argument align 8 output
buffer h: f64[0] heap align 64
arguments X, Y, Z
body {
  alloc h {
    for i in 0 .. 0 {
      copy h[i] <- X[i]
      copy Y[i, 0] <- h[i]
    }
    for j in 0 .. 2 {
      compute 0(j) init max: Z[j]
    }
  }
}
)"},
};

}  // namespace

std::span<const PythonCase> program_cases() {
  return kPrograms;
}
std::span<const PythonCase> nest_cases() {
  return kNests;
}

std::string text_of_case(const std::string& name) {
  for (const auto& cases : {program_cases(), nest_cases()})
    for (const PythonCase& c : cases)
      if (c.name == name) return c.text;
  return {};
}

std::string operators_of(const std::string& type) {
  const bool is_real = type[0] == 'f';
  std::string text = "program p(N = 48)\nin A: " + type + "[N]\nin B: " + type + "[N]\nin c: bool[N]\n";
  int count = 0;
  const auto out = [&](const std::string& of, const std::string& value) {
    text += "out O" + std::to_string(count++) + "[i: N]: " + of + " = " + value + "\n";
  };
  for (const char* value : {"A[i] + B[i]", "A[i] - B[i]", "A[i] * B[i]", "-A[i]", "abs(B[i])", "min(A[i], B[i])",
                            "max(A[i], B[i])", "clamp(A[i], B[i], A[i + 1 - 2 * (i % 2)])", "select(c[i], A[i], B[i])"})
    out(type, value);
  for (const char* value : {"A[i] / B[i]", "sqrt(A[i])", "floor(A[i])", "ceil(A[i])", "round(A[i])"})
    if (is_real) out(type, value);
  for (const char* value : {"A[i] // B[i]", "A[i] % B[i]", "A[i] & B[i]", "A[i] | B[i]", "A[i] ^ B[i]", "~A[i]",
                            "A[i] << B[i]", "A[i] >> B[i]"})
    if (!is_real) out(type, value);
  for (const std::string to : {"f64", "f32", "i64", "i32", "i16", "i8", "u8"}) {
    out(to, to + "(A[i])");
    if (to[0] != 'f') out(to, "sat_" + to + "(B[i])");
  }
  for (const char* value : {"A[i] == B[i]", "A[i] != B[i]", "A[i] < B[i] or c[i]", "not (A[i] >= B[i])"})
    out("bool", value);
  return text + "out s: " + type + " = sum[i: N] A[i]\nout p: " + type +
         " = prod[i: N] B[i]\nout a = argmax[i: N] A[i]\n";
}

}  // namespace polyweft::backend_test
