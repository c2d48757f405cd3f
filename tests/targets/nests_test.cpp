// A table of nests, each compiled for every target this machine runs: the bits of the interpreter.
#include <gtest/gtest.h>

#include <algorithm>

#include "targets/count_of.h"
#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

struct NestCase {
  const char* name;
  const char* text;
};

const NestCase kNestCases[] = {
    {"packed_gemm", R"(nest 1 gemm class reassoc
param M = 10
param N = 33
param K = 7
loops jc, ic, jr, kp, pv, i0, u0, v0, k, i1, u1, v1, i2, u2, v2
buffer A: f32[10, 7] argument align 4
buffer B: f32[7, 33] argument align 4
buffer C: f32[10, 33] argument align 4 output
buffer Bp: f32[2, 7, 32] heap layout [1:7, 0:2, 2:32] pad [0, 1, 0] align 64
buffer acc: f32[5, 2, 16] reg align 64
arguments A, B, C
body {
  alloc Bp {
    for jc in 0 .. 2 {
      for kp in 0 .. 7 {
        for pv in 0 .. 32 vector 32 {
          copy Bp[jc, kp, pv] <- B[kp, 32*jc + pv] valid -32*jc - pv + 32 >= 0 else 0:f32
        }
      }
    }
    for ic in 0 .. 2 parallel {
      for jr in 0 .. 2 {
        alloc acc {
          for i0 in 0 .. 5 unroll {
            for u0 in 0 .. 2 unroll {
              for v0 in 0 .. 16 vector 16 {
                compute 0(5*ic + i0, 32*jr + 16*u0 + v0) init sum: acc[i0, u0, v0]
              }
            }
          }
          for k in 0 .. 7 {
            for i1 in 0 .. 5 unroll {
              for u1 in 0 .. 2 unroll {
                for v1 in 0 .. 16 vector 16 {
                  compute 0(5*ic + i1, 32*jr + 16*u1 + v1, k) accumulate sum fused: acc[i1, u1, v1] <- (A[5*ic + i1, k] * Bp[jr, k, 16*u1 + v1])
                }
              }
            }
          }
          for i2 in 0 .. 5 unroll {
            for u2 in 0 .. 2 unroll {
              for v2 in 0 .. min(16, -32*jr - 16*u2 + 33) vector 16 non_temporal {
                copy C[5*ic + i2, 32*jr + 16*u2 + v2] <- acc[i2, u2, v2]
              }
            }
          }
        }
      }
    }
  }
}
)"},
    {"registers_loaded_and_kept_across_branches", R"(nest 1 keep class strict
loops i, k, u0, v0, u1, v1, u2, v2, u3, v3
buffer X: f64[6, 32] argument align 8
buffer Y: f64[32] argument align 8 output
buffer r: f64[2, 16] reg align 64
arguments X, Y
body {
  alloc r {
    for u0 in 0 .. 2 unroll {
      for v0 in 0 .. 16 vector 16 {
        copy r[u0, v0] <- Y[16*u0 + v0]
      }
    }
    for i in 0 .. 6 {
      if all(i - 1 >= 0, -i + 4 >= 0) {
        for k in i .. 6 {
          for u1 in 0 .. 2 unroll {
            for v1 in 0 .. 16 vector 16 {
              compute 0(i, k) accumulate sum: r[u1, v1] <- (X[k, 16*u1 + v1] - X[i, 16*u1 + v1])
            }
          }
        }
      } else {
        for u3 in 0 .. 1 unroll {
          for v3 in 0 .. 16 vector 16 {
            compute 1(i) store: r[1, v3] <- neg(r[0, v3])
          }
        }
      }
    }
    for u2 in 0 .. 2 unroll {
      for v2 in 0 .. 16 vector 16 {
        copy Y[16*u2 + v2] <- r[u2, v2]
      }
    }
  }
}
)"},
    {"registers_first_written_under_an_open_mask_or_inside_a_loop", R"(nest 1 masked class strict
param N = 21
loops j, v0, k, v1, v2, t, v3, v4
buffer X: f32[3, 21] argument align 4
buffer Y: f32[21] argument align 4 output
buffer Z: f32[16] argument align 4 output
buffer r: f32[16] reg align 64
buffer s: f32[16] reg align 64
arguments X, Y, Z
body {
  for j in 0 .. 2 {
    alloc r {
      for v0 in 0 .. min(16, -16*j + N) vector 16 {
        copy r[v0] <- Y[16*j + v0]
      }
      for k in 0 .. 3 {
        for v1 in 0 .. min(16, -16*j + N) vector 16 {
          compute 0(j, k, v1) accumulate sum: r[v1] <- X[k, 16*j + v1]
        }
      }
      for v2 in 0 .. min(16, -16*j + N) vector 16 {
        copy Y[16*j + v2] <- r[v2]
      }
    }
  }
  alloc s {
    for t in 0 .. 3 {
      if t == 0 {
        for v3 in 0 .. 16 vector 16 {
          copy s[v3] <- X[0, v3]
        }
      } else {
        for v4 in 0 .. 16 vector 16 {
          compute 1(t, v4) store: Z[v4] <- (s[v4] - X[t, v4])
        }
      }
    }
  }
}
)"},
    {"lanes_are_merged_in_registers_and_streamed", R"(nest 1 streams class reassoc
loops i, v0, k, v1, v2, m1, m2, m3, j, v3
buffer X: f32[5, 48] argument align 4
buffer Y: f32[5, 32] argument align 4 output
buffer s: f32[1] heap align 64
buffer a: f32[16] reg align 64
buffer r: f32[16] reg align 64
arguments X, Y
body {
  for i in 0 .. 5 {
    alloc s {
      alloc a {
        for v0 in 0 .. 16 vector 16 {
          compute 0(i) init sum: a[v0]
        }
        for k in 0 .. 48 step 16 {
          for v1 in 0 .. 16 vector 16 prefetch X[1, 0] {
            compute 0(i, k + v1) accumulate sum: a[v1] <- X[i, k + v1]
          }
        }
        alloc r {
          for v2 in 0 .. 16 vector 16 {
            copy r[v2] <- a[v2]
          }
          for m1 in 0 .. 8 vector 8 {
            compute 0(i) merge sum: r[m1] <- r[m1 + 8]
          }
          for m2 in 0 .. 4 vector 4 {
            compute 0(i) merge sum: r[m2] <- r[m2 + 4]
          }
          for m3 in 0 .. 2 vector 2 {
            compute 0(i) merge sum: r[m3] <- r[m3 + 2]
          }
          compute 0(i) merge sum: r[0] <- r[1]
          copy s[0] <- r[0]
        }
      }
      for j in 0 .. 32 step 16 {
        for v3 in 0 .. 16 vector 16 non_temporal {
          compute 1(i, j + v3) store: Y[i, j + v3] <- (X[i, j + v3] - s[0])
        }
      }
    }
  }
}
)"},
    {"one_active_lane_of_a_narrow_type_stores_its_bytes_only", R"(nest 1 lane class strict
loops y, v, w
buffer X: bf16[6, 19] argument align 2
buffer I: i32[6, 8] argument align 4
buffer P: bf16[6, 16] argument align 2 output
buffer Q: u8[6, 8] argument align 1 output
arguments X, I, P, Q
body {
  for y in 0 .. 6 {
    for v in 0 .. 1 vector 5 {
      compute 0(y, v) store: P[y, v + 15] <- (X[y, v + 3] - X[y, v])
    }
    for w in 0 .. 1 vector 8 {
      compute 1(y, w) store: Q[y, w + 7] <- convert:u8((I[y, w] + I[y, w + 1]))
    }
  }
}
)"},
    {"gathers_scalar_and_vector", R"(nest 1 gather class strict
loops i, v, j
buffer T: f32[50] argument align 4
buffer I: u8[40] argument align 1
buffer Y: f32[40] argument align 4 output
arguments T, I, Y
body {
  for i in 0 .. 5 {
    for v in 0 .. min(16, -9*i + 40) vector 16 {
      compute 0(9*i + v) store: Y[9*i + v] <- T[3 + {convert:i64((I[9*i + v] & 31:u8)) in 0 .. 31}]
    }
  }
  for j in 3 .. 11 step 3 {
    compute 1(j) accumulate max: Y[j] <- T[j + {convert:i64((I[j] >> 4:u8)) in 0 .. 15}]
  }
}
)"},
    {"argmax_with_ties_and_nans", R"(nest 1 best class strict
loops i, k
buffer X: f32[9, 30] argument align 4
buffer V: f32[9] argument align 4 output
buffer P: i64[9] argument align 8 output
arguments X, V, P
body {
  for i in 0 .. 9 {
    compute 0(i) init argmax: V[i], P[i]
    for k in 0 .. 30 {
      compute 0(i, k) accumulate argmax: V[i], P[i] <- X[i, -k + 29], affine(-k + 29)
    }
  }
}
)"},
    {"combiner_with_tuple_state_vectorized", R"(nest 1 online class strict
loops i, v0, k, v1
combine soft types (f32, f32) from (-inf:f32, 0:f32) associative = (max($0, $2), (($1 * exp(($0 - max($0, $2)))) + ($3 * exp(($2 - max($0, $2))))))
buffer X: f32[12, 16] argument align 4
buffer M: f32[16] argument align 4 output
buffer S: f32[16] argument align 4 output
arguments X, M, S
body {
  for v0 in 0 .. 16 vector 16 {
    compute 0(v0) init combiner 0: M[v0], S[v0]
  }
  for k in 0 .. 12 {
    for v1 in 0 .. 16 vector 16 {
      compute 0(v1, k) accumulate combiner 0: M[v1], S[v1] <- X[k, v1], 1:f32
    }
  }
}
)"},
    {"folded_window_and_mixed_radix_layout", R"(nest 1 fold class strict
param N = 20
loops t, x, y, z
buffer X: f32[24] argument align 4
buffer Y: f32[24] argument align 4 output
buffer w: f32[21, 24] heap layout [1:3, 0:2, 1:8] fold 0 mod 2 align 64
arguments X, Y
body {
  alloc w {
    for x in 0 .. 24 {
      copy w[0, x] <- X[x]
    }
    for t in 1 .. N + 1 {
      for y in 0 .. 24 {
        compute 0(t, y) store: w[t, y] <- ((w[t - 1, clamp(y - 1, 0, 23)] * 0.5:f32) + w[t - 1, y])
      }
    }
    for z in 0 .. 24 {
      copy Y[z] <- w[N, z]
    }
  }
}
)"},
    {"constants_guards_and_quasi_terms", R"(nest 1 consts class strict
param N = 11
loops i, j, v
buffer X: i32[11, 16] argument align 4
buffer Y: i32[11, 16] argument align 4 output
buffer c: i32[4] constant align 64 data [3:i32, -1:i32, 7:i32, 0:i32]
buffer s: i32[16] stack align 64
arguments X, Y
body {
  for i in 0 .. N {
    alloc s {
      for j in 0 .. 16 {
        compute 0(i, j) store: s[j] <- guarded(j - 3 >= 0; X[i, j - 3], c[floor(j / 2)])
      }
      for v in 0 .. 16 vector 16 {
        compute 1(i, v) store: Y[i, v] <- guarded(all(v - i >= 0, any(v - 4 >= 0, i - 3 == 0)); (s[-i + v] + c[floor(i / 4)]), floor_div(s[clamp(v, 0, 9)], X[floor(i + v / 3), v]))
      }
    }
  }
}
)"},
    {"strided_and_reversed_vectors", R"(nest 1 strides class strict
loops i, v, w, z
buffer X: i16[200] argument align 2
buffer Y: i16[200] argument align 2 output
arguments X, Y
body {
  for v in 0 .. 16 vector 16 {
    compute 0(v) store: Y[3*v] <- X[-v + 150]
  }
  for i in 0 .. 3 {
    for w in 0 .. min(8, -7*i + 20) vector 8 {
      compute 1(i, w) store: Y[50 + 7*i + w] <- (X[2*w + 11*i] + X[5])
    }
  }
  for z in 0 .. 13 vector 16 {
    if z - 5 >= 0 {
      compute 2(z) store: Y[z + 100] <- (X[z] - convert:i16(z))
    } else {
      copy Y[z + 140] <- X[z]
    }
  }
}
)"},
    {"triangles_and_nested_parallel_with_workspaces", R"(nest 1 tri class strict
param N = 13
loops i, p, j, k, q
buffer X: f64[13, 13] argument align 8
buffer L: f64[13, 13] argument align 8 output
buffer h: f64[13] heap align 64
arguments X, L
body {
  for p in 0 .. N step 4 parallel {
    alloc h {
      for i in p .. min(N, p + 4) {
        for j in 0 .. i + 1 {
          compute 0(i, j) init sum: h[j]
          for k in max(0, j - 3) .. min(j + 1, N) {
            compute 0(i, j, k) accumulate sum fused: h[j] <- (X[i, k] * X[j, k])
          }
        }
        for q in 0 .. i + 1 {
          compute 1(i, q) store: L[i, q] <- (h[q] / sqrt(abs(h[i])))
        }
      }
    }
  }
}
)"},
    {"bools_and_narrow_floats", R"(nest 1 narrow class strict
loops i, v, w
buffer A: f16[40] argument align 2
buffer B: bf16[40] argument align 2
buffer F: bool[40] argument align 1
buffer Y: f16[40] argument align 2 output
arguments A, B, F, Y
body {
  for i in 0 .. 2 {
    for v in 0 .. 16 vector 16 {
      compute 0(i, v) store: Y[16*i + v] <- select(logical_or(F[16*i + v], (A[16*i + v] < convert:f16(B[16*i + v]))), (A[16*i + v] * convert:f16(B[39 - 16*i - v])), exp(A[16*i + v]))
    }
  }
  for w in 32 .. 40 {
    compute 1(w) accumulate sum fused: Y[w] <- (A[w] * A[w - 1])
  }
}
)"},
    {"lanes_past_the_end_of_a_register_row", R"(nest 1 short_rows class reassoc
loops i0, v0, k, i1, v1, i2, v2, i4, v4, k2, i5, v5, i3, v3
buffer A: f32[3, 9] argument align 4
buffer B: f32[9, 16] argument align 4
buffer Y: f32[3, 6] argument align 4 output
buffer Z: f32[3, 16] argument align 4 output
buffer acc: f32[3, 16] reg align 64
buffer wide: f32[3, 16] reg align 64
arguments A, B, Y, Z
body {
  seq {
    alloc acc {
      for i0 in 0 .. 3 unroll {
        for v0 in 0 .. 6 vector 16 {
          compute 0(i0, v0) init sum: acc[i0, v0]
        }
      }
      for k in 0 .. 9 {
        for i1 in 0 .. 3 unroll {
          for v1 in 0 .. 6 vector 16 {
            compute 0(i1, v1, k) accumulate sum fused: acc[i1, v1] <- (A[i1, k] * B[k, v1])
          }
        }
      }
      for i2 in 0 .. 3 unroll {
        for v2 in 0 .. 6 vector 16 {
          copy Y[i2, v2] <- acc[i2, v2] else 0:f32
        }
      }
    }
    alloc wide {
      for i4 in 0 .. 3 unroll {
        for v4 in 0 .. 16 vector 16 {
          compute 1(i4, v4) store: wide[i4, v4] <- B[i4, v4]
        }
      }
      for k2 in 0 .. 9 {
        for i5 in 0 .. 3 unroll {
          for v5 in 0 .. 6 vector 16 {
            compute 1(i5, v5, k2) accumulate sum fused: wide[i5, v5] <- (A[i5, k2] * B[k2, v5])
          }
        }
      }
      for i3 in 0 .. 3 unroll {
        for v3 in 0 .. 16 vector 16 {
          copy Z[i3, v3] <- wide[i3, v3] else 0:f32
        }
      }
    }
  }
}
)"},
};

