#include "opencl/axis_nests.h"

namespace polyweft::opencl_test {
namespace {

const AxisNest kNests[] = {
    // Blocks of 4 x 4 threads, one element each; the last blocks stand over the edge.
    {"product through shared tiles", R"(nest 1 gemm class reassoc
param M = 6
param N = 10
param K = 7
loops bi, bj, ti, tj, k0, k
buffer A: f32[6, 7] argument align 4 tensor 0 element [$0, $1]
buffer B: f32[7, 10] argument align 4 tensor 1 element [$0, $1]
buffer C: f32[6, 10] argument align 4 output tensor 2 element [$0, $1]
buffer As: f32[4, 8] shared fold 1 mod 4 align 64 tensor 0 element [bi + $0, $1]
buffer Bs: f32[8, 4] shared fold 0 mod 4 align 64 tensor 1 element [$0, bj + $1]
buffer acc: f32[1] stack align 64 tensor 2 element [bi + ti, bj + tj + $0]
arguments A, B, C
body {
  for bi in 0 .. 6 step 4 axis "block_y" {
    for bj in 0 .. 10 step 4 axis "block_x" {
      alloc As {
        alloc Bs {
          for ti in 0 .. 4 axis "thread_y" {
            for tj in 0 .. 4 axis "thread_x" {
              alloc acc {
                compute 0(bi + ti, bj + tj) init sum: acc[0]
                for k0 in 0 .. 7 step 4 {
                  copy As[ti, k0 + tj] <- A[bi + ti, k0 + tj] valid all(5 - bi - ti >= 0, 6 - k0 - tj >= 0) else 0:f32
                  copy Bs[k0 + ti, tj] <- B[k0 + ti, bj + tj] valid all(6 - k0 - ti >= 0, 9 - bj - tj >= 0) else 0:f32
                  sync block 0
                  for k in 0 .. min(4, -k0 + 7) {
                    compute 0(bi + ti, bj + tj, k0 + k) accumulate sum: acc[0] <- (As[ti, k0 + k] * Bs[k0 + k, tj])
                  }
                  sync block 1
                }
                if all(5 - bi - ti >= 0, 9 - bj - tj >= 0) {
                  copy C[bi + ti, bj + tj] <- acc[0] else 0:f32
                }
              }
            }
          }
        }
      }
    }
  }
}
)"},
    {"rows of threads", R"(nest 1 rows class reassoc
param M = 4
param N = 8
loops i, j
buffer X: f32[4, 8] argument align 4 tensor 0 element [$0, $1]
buffer Y: f32[4, 8] argument align 4 output tensor 1 element [$0, $1]
buffer row: f32[8] heap align 64 tensor 0 element [i, $0]
arguments X, Y
body {
  for i in 0 .. 4 axis "thread_y" {
    alloc row {
      for j in 0 .. 8 axis "thread_x" {
        copy row[j] <- X[i, j] else 0:f32
        sync block 0
        compute 0(i, -j + 7) store: Y[i, -j + 7] <- (row[-j + 7] * 2:f32)
      }
    }
  }
}
)"},
    {"rows of threads in memory of the block", R"(nest 1 rows class reassoc
param M = 4
param N = 8
loops i, j
buffer X: f32[4, 8] argument align 4 tensor 0 element [$0, $1]
buffer Y: f32[4, 8] argument align 4 output tensor 1 element [$0, $1]
buffer row: f32[8] stack align 64 tensor 0 element [i, $0]
arguments X, Y
body {
  for i in 0 .. 4 axis "thread_y" {
    alloc row {
      for j in 0 .. 8 axis "thread_x" {
        copy row[j] <- X[i, j] else 0:f32
        sync block 0
        compute 0(i, -j + 7) store: Y[i, -j + 7] <- (row[-j + 7] * 2:f32)
      }
    }
  }
}
)"},
    // Loops over threads end where all their iterations have ended; what stands beside them is one thread's.
    {"work beside loops over threads", R"(nest 1 sums class reassoc
param M = 5
param N = 8
loops i, j, k, l
buffer X: f32[5, 8] argument align 4 tensor 0 element [$0, $1]
buffer Y: f32[5] argument align 4 output tensor 1 element [$0]
buffer w: f32[8] shared align 64 tensor 2 element [i, $0]
buffer total: f32[1] shared align 64 tensor 3 element [i]
arguments X, Y
body {
  for i in 0 .. 5 axis "block_x" {
    alloc w {
      alloc total {
        for j in 0 .. 8 axis "thread_x" {
          compute 0(i, j) store: w[j] <- (X[i, j] * X[i, -j + 7])
        }
        compute 1(i) init sum: total[0]
        for k in 0 .. 8 {
          compute 1(i, k) accumulate sum: total[0] <- w[k]
        }
        for l in 0 .. 8 axis "thread_x" {
          compute 0(i, l) store: w[l] <- (w[l] + total[0])
        }
        compute 2(i) store: Y[i] <- (w[3] + w[7])
      }
    }
  }
}
)"},
    // An outer loop over threads with work of its own around an inner one.
    {"work between two axes", R"(nest 1 between class reassoc
param M = 4
param N = 6
loops i, j, k
buffer X: f32[4, 6] argument align 4 tensor 0 element [$0, $1]
buffer Y: f32[4, 6] argument align 4 output tensor 1 element [$0, $1]
buffer Z: f32[4] argument align 4 output tensor 2 element [$0]
arguments X, Y, Z
body {
  for i in 0 .. 4 axis "thread_y" {
    compute 0(i) store: Z[i] <- (X[i, 0] + X[i, 5])
    for j in 0 .. 6 axis "thread_x" {
      compute 1(i, j) store: Y[i, j] <- (X[i, j] * Z[i])
    }
    for k in 0 .. 6 {
      compute 0(i) store: Z[i] <- (Z[i] + Y[i, k])
    }
  }
}
)"},
    {"two sweeps in time", R"(nest 1 sweeps class reassoc
param T = 5
param N = 37
loops t, b, i, b2, i2
buffer X: f32[37] argument align 4 tensor 0 element [$0]
buffer Y: f32[37] argument align 4 output tensor 1 element [$0]
buffer w: f32[37] heap align 64 tensor 2 element [$0]
arguments X, Y
body {
  alloc w {
    for t in 0 .. 5 {
      for b in 0 .. 37 step 8 axis "block_x" {
        for i in b .. min(b + 8, 37) axis "thread_x" {
          if t - 1 >= 0 {
            compute 0(t, i) store: w[i] <- Y[i]
          } else {
            compute 0(t, i) store: w[i] <- X[i]
          }
        }
      }
      for b2 in 0 .. 37 step 16 axis "block_x" {
        for i2 in 0 .. min(16, -b2 + 37) axis "thread_x" {
          if all(b2 + i2 - 1 >= 0, 35 - b2 - i2 >= 0) {
            compute 1(t, b2 + i2) store: Y[b2 + i2] <- ((w[b2 + i2 - 1] + w[b2 + i2]) + w[b2 + i2 + 1])
          } else {
            compute 2(t, b2 + i2) store: Y[b2 + i2] <- w[b2 + i2]
          }
        }
      }
    }
  }
}
)"},
    // The host's loop bounds the kernel's; blocks without an iteration.
    {"a triangle of launches", R"(nest 1 triangle class reassoc
param N = 9
loops b0, i0, k, b, i
buffer X: f32[9, 9] argument align 4 tensor 0 element [$0, $1]
buffer Y: f32[9] argument align 4 output tensor 1 element [$0]
arguments X, Y
body {
  for b0 in 0 .. 9 step 4 axis "block_x" {
    for i0 in b0 .. min(b0 + 4, 9) axis "thread_x" {
      compute 0(i0) init sum: Y[i0]
    }
  }
  for k in 0 .. 9 {
    for b in k .. min(k + 9, 9) step 4 axis "block_x" {
      for i in 0 .. min(4, -b + 9) axis "thread_x" {
        compute 0(b + i, k) accumulate sum: Y[b + i] <- (X[b + i, k] * X[k, b + i])
      }
    }
  }
}
)"},
};

}  // namespace

std::span<const AxisNest> axis_nests() {
  return kNests;
}

std::string axis_nest(const std::string& name) {
  for (const AxisNest& nest : kNests)
    if (name == nest.name) return nest.text;
  return {};
}

const char* const kLargeTiles = R"(nest 1 large class reassoc
param B = 3
loops b, t, i, l, m
buffer X: f32[18432] argument align 4 tensor 0 element [$0]
buffer Y: f32[18432] argument align 4 output tensor 1 element [$0]
buffer S: f32[6144] shared align 64 tensor 0 element [6144*b + $0]
buffer D: f32[6208] shared align 64 tensor 2 element [6144*b + $0]
arguments X, Y
body {
  for b in 0 .. 3 axis "block_x" {
    alloc S {
      alloc D {
        for t in 0 .. 128 axis "thread_x" {
          for i in 0 .. 48 {
            copy S[128*i + t] <- X[6144*b + 128*i + t] else 0:f32
          }
          sync block 0
          for l in 0 .. 48 {
            compute 0(b, l, t) store: D[-128*l - t + 6143] <- (S[-128*l - t + 6143] * 2:f32)
          }
          sync block 1
          for m in 0 .. 48 {
            compute 1(b, m, t) store: Y[6144*b + 128*m + t] <- (D[-128*m - t + 6143] + S[128*m + t])
          }
        }
      }
    }
  }
}
)";

}  // namespace polyweft::opencl_test
