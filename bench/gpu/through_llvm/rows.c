// Softmax of rows held in registers, and transposes through swizzled shared memory, f32.
//   softmax: one block a row of THREADS * VECTORS * 4 columns.
#include "device.h"

#ifndef THREADS
#define THREADS 256
#endif
#ifndef VECTORS
#define VECTORS 4
#endif

static SHARED float partial[32];

INLINE float lane_max(float v) {
#pragma unroll
  for (u32 m = 16; m > 0; m /= 2) {
    float other;
    __asm__ volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, -1;" : "=f"(other) : "f"(v), "r"(m));
    v = __builtin_fmaxf(v, other);
  }
  return v;
}

INLINE float lane_sum(float v) {
#pragma unroll
  for (u32 m = 16; m > 0; m /= 2) {
    float other;
    __asm__ volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, -1;" : "=f"(other) : "f"(v), "r"(m));
    v += other;
  }
  return v;
}

INLINE float block_max(float v) {
  v = lane_max(v);
  if (thread_x() % 32 == 0) partial[thread_x() / 32] = v;
  barrier();
  v = lane_max(partial[thread_x() % (THREADS / 32)]);
  barrier();
  return v;
}

INLINE float block_sum(float v) {
  v = lane_sum(v);
  if (thread_x() % 32 == 0) partial[thread_x() / 32] = v;
  barrier();
  const u32 lane = thread_x() % 32;
  v = lane_sum(lane < THREADS / 32 ? partial[lane] : 0);
  barrier();
  return v;
}

INLINE float exp2_fast(float x) {
  float y;
  __asm__("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

KERNEL void softmax(const GLOBAL float* in, GLOBAL float* out) {
  const u32 t = thread_x();
  const GLOBAL float4* row = (const GLOBAL float4*)in + (u64)block_x() * (THREADS * VECTORS);
  float4 v[VECTORS];
#pragma unroll
  for (u32 i = 0; i < VECTORS; ++i) v[i] = row[t + i * THREADS];
  float most = v[0][0];
#pragma unroll
  for (u32 i = 0; i < VECTORS * 4; ++i) most = __builtin_fmaxf(most, v[i / 4][i % 4]);
  most = block_max(most) * 1.44269504f;
  float sum = 0;
#pragma unroll
  for (u32 i = 0; i < VECTORS * 4; ++i) {
    v[i / 4][i % 4] = exp2_fast(v[i / 4][i % 4] * 1.44269504f - most);
    sum += v[i / 4][i % 4];
  }
  const float scale = 1.0f / block_sum(sum);
  GLOBAL float4* to = (GLOBAL float4*)out + (u64)block_x() * (THREADS * VECTORS);
#pragma unroll
  for (u32 i = 0; i < VECTORS; ++i) to[t + i * THREADS] = v[i] * scale;
}

static SHARED float tile[64 * 64];

/// Tiles of 64 x 64 words, 256 threads; columns of 4 words are xored with the row over 4, so that both directions read
/// and write 16 bytes without conflicts.
KERNEL void transpose(const GLOBAL float* in, GLOBAL float* out, u32 n) {
  const u32 t = thread_x(), row = block_y() * 64, column = block_x() * 64;
#pragma unroll
  for (u32 i = 0; i < 4; ++i) {
    const u32 r = t / 16 + 16 * i, chunk = t % 16;
    *(SHARED float4*)&tile[r * 64 + (chunk ^ (r / 4)) * 4] =
        *(const GLOBAL float4*)(in + (u64)(row + r) * n + column + chunk * 4);
  }
  barrier();
#pragma unroll
  for (u32 i = 0; i < 4; ++i) {
    const u32 r = t / 16 + 16 * i, chunk = t % 16;
    float4 v;
#pragma unroll
    for (u32 j = 0; j < 4; ++j) v[j] = tile[(chunk * 4 + j) * 64 + ((r / 4) ^ chunk) * 4 + r % 4];
    *(GLOBAL float4*)(out + (u64)(column + r) * n + row + chunk * 4) = v;
  }
}