TEST(Nests, every_construct_gives_the_bits_of_the_interpreter) {
  for (const NestCase& c : kNestCases) {
    SCOPED_TRACE(c.name);
    const LoopNest nest = parsed(c.text);
    if (nest.nodes.empty()) continue;
    expect_same_bits(nest, 4);
  }
}

const char* case_text(const std::string& name) {
  return std::find_if(std::begin(kNestCases), std::end(kNestCases), [&](const NestCase& c) { return c.name == name; })
      ->text;
}

// Blends of lanes that nothing reads would lengthen every step of the sums.
TEST(Nests, lanes_that_nothing_reads_are_not_kept) {
  const auto blends = [](const std::string& nest) {
    auto code = targets::llvm_text(parsed(nest), runnable_targets().front(), "rows");
    return count_of("select <16 x i1>", code ? *code : "");
  };
  EXPECT_EQ(blends(case_text("lanes_past_the_end_of_a_register_row")),
            3u);  // the rows of `wide` alone: 16 lanes are read of them, 6 are summed
}

// Lanes j - i of both signs in one vector, all above, all below: loops on both sides, with a copy in registers and in
// memory.
TEST(Nests, loops_may_stand_under_conditions_of_lanes) {
  for (const char* scope : {"stack", "reg"}) {
    SCOPED_TRACE(scope);
    const LoopNest nest = parsed(std::string("nest 1 sides class reassoc\nloops i, v, j, k, m\nbuffer X: f32[40] "
                                             "argument align 4\nbuffer Y: f32[24, 40] argument align 4 output\n"
                                             "buffer s: f32[8] ") +
                                 scope + " align 64\n" + R"(arguments X, Y
body {
  for i in 0 .. 24 step 8 {
    for j in 0 .. 40 {
      alloc s {
        for v in 0 .. 8 vector 8 {
          compute 0(i + v, j) init sum: s[v]
          if j - i - v >= 0 {
            for k in 0 .. j {
              compute 0(i + v, j, k) accumulate sum: s[v] <- X[k]
            }
          } else {
            for m in j .. 40 step 3 {
              compute 0(i + v, j, m) accumulate sum: s[v] <- (X[m] * X[m])
            }
          }
          compute 1(i + v, j) store: Y[i + v, j] <- s[v]
        }
      }
    }
  }
}
)");
    expect_same_bits(nest, 1);
  }
}

}  // namespace
}  // namespace polyweft::targets_test
