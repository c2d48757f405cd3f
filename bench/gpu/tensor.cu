// Rates and latencies of mma.sync and wgmma, by type, shape, warps and where A lies.
#include "measure.h"
#include "wgmma_shapes.inc"

namespace {

using measure::Buffer;
using measure::print;

#define MMA_4424(Name, text, k)                                                                     \
  struct Name {                                                                                     \
    static constexpr const char* name = "mma.sync." text;                                           \
    static constexpr int depth = k;                                                                 \
    static __device__ __forceinline__ void run(uint32_t* d, const uint32_t* a, const uint32_t* b) { \
      asm volatile("mma.sync.aligned." text " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"   \
                   : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                 \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));             \
    }                                                                                               \
  };
#define MMA_4214(Name, text, k)                                                                     \
  struct Name {                                                                                     \
    static constexpr const char* name = "mma.sync." text;                                           \
    static constexpr int depth = k;                                                                 \
    static __device__ __forceinline__ void run(uint32_t* d, const uint32_t* a, const uint32_t* b) { \
      asm volatile("mma.sync.aligned." text " {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"            \
                   : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                 \
                   : "r"(a[0]), "r"(a[1]), "r"(b[0]));                                              \
    }                                                                                               \
  };
MMA_4424(Bf16, "m16n8k16.row.col.f32.bf16.bf16.f32", 16)
MMA_4214(Bf16K8, "m16n8k8.row.col.f32.bf16.bf16.f32", 8)
MMA_4424(F16, "m16n8k16.row.col.f32.f16.f16.f32", 16)
MMA_4424(Tf32, "m16n8k8.row.col.f32.tf32.tf32.f32", 8)
MMA_4424(S8, "m16n8k32.row.col.s32.s8.s8.s32", 32)
MMA_4424(S4, "m16n8k64.row.col.s32.s4.s4.s32", 64)
MMA_4424(E4m3, "m16n8k32.row.col.f32.e4m3.e4m3.f32", 32)
struct Half {
  static constexpr const char* name = "mma.sync.m16n8k16.row.col.f16.f16.f16.f16";
  static constexpr int depth = 16;
  static __device__ __forceinline__ void run(uint32_t* d, const uint32_t* a, const uint32_t* b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1},{%2,%3,%4,%5},{%6,%7},{%0,%1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};

/// What ptxas builds of other instructions must not leave the loop, so its operands change.
template <class Op, int tiles, bool emulated>
__global__ void __launch_bounds__(1024) products(const uint32_t* in, uint32_t* out, long long* cycles, int loops) {
  uint32_t a[4], b[2], d[tiles][4];
  for (int i = 0; i < 4; ++i) a[i] = in[threadIdx.x * 8 + i];
  for (int i = 0; i < 2; ++i) b[i] = in[threadIdx.x * 8 + 4 + i];
  for (int t = 0; t < tiles; ++t)
    for (int i = 0; i < 4; ++i) d[t][i] = 0;
  __syncthreads();
  const long long begin = clock64();
  for (int k = 0; k < loops; ++k) {
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
      if (emulated) a[t % 4] += 1;
      Op::run(d[t], a, b);
    }
  }
  __syncthreads();
  const long long end = clock64();
  uint32_t all = 0;
  for (int t = 0; t < tiles; ++t)
    for (int i = 0; i < 4; ++i) all ^= d[t][i];
  if (all == 0x12345678) out[0] = all;
  if (threadIdx.x == 0 && blockIdx.x == 0) cycles[0] = end - begin;
}

/// Random bf16, f16 or narrower data near 1: both halves of a word have moderate exponents.
std::vector<uint32_t> data_near_one(size_t count) {
  std::vector<uint32_t> out(count);
  uint32_t h = 12345;
  for (uint32_t& word : out) h = h * 1664525u + 1013904223u, word = (h >> 3 & 0x83FF83FFu) | 0x38003800u;
  return out;
}

template <class Op, bool emulated = false>
void mma_rates() {
  const auto data = data_near_one(8 * 1024);
  Buffer<uint32_t> in(data.size()), out(1);
  Buffer<long long> cycles(1);
  cudaMemcpy(in.data(), data.data(), 4 * data.size(), cudaMemcpyHostToDevice);
  const int sms = measure::multiprocessors(), loops = 2048;
  const double flops = 2.0 * 16 * 8 * Op::depth;
  long long host;
  for (int warps : {4, 8, 16, 32}) {
    const auto t = measure::time(
        5, [&] { products<Op, 8, emulated><<<sms, warps * 32>>>(in.data(), out.data(), cycles.data(), loops); });
    measure::check(cudaMemcpy(&host, cycles.data(), 8, cudaMemcpyDeviceToHost), Op::name);
    print(std::string(Op::name) + " " + std::to_string(warps) + " warps: rate",
          1e-6 * flops * 8 * loops * warps * sms / t.median_us, "TFLOP/s", t.spread);
    print(std::string(Op::name) + " " + std::to_string(warps) + " warps: rate",
          flops * 8 * loops * warps / double(host), "flop a cycle an SM");
  }
  for (int i = 0; i < 2; ++i) products<Op, 1, emulated><<<1, 32>>>(in.data(), out.data(), cycles.data(), loops);
  measure::check(cudaMemcpy(&host, cycles.data(), 8, cudaMemcpyDeviceToHost), Op::name);
  print(std::string(Op::name) + ": latency", double(host) / loops, "cycles");
}

constexpr int kShared = 65536;

