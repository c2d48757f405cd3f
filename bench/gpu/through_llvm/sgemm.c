// C = A B in f32, row-major, multiples of 128 and 16: tiles of 128 x 128 x 16 in shared memory, 8 x 8 a thread.
#include "device.h"

static SHARED float a_tile[2][16][132];
static SHARED float b_tile[2][16][128];

struct Fetched {
  float4 a[2], b[2];
};

INLINE struct Fetched fetch(const GLOBAL float* a, const GLOBAL float* b, u32 n, u32 k, u32 row, u32 column, u32 k0) {
  struct Fetched f;
  const u32 t = thread_x();
#pragma unroll
  for (u32 i = 0; i < 2; ++i) {
    const u32 chunk = t + 256 * i;
    f.a[i] = *(const GLOBAL float4*)(a + (row + chunk / 4) * k + k0 + chunk % 4 * 4);
    f.b[i] = *(const GLOBAL float4*)(b + (k0 + chunk / 32) * n + column + chunk % 32 * 4);
  }
  return f;
}

INLINE void put(struct Fetched f, u32 stage) {
  const u32 t = thread_x();
#pragma unroll
  for (u32 i = 0; i < 2; ++i) {
    const u32 chunk = t + 256 * i;
#pragma unroll
    for (u32 j = 0; j < 4; ++j) a_tile[stage][chunk % 4 * 4 + j][chunk / 4] = f.a[i][j];
    *(SHARED float4*)&b_tile[stage][chunk / 32][chunk % 32 * 4] = f.b[i];
  }
}

KERNEL void sgemm(const GLOBAL float* a, const GLOBAL float* b, GLOBAL float* c, u32 n, u32 k) {
  const u32 row = block_y() * 128, column = block_x() * 128, t = thread_x();
  const u32 y = t / 16 * 4, x = t % 16 * 4;
  float4 sum[8][2];
#pragma unroll
  for (u32 i = 0; i < 8; ++i) sum[i][0] = 0, sum[i][1] = 0;
  put(fetch(a, b, n, k, row, column, 0), 0);
  barrier();
  for (u32 k0 = 0; k0 < k; k0 += 16) {
    const u32 stage = k0 / 16 % 2;
    struct Fetched next;
    if (k0 + 16 < k) next = fetch(a, b, n, k, row, column, k0 + 16);
#pragma unroll
    for (u32 p = 0; p < 16; ++p) {
      const float4 a0 = *(SHARED float4*)&a_tile[stage][p][y], a1 = *(SHARED float4*)&a_tile[stage][p][y + 64];
      const float4 b0 = *(SHARED float4*)&b_tile[stage][p][x], b1 = *(SHARED float4*)&b_tile[stage][p][x + 64];
#pragma unroll
      for (u32 i = 0; i < 4; ++i) {
        sum[i][0] += a0[i] * b0, sum[i][1] += a0[i] * b1;
        sum[i + 4][0] += a1[i] * b0, sum[i + 4][1] += a1[i] * b1;
      }
    }
    if (k0 + 16 < k) put(next, 1 - stage);
    barrier();
  }
#pragma unroll
  for (u32 i = 0; i < 8; ++i) {
    GLOBAL float* out = c + (row + y + i % 4 + i / 4 * 64) * n + column + x;
    *(GLOBAL float4*)out = sum[i][0];
    *(GLOBAL float4*)(out + 64) = sum[i][1];
  }
}
