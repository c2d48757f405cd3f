// Rates and latencies of one multiprocessor: arithmetic, shared memory and its bank conflicts, shuffles, barriers.
#include "measure.h"

namespace {

using measure::Buffer;
using measure::print;

constexpr int kChains = 8, kLoops = 512;

/// Eight independent chains a thread; the time comes from events, the cycles from one block's clock.
template <class Op>
__global__ void __launch_bounds__(1024, 2) arithmetic(uint32_t* out, long long* cycles, int loops) {
  uint32_t x[kChains];
#pragma unroll
  for (int i = 0; i < kChains; ++i) x[i] = threadIdx.x * 17 + i + 0x3F800000;
  const uint32_t y = threadIdx.x + 0x3F7FFFF0, z = 0x33800000;
  __syncthreads();
  const long long begin = clock64();
  for (int k = 0; k < loops; ++k) {
#pragma unroll
    for (int u = 0; u < 4; ++u)
#pragma unroll
      for (int i = 0; i < kChains; ++i) x[i] = Op::run(x[i], y, z);
  }
  __syncthreads();
  const long long end = clock64();
  uint32_t all = 0;
#pragma unroll
  for (int i = 0; i < kChains; ++i) all ^= x[i];
  if (all == 0x12345678) out[0] = all;
  if (threadIdx.x == 0 && blockIdx.x == 0) cycles[0] = end - begin;
}

template <class Op>
__global__ void dependent(uint32_t* out, long long* cycles) {
  uint32_t x = threadIdx.x + 0x3F800000;
  const uint32_t y = threadIdx.x + 0x3F7FFFF0, z = 0x33800000;
  const long long begin = clock64();
#pragma unroll 16
  for (int k = 0; k < 512; ++k) x = Op::run(x, y, z);
  cycles[0] = clock64() - begin;
  out[threadIdx.x] = x;
}

#define OPERATION(Name, title, statement)                                                \
  struct Name {                                                                          \
    static constexpr const char* name = title;                                           \
    static __device__ __forceinline__ uint32_t run(uint32_t x, uint32_t y, uint32_t z) { \
      uint32_t d;                                                                        \
      (void)y, (void)z;                                                                  \
      statement;                                                                         \
      return d;                                                                          \
    }                                                                                    \
  };
#define THREE(Name, text) \
  OPERATION(Name, text, asm volatile(text " %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(z)))
#define TWO(Name, text) OPERATION(Name, text, asm volatile(text " %0, %1, %2;" : "=r"(d) : "r"(x), "r"(y)))
#define ONE(Name, text) OPERATION(Name, text, asm volatile(text " %0, %1;" : "=r"(d) : "r"(x)))
THREE(Fma, "fma.rn.f32")
TWO(Add, "add.rn.f32")
THREE(FmaHalf2, "fma.rn.f16x2")
THREE(FmaBf2, "fma.rn.bf16x2")
THREE(Mad, "mad.lo.u32")
TWO(AddInt, "add.u32")
TWO(Mul, "mul.hi.u32")
OPERATION(Lop, "lop3.b32", asm volatile("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(d) : "r"(x), "r"(y), "r"(z)))
THREE(Dp4a, "dp4a.u32.u32")
THREE(Prmt, "prmt.b32")
TWO(Shl, "shl.b32")
TWO(MaxF, "max.f32")
ONE(Ex2, "ex2.approx.ftz.f32")
// rcp of rcp would be removed, so a xor stands between.
OPERATION(Rcp, "rcp.approx.ftz.f32 and xor",
          asm volatile("{.reg .b32 t; xor.b32 t, %1, %2; rcp.approx.ftz.f32 %0, t;}"
                       : "=r"(d)
                       : "r"(x), "r"(y & 1)))
ONE(Rsqrt, "rsqrt.approx.ftz.f32")
ONE(Lg2, "lg2.approx.ftz.f32")
ONE(Sin, "sin.approx.ftz.f32")
ONE(Tanh, "tanh.approx.f32")
ONE(Ex2Half2, "ex2.approx.f16x2")
ONE(TanhHalf2, "tanh.approx.f16x2")
ONE(Popc, "popc.b32")
ONE(ToInt, "cvt.rni.s32.f32")
ONE(ToFloat, "cvt.rn.f32.s32")
OPERATION(ToBf16, "cvt.rn.bf16x2.f32", asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "r"(x), "r"(y)))
OPERATION(Shuffle, "shfl.sync.bfly", asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, -1;" : "=r"(d) : "r"(x)))
OPERATION(Redux, "redux.sync.add", asm volatile("redux.sync.add.u32 %0, %1, -1;" : "=r"(d) : "r"(x)))
OPERATION(Double, "fma.rn.f64",
          asm volatile("{.reg .f64 a; .reg .b64 b; mov.b64 b, {%1,%2}; mov.b64 a, b; fma.rn.f64 a, a, a, a; mov.b64 b, "
                       "a; mov.b64 {%0,_}, b;}"
                       : "=r"(d)
                       : "r"(x), "r"(y)))

template <class Op>
void rate(bool with_warps = false) {
  Buffer<uint32_t> out(1024);
  Buffer<long long> cycles(1);
  const int sms = measure::multiprocessors();
  for (int warps : with_warps ? std::vector<int>{1, 2, 4, 8, 16, 32, 64} : std::vector<int>{32}) {
    const int threads = std::min(warps, 32) * 32, blocks = sms * std::max(1, warps / 32);
    const auto t = measure::time(5, [&] { arithmetic<Op><<<blocks, threads>>>(out.data(), cycles.data(), kLoops); });
    long long host;
    measure::check(cudaMemcpy(&host, cycles.data(), 8, cudaMemcpyDeviceToHost), Op::name);
    const double operations = double(threads) * kChains * 4 * kLoops * std::max(1, warps / 32);
    if (warps <= 32)  // of two blocks the older one goes first, so its clock says nothing
      print(std::string(Op::name) + " " + std::to_string(warps) + " warps: rate", operations / double(host),
            "a cycle an SM", t.spread);
    if (with_warps || warps == 32)
      print(std::string(Op::name) + " " + std::to_string(warps) + " warps: rate", 1e-3 * operations * sms / t.median_us,
            "G/s", t.spread);
  }
  for (int i = 0; i < 2; ++i) dependent<Op><<<1, 32>>>(out.data(), cycles.data());
  long long host;
  measure::check(cudaMemcpy(&host, cycles.data(), 8, cudaMemcpyDeviceToHost), Op::name);
  print(std::string(Op::name) + ": latency", double(host) / 512, "cycles");
}

void all_rates() {
  rate<Fma>(true), rate<Add>(), rate<FmaHalf2>(), rate<FmaBf2>(), rate<Mad>(), rate<AddInt>(), rate<Mul>(), rate<Lop>(),
      rate<Dp4a>(), rate<Prmt>(), rate<Shl>(), rate<MaxF>();
  rate<Ex2>(), rate<Rcp>(), rate<Rsqrt>(), rate<Lg2>(), rate<Sin>(), rate<Tanh>(), rate<Ex2Half2>(), rate<TanhHalf2>(),
      rate<Popc>(), rate<ToInt>(), rate<ToFloat>(), rate<ToBf16>();
  rate<Shuffle>(), rate<Redux>(), rate<Double>();
}

// Shared memory. Lane l reads word (l * stride, or its xor swizzle) of rows that move with the loop.

__device__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

template <int bytes>
__device__ __forceinline__ uint32_t load(uint32_t address) {
  uint32_t a, b = 0, c = 0, d = 0;
  if (bytes == 4) asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(a) : "r"(address));
  if (bytes == 8) asm volatile("ld.volatile.shared.v2.u32 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : "r"(address));
  if (bytes == 16)
    asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(address));
  return a ^ b ^ c ^ d;
}

template <int bytes>
__device__ __forceinline__ void store(uint32_t address, uint32_t v) {
  if (bytes == 4) asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(v) : "memory");
  if (bytes == 16) asm volatile("st.shared.v4.u32 [%0], {%1,%1,%1,%1};" ::"r"(address), "r"(v) : "memory");
}

template <int bytes, bool stores>
__global__ void shared_accesses(const uint32_t* offsets, uint32_t* out, long long* cycles) {
  extern __shared__ __align__(128) uint32_t shared[];
  for (uint32_t i = threadIdx.x; i < 8192; i += blockDim.x) shared[i] = i;
  __syncthreads();
  const uint32_t address = shared_address(shared) + offsets[threadIdx.x % 32];
  uint32_t sum = 0;
  const long long begin = clock64();
  for (int k = 0; k < 128; ++k) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (stores) store<bytes>(address + 1024 * i, sum + i);
      if (!stores) sum ^= load<bytes>(address + 1024 * i);
    }
  }
  __syncthreads();
  const long long end = clock64();
  if (sum == 0x12345678) out[0] = sum;
  if (threadIdx.x == 0 && blockIdx.x == 0) cycles[0] = end - begin;
}

template <int bytes, bool stores>
void shared_rate(const std::string& name, const std::vector<uint32_t>& offsets) {
  Buffer<uint32_t> device(32), out(1);
  Buffer<long long> cycles(1);
  cudaMemcpy(device.data(), offsets.data(), 128, cudaMemcpyHostToDevice);
  for (int i = 0; i < 2; ++i)
    shared_accesses<bytes, stores>
        <<<measure::multiprocessors(), 1024, 32768>>>(device.data(), out.data(), cycles.data());
  long long host;
  measure::check(cudaMemcpy(&host, cycles.data(), 8, cudaMemcpyDeviceToHost), "shared");
  const double accesses = 32.0 * 1024;  // 32 warps, 1024 accesses each
  print("shared " + std::string(stores ? "store " : "load ") + std::to_string(bytes) + " B, " + name +
            ": cycles a warp's access",
        double(host) / accesses, "cycles");
  print("shared " + std::string(stores ? "store " : "load ") + std::to_string(bytes) + " B, " + name + ": rate",
        accesses * 32 * bytes / double(host), "B a cycle an SM");
}

std::vector<uint32_t> offsets_of(int stride_bytes) {
  std::vector<uint32_t> out;
  for (int l = 0; l < 32; ++l) out.push_back(uint32_t(l * stride_bytes) % 24576);
  return out;
}

/// A column of a matrix with rows of 128 bytes: 32 rows, 4 bytes each, chunks of 16 bytes xored with the row.
std::vector<uint32_t> swizzled_column() {
  std::vector<uint32_t> out;
  for (int l = 0; l < 32; ++l) out.push_back(uint32_t(l * 128) + uint32_t(l % 8 * 16));
  return out;
}

/// Eight rows of 16 bytes at 128-byte distance, as ldmatrix reads a tile; four such matrices.
std::vector<uint32_t> rows_of_16(bool swizzled) {
  std::vector<uint32_t> out;
  for (int l = 0; l < 32; ++l) out.push_back(uint32_t(l * 128) + (swizzled ? uint32_t(l % 8 * 16) : 0));
  return out;
}

void shared_memory() {
  for (int stride : {1, 2, 3, 4, 8, 16, 32})
    shared_rate<4, false>("stride " + std::to_string(stride) + " words", offsets_of(4 * stride));
  shared_rate<4, false>("same word", offsets_of(0));
  shared_rate<4, false>("column of 128 B rows, xor swizzle", swizzled_column());
  shared_rate<8, false>("stride 1", offsets_of(8));
  shared_rate<16, false>("stride 1", offsets_of(16));
  shared_rate<16, false>("stride 2", offsets_of(32));
  shared_rate<16, false>("rows of 128 B", rows_of_16(false));
  shared_rate<16, false>("rows of 128 B, xor swizzle", rows_of_16(true));
  shared_rate<4, true>("stride 1 word", offsets_of(4));
  shared_rate<4, true>("stride 2 words", offsets_of(8));
  shared_rate<16, true>("stride 1", offsets_of(16));
}

__global__ void ldmatrix(const uint32_t* offsets, uint32_t* out, long long* cycles) {
  extern __shared__ __align__(128) uint32_t shared[];
  const uint32_t address = shared_address(shared) + offsets[threadIdx.x % 32];
  uint32_t sum = 0;
  __syncthreads();
  const long long begin = clock64();
  for (int k = 0; k < 256; ++k) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      uint32_t a, b, c, d;
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                   : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                   : "r"(address + 4096 * i + k % 8 * 512));
      sum ^= a ^ b ^ c ^ d;
    }
  }
  __syncthreads();
  const long long end = clock64();
  if (sum == 0x12345678) out[0] = sum;
  if (threadIdx.x == 0 && blockIdx.x == 0) cycles[0] = end - begin;
}