/// `depth` products in flight before a wait, all into one accumulator.
template <class Op, int depth>
__global__ void __launch_bounds__(384) group_products(const uint32_t* in, uint32_t* out, long long* cycles, int loops) {
  extern __shared__ __align__(1024) uint32_t shared[];
  for (uint32_t i = threadIdx.x; i < kShared / 4; i += blockDim.x) shared[i] = in[i % 8192];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const uint32_t base = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  const uint64_t fields = uint64_t(1) << 16 | uint64_t(64) << 32 | uint64_t(1) << 62;
  const uint64_t da = fields | ((base + threadIdx.x / 128 * 8192) & 0x3FFFF) >> 4,
                 db = fields | ((base + 32768) & 0x3FFFF) >> 4;
  uint32_t a[4], d[Op::words];
  for (int i = 0; i < 4; ++i) a[i] = in[threadIdx.x * 4 + i];
  for (int i = 0; i < Op::words; ++i) d[i] = 0;
  const long long begin = clock64();
  for (int k = 0; k < loops; ++k) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int i = 0; i < depth; ++i) Op::run(d, a, da + uint64_t(i % 4 * 2), db + uint64_t(i % 4 * 2), 1);
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  __syncthreads();
  const long long end = clock64();
  uint32_t all = 0;
  for (int i = 0; i < Op::words; ++i) all ^= d[i];
  if (all == 0x12345678) out[0] = all;
  if (threadIdx.x == 0 && blockIdx.x == 0) cycles[0] = end - begin;
}

template <class Op, int depth>
double group_cycles(const uint32_t* in, uint32_t* out, long long* cycles, int groups, int loops, measure::Times& t) {
  measure::check(cudaFuncSetAttribute(group_products<Op, depth>, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared),
                 "shared");
  t = measure::time(5, [&] {
    group_products<Op, depth><<<measure::multiprocessors(), 128 * groups, kShared>>>(in, out, cycles, loops);
  });
  long long host;
  measure::check(cudaMemcpy(&host, cycles, 8, cudaMemcpyDeviceToHost), Op::name);
  return double(host);
}

template <class Op>
void wgmma_rates(int k, const char* where) {
  const auto data = data_near_one(8192);
  Buffer<uint32_t> in(8192), out(1);
  Buffer<long long> cycles(1);
  cudaMemcpy(in.data(), data.data(), 4 * 8192, cudaMemcpyHostToDevice);
  const int sms = measure::multiprocessors(), loops = 512;
  const double flops = 2.0 * 64 * Op::n * k;
  measure::Times t;
  const std::string name = std::string(Op::name).substr(33) + ", A in " + where;
  for (int groups : {1, 2, 3}) {
    if (groups == 3 && Op::words > 64) continue;
    const double c = group_cycles<Op, 16>(in.data(), out.data(), cycles.data(), groups, loops, t);
    print(name + ", " + std::to_string(groups) + " warpgroups, 16 a wait: rate",
          1e-6 * flops * 16 * loops * groups * sms / t.median_us, "TFLOP/s", t.spread);
    print(name + ", " + std::to_string(groups) + " warpgroups, 16 a wait: rate", flops * 16 * loops * groups / c,
          "flop a cycle an SM");
  }
  const double c = group_cycles<Op, 1>(in.data(), out.data(), cycles.data(), 1, loops, t);
  print(name + ": issue to wait", c / loops, "cycles");
}

#define SHARED(n, type) N##n##type##Shared<1, 1, 0, 0>
#define REGISTERS(n, type) N##n##type##Registers<1, 1, 0, 0>

void all_wgmma() {
  wgmma_rates<SHARED(8, f32bf16bf16)>(16, "shared"), wgmma_rates<SHARED(16, f32bf16bf16)>(16, "shared"),
      wgmma_rates<SHARED(32, f32bf16bf16)>(16, "shared");
  wgmma_rates<SHARED(64, f32bf16bf16)>(16, "shared"), wgmma_rates<SHARED(96, f32bf16bf16)>(16, "shared"),
      wgmma_rates<SHARED(128, f32bf16bf16)>(16, "shared");
  wgmma_rates<SHARED(192, f32bf16bf16)>(16, "shared"), wgmma_rates<SHARED(256, f32bf16bf16)>(16, "shared");
  wgmma_rates<REGISTERS(64, f32bf16bf16)>(16, "registers"), wgmma_rates<REGISTERS(32, f32bf16bf16)>(16, "registers");
  wgmma_rates<SHARED(128, f32f16f16)>(16, "shared"), wgmma_rates<SHARED(256, f32f16f16)>(16, "shared"),
      wgmma_rates<SHARED(256, f16f16f16)>(16, "shared");
  wgmma_rates<SHARED(128, f32tf32tf32)>(8, "shared"), wgmma_rates<SHARED(256, f32tf32tf32)>(8, "shared");
  wgmma_rates<SHARED(128, s32s8s8)>(32, "shared"), wgmma_rates<SHARED(256, s32s8s8)>(32, "shared");
  wgmma_rates<SHARED(128, f32e4m3e4m3)>(32, "shared"), wgmma_rates<SHARED(256, f32e4m3e4m3)>(32, "shared");
}

}  // namespace

int main() {
  mma_rates<Bf16>(), mma_rates<Bf16K8>(), mma_rates<F16>(), mma_rates<Half>(), mma_rates<Tf32>(), mma_rates<S8>(),
      mma_rates<S4, true>(), mma_rates<E4m3, true>();
  all_wgmma();
  return 0;
}
