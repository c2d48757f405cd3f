// C = A B^T, bf16 with sums in f32, C in bf16: cp.async, ldmatrix, mma.sync; tiles of 128 x 128 x 32, STAGES stages
// (4), rows of 64 bytes whose 16-byte chunks are xored with bits 1 and 2 of the row. Eight warps of 64 x 32.
#include "device.h"

#ifndef STAGES
#define STAGES 4
#endif
enum { kStages = STAGES, kStageBytes = 16384 };

extern SHARED unsigned char dynamic_shared[] __attribute__((aligned(128)));

INLINE u32 chunk_offset(u32 row, u32 chunk) {
  return row * 64 + ((chunk ^ (row / 2 % 4)) * 16);
}

INLINE void copy_16(u32 to, const GLOBAL void* from) {
  __asm__ volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

INLINE void load_stage(u32 base, const GLOBAL u16* a, const GLOBAL u16* b, u32 k, u32 row, u32 column, u32 k0) {
  const u32 t = thread_x();
#pragma unroll
  for (u32 i = 0; i < 2; ++i) {
    const u32 r = (t + 256 * i) / 4, chunk = t % 4;
    copy_16(base + chunk_offset(r, chunk), a + (u64)(row + r) * k + k0 + chunk * 8);
    copy_16(base + 8192 + chunk_offset(r, chunk), b + (u64)(column + r) * k + k0 + chunk * 8);
  }
}

INLINE void load_matrices(u32* r, u32 address) {
  __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                   : "r"(address)
                   : "memory");
}

INLINE void multiply(float* d, const u32* a, const u32* b) {
  __asm__ volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

KERNEL void bf16_mma(const GLOBAL u16* a, const GLOBAL u16* b, GLOBAL u16* c, u32 n, u32 k) {
  const u32 row = block_y() * 128, column = block_x() * 128, t = thread_x(), lane = t % 32, warp = t / 32;
  const u32 wy = warp / 4 * 64, wx = warp % 4 * 32;
  const u32 base = (u32)(u64)(SHARED void*)dynamic_shared;
  float d[4][4][4];
#pragma unroll
  for (u32 i = 0; i < 64; ++i) d[i / 16][i / 4 % 4][i % 4] = 0;
  const u32 steps = k / 32;
#pragma unroll
  for (u32 s = 0; s < kStages - 1; ++s) {
    if (s < steps) load_stage(base + s * kStageBytes, a, b, k, row, column, s * 32);
    __asm__ volatile("cp.async.commit_group;" ::: "memory");
  }
  for (u32 s = 0; s < steps; ++s) {
    __asm__ volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
    barrier();
    const u32 ahead = s + kStages - 1;
    if (ahead < steps) load_stage(base + ahead % kStages * kStageBytes, a, b, k, row, column, ahead * 32);
    __asm__ volatile("cp.async.commit_group;" ::: "memory");
    const u32 stage = base + s % kStages * kStageBytes;
#pragma unroll
    for (u32 half = 0; half < 2; ++half) {
      u32 fa[4][4], fb[4][2];
#pragma unroll
      for (u32 i = 0; i < 4; ++i)
        load_matrices(fa[i], stage + chunk_offset(wy + 16 * i + lane % 16, 2 * half + lane / 16));
#pragma unroll
      for (u32 i = 0; i < 2; ++i) {
        u32 r[4];
        load_matrices(r, stage + 8192 + chunk_offset(wx + 16 * i + lane / 16 * 8 + lane % 8, 2 * half + lane / 8 % 2));
        fb[2 * i][0] = r[0], fb[2 * i][1] = r[1], fb[2 * i + 1][0] = r[2], fb[2 * i + 1][1] = r[3];
      }
#pragma unroll
      for (u32 i = 0; i < 4; ++i)
#pragma unroll
        for (u32 j = 0; j < 4; ++j) multiply(d[i][j], fa[i], fb[j]);
    }
  }
#pragma unroll
  for (u32 i = 0; i < 4; ++i)
#pragma unroll
    for (u32 j = 0; j < 4; ++j) {
      GLOBAL u16* out = c + (u64)(row + wy + 16 * i + lane / 4) * n + column + wx + 8 * j + lane % 4 * 2;
      *(GLOBAL u32*)out = pack_bf16(d[i][j][0], d[i][j][1]);
      *(GLOBAL u32*)(out + 8 * n) = pack_bf16(d[i][j][2], d[i][j][3]);
    }
}