void matrix_loads() {
  Buffer<uint32_t> device(32), out(1);
  Buffer<long long> cycles(1);
  for (bool swizzled : {false, true}) {
    cudaMemcpy(device.data(), rows_of_16(swizzled).data(), 128, cudaMemcpyHostToDevice);
    for (int i = 0; i < 2; ++i)
      ldmatrix<<<measure::multiprocessors(), 1024, 40960>>>(device.data(), out.data(), cycles.data());
    long long host;
    measure::check(cudaMemcpy(&host, cycles.data(), 8, cudaMemcpyDeviceToHost), "ldmatrix");
    print(std::string("ldmatrix.x4, rows of 128 B") + (swizzled ? ", xor swizzle" : "") + ": rate",
          32.0 * 1024 * 512 / double(host), "B a cycle an SM");
  }
}

// Latencies.

__global__ void shared_latency(long long* cycles) {
  __shared__ uint32_t shared[256];
  for (uint32_t i = threadIdx.x; i < 256; i += 32) shared[i] = shared_address(shared + (i * 5 + 1) % 256);
  __syncthreads();
  uint32_t at = shared_address(shared);
  const long long begin = clock64();
#pragma unroll 16
  for (int i = 0; i < 512; ++i) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at));
  cycles[0] = clock64() - begin;
  cycles[1] = at;
}

