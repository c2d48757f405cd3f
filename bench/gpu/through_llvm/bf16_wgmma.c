// C = A B^T, bf16 with sums in f32, C in bf16: one warpgroup copies tiles by TMA, two multiply 64 x COLUMNS each; tiles
// of 128 x COLUMNS x 64, swizzles of 128 bytes. The tensor maps lie in global memory. What build.sh may set:
//   COLUMNS (128, 192, 256), STAGES; IN_FLIGHT: products of one step that run on while the next is issued (0, 1);
//   GROUP: rows of tiles that follow each other before the next column (0: row by row); PERSISTENT: a block takes
//   several tiles; CLUSTER (1, 2): blocks that share their columns load half of B each and multicast it;
//   RELEASE_CLUSTER: see arrive_at; WIDE: lanes exchange results so that each stores 16 bytes.
#include "device.h"
#include "wgmma_call.inc"

#ifndef COLUMNS
#define COLUMNS 256
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef IN_FLIGHT
#define IN_FLIGHT 0
#endif
#ifndef GROUP
#define GROUP 0
#endif
#ifndef PERSISTENT
#define PERSISTENT 0
#endif
#ifndef CLUSTER
#define CLUSTER 1
#endif
#ifndef WIDE
#define WIDE 0
#endif
#ifdef RELEASE_CLUSTER
#define RELEASE ".release.cluster"
#else
#define RELEASE ""
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

enum { kA = 16384, kB = COLUMNS * 128, kStageBytes = kA + kB, kWords = COLUMNS / 2 };

extern SHARED unsigned char dynamic_shared[] __attribute__((aligned(1024)));
static SHARED u64 full[STAGES], empty[STAGES];