__global__ void barrier_latency(long long* cycles) {
  __syncthreads();
  const long long begin = clock64();
#pragma unroll 16
  for (int i = 0; i < 256; ++i) asm volatile("bar.sync 0;" ::: "memory");
  if (threadIdx.x == 0) cycles[0] = clock64() - begin;
}

__global__ void shared_atomic_latency(long long* cycles) {
  __shared__ uint32_t shared;
  if (threadIdx.x == 0) shared = 0;
  __syncthreads();
  uint32_t v = 0;
  const long long begin = clock64();
  for (int i = 0; i < 256; ++i) v = atomicAdd(&shared, v | 1);
  if (threadIdx.x == 0) cycles[0] = clock64() - begin, cycles[1] = v;
}

__global__ void __cluster_dims__(2, 1, 1) cluster_latency(long long* cycles) {
  __shared__ uint32_t shared[32];
  uint32_t rank, remote, at;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(shared_address(shared)), "r"(rank ^ 1));
  shared[threadIdx.x] = 0;
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  at = remote;
  long long begin = clock64();
  for (int i = 0; i < 256; ++i) {
    uint32_t v;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
    at += v;
  }
  const long long loads = clock64() - begin;
  begin = clock64();
  for (int i = 0; i < 64; ++i)
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  if (threadIdx.x == 0 && rank == 0) cycles[0] = loads, cycles[1] = clock64() - begin, cycles[2] = at;
}