INLINE u32 address(SHARED void* p) {
  return (u32)(u64)p;
}
INLINE void init(u32 barrier, u32 count) {
  __asm__ volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
INLINE void expect(u32 barrier, u32 bytes) {
  __asm__ volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

/// On the barrier at the same address of block `rank` of the cluster. The default scope, a block, suffices: wgmma has
/// read the stage before. With .release.cluster ptxas adds a fence for the whole GPU: a third of the rate.
INLINE void arrive_at(u32 barrier, u32 rank) {
  __asm__ volatile("{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\nmbarrier.arrive" RELEASE
                   ".shared::cluster.b64 _, [remote];\n}" ::"r"(barrier),
                   "r"(rank)
                   : "memory");
}

INLINE void wait(u32 barrier, u32 parity) {
  u32 done;
  do {
    __asm__ volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
  } while (!done);
}

INLINE void load(u32 to, const GLOBAL void* map, u32 x, u32 y, u32 barrier) {
  __asm__ volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
          "r"(to),
      "l"(map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}

INLINE void load_for_both(u32 to, const GLOBAL void* map, u32 x, u32 y, u32 barrier) {
  __asm__ volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
      "{%2, %3}], [%4], %5;" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(barrier), "h"((u16)3)
      : "memory");
}

struct Place {
  u32 row, column;
};

/// Tile `number` of rows x columns tiles.
INLINE struct Place place_of(u32 number, u32 rows, u32 columns) {
  struct Place p = {number % columns, 0};
#if GROUP
  const u32 group = number / (GROUP * columns), within = number % (GROUP * columns);
  p.row = (group * GROUP + within % GROUP) * 128;
  p.column = within / GROUP * COLUMNS;
#else
  p.row = number % rows * 128;
  p.column = number / rows * COLUMNS;
#endif
  return p;
}

struct Work {
  const GLOBAL void *map_a, *map_b;
  GLOBAL u16* c;
  u32 n, k, base, first, step, count, rank;
};

INLINE void produce(const struct Work* w) {
  __asm__ volatile("setmaxnreg.dec.sync.aligned.u32 40;");
  if (thread_x() != 0) return;
  u32 s = 0;
  for (u32 tile = w->first; tile < w->count; tile += w->step) {
    const struct Place p = place_of(tile, w->n / 128, w->n / COLUMNS);
    for (u32 k0 = 0; k0 < w->k; k0 += 64, ++s) {
      const u32 stage = s % STAGES, at = w->base + stage * kStageBytes, barrier = address(&full[stage]);
      wait(address(&empty[stage]), (s / STAGES + 1) % 2);
      expect(barrier, kStageBytes);
      load(at, w->map_a, k0, p.row, barrier);
      if (CLUSTER == 1) load(at + kA, w->map_b, k0, p.column, barrier);
      if (CLUSTER == 2)
        load_for_both(at + kA + w->rank * (kB / 2), w->map_b, k0, p.column + w->rank * (COLUMNS / 2), barrier);
    }
  }
}

INLINE u64 descriptor(u32 at) {
  return (u64)(at >> 4 & 0x3FFF) | (u64)1 << 16 | (u64)64 << 32 | (u64)1 << 62;
}

INLINE void release(u32 stage, u32 t) {
  if (t % 128 < CLUSTER) arrive_at(address(&empty[stage]), CLUSTER == 1 ? 0 : t % 128);
}

INLINE u32 from_lane(u32 value, u32 mask) {
  u32 out;
  __asm__ volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, -1;" : "=r"(out) : "r"(value), "r"(mask));
  return out;
}

/// Four lanes with four words each: lane p gets word p of all.
INLINE void transpose_4(u32* w, u32 lane) {
  const u32 odd = lane & 1, high = lane & 2;
#pragma unroll
  for (u32 i = 0; i < 4; i += 2) {
    const u32 got = from_lane(odd ? w[i] : w[i + 1], 1);
    w[i] = odd ? got : w[i], w[i + 1] = odd ? w[i + 1] : got;
  }
#pragma unroll
  for (u32 i = 0; i < 2; ++i) {
    const u32 got = from_lane(high ? w[i] : w[i + 2], 2);
    w[i] = high ? got : w[i], w[i + 2] = high ? w[i + 2] : got;
  }
}

INLINE void store(const float* d, GLOBAL u16* out, u32 n, u32 lane) {
#if WIDE
#pragma unroll
  for (u32 i = 0; i < kWords / 16; ++i)
#pragma unroll
    for (u32 half = 0; half < 2; ++half) {
      u32 w[4];
#pragma unroll
      for (u32 j = 0; j < 4; ++j) w[j] = pack_bf16(d[16 * i + 4 * j + 2 * half], d[16 * i + 4 * j + 2 * half + 1]);
      transpose_4(w, lane);
      *(GLOBAL uint4v*)(out + (u64)(8 * half) * n + 32 * i + lane % 4 * 8) = (uint4v){w[0], w[1], w[2], w[3]};
    }
#else
#pragma unroll
  for (u32 i = 0; i < kWords / 4; ++i) {
    *(GLOBAL u32*)(out + 8 * i + lane % 4 * 2) = pack_bf16(d[4 * i], d[4 * i + 1]);
    *(GLOBAL u32*)(out + (u64)8 * n + 8 * i + lane % 4 * 2) = pack_bf16(d[4 * i + 2], d[4 * i + 3]);
  }
#endif
}

INLINE void multiply(const struct Work* w) {
  __asm__ volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  const u32 t = thread_x() - 128, group = t / 128, lane = t % 32, warp = t / 32 % 4;
  u32 s = 0;
  for (u32 tile = w->first; tile < w->count; tile += w->step) {
    const struct Place p = place_of(tile, w->n / 128, w->n / COLUMNS);
    float d[kWords];
#pragma unroll
    for (u32 i = 0; i < kWords; ++i) d[i] = 0;
    for (u32 k0 = 0; k0 < w->k; k0 += 64, ++s) {
      const u32 stage = s % STAGES, at = w->base + stage * kStageBytes;
      wait(address(&full[stage]), s / STAGES % 2);
      __asm__ volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (u32 i = 0; i < 4; ++i)
        JOIN(wgmma_, COLUMNS)(d, descriptor(at + group * 8192 + 32 * i), descriptor(at + kA + 32 * i));
      __asm__ volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned " TEXT(IN_FLIGHT) ";" ::
                           : "memory");
      if (!IN_FLIGHT) release(stage, t);
      if (IN_FLIGHT && k0 > 0) release((s - 1) % STAGES, t);
    }
    if (IN_FLIGHT) {
      __asm__ volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      release((s - 1) % STAGES, t);
    }
    store(d, w->c + (u64)(p.row + group * 64 + warp * 16 + lane / 4) * w->n + p.column, w->n, lane);
  }
}

INLINE void synchronize_cluster(void) {
  __asm__ volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

KERNEL void bf16_wgmma(const GLOBAL void* map_a, const GLOBAL void* map_b, GLOBAL u16* c, u32 n, u32 k) {
  const u32 count = n / 128 * (n / COLUMNS), blocks = __nvvm_read_ptx_sreg_nctaid_x();
  const struct Work w = {map_a,
                         map_b,
                         c,
                         n,
                         k,
                         address(dynamic_shared),
                         block_x(),
                         blocks,
                         PERSISTENT ? count : block_x() + 1,
                         block_x() % CLUSTER};
  if (thread_x() == 0) {
#pragma unroll
    for (u32 i = 0; i < STAGES; ++i) init(address(&full[i]), 1), init(address(&empty[i]), 2 * CLUSTER);
    __asm__ volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async;" ::: "memory");
  }
  if (CLUSTER > 1) synchronize_cluster();
  barrier();
  if (thread_x() < 128)
    produce(&w);
  else
    multiply(&w);
  if (CLUSTER > 1)
    __asm__ volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");  // the copying warp has diverged
}