void latencies() {
  Buffer<long long> cycles(3);
  long long host[3];
  const auto fetch = [&] { measure::check(cudaMemcpy(host, cycles.data(), 24, cudaMemcpyDeviceToHost), "latency"); };
  for (int i = 0; i < 2; ++i) shared_latency<<<1, 32>>>(cycles.data());
  fetch();
  print("latency: shared load", double(host[0]) / 512, "cycles");
  for (int threads : {32, 64, 128, 256, 512, 1024}) {
    for (int i = 0; i < 2; ++i) barrier_latency<<<1, threads>>>(cycles.data());
    fetch();
    print("latency: bar.sync of " + std::to_string(threads) + " threads", double(host[0]) / 256, "cycles");
  }
  for (int i = 0; i < 2; ++i) shared_atomic_latency<<<1, 1>>>(cycles.data());
  fetch();
  print("latency: shared atomic add, one thread", double(host[0]) / 256, "cycles");
  for (int i = 0; i < 2; ++i) shared_atomic_latency<<<1, 32>>>(cycles.data());
  fetch();
  print("latency: shared atomic add, 32 lanes one address", double(host[0]) / 256, "cycles");
  for (int i = 0; i < 2; ++i) cluster_latency<<<2, 32>>>(cycles.data());
  fetch();
  print("latency: load from the neighbour's shared memory", double(host[0]) / 256, "cycles");
  print("latency: barrier of a cluster of 2", double(host[1]) / 64, "cycles");
}

}  // namespace

int main() {
  all_rates();
  shared_memory();
  matrix_loads();
  latencies();
  return 0;
}
