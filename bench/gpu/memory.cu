// Rates of global memory: by width of access, size, loads in flight, warps, stride; bulk copies; atomics; latencies.
#include "measure.h"

namespace {

using measure::Buffer;
using measure::print;

template <class T>
__device__ float folded(const T& v);
template <>
__device__ float folded(const float& v) {
  return v;
}
template <>
__device__ float folded(const float2& v) {
  return v.x + v.y;
}
template <>
__device__ float folded(const float4& v) {
  return v.x + v.y + v.z + v.w;
}

/// `unroll` independent accesses a thread; the whole grid covers the array once.
template <class T, int unroll>
__global__ void copy(const T* __restrict__ in, T* __restrict__ out, size_t n) {
  const size_t base = size_t(blockIdx.x) * blockDim.x * unroll + threadIdx.x;
  T v[unroll];
#pragma unroll
  for (int i = 0; i < unroll; ++i) v[i] = in[base + size_t(i) * blockDim.x];
#pragma unroll
  for (int i = 0; i < unroll; ++i) out[base + size_t(i) * blockDim.x] = v[i];
}

template <class T, int unroll>
__global__ void read(const T* __restrict__ in, float* __restrict__ out, size_t n) {
  const size_t base = size_t(blockIdx.x) * blockDim.x * unroll + threadIdx.x;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < unroll; ++i) sum += folded(in[base + size_t(i) * blockDim.x]);
  if (sum == 1.2345e30f) out[0] = sum;
}

template <class T, int unroll>
__global__ void write(T* __restrict__ out, T value) {
  const size_t base = size_t(blockIdx.x) * blockDim.x * unroll + threadIdx.x;
#pragma unroll
  for (int i = 0; i < unroll; ++i) out[base + size_t(i) * blockDim.x] = value;
}

constexpr size_t kMega = size_t(1) << 20;
constexpr size_t kLargest = 2048 * kMega;

struct Arrays {
  Buffer<char> in{kLargest}, out{kLargest};
};

template <class T, int unroll>
void widths(const Arrays& arrays, size_t bytes, const std::string& name) {
  const size_t n = bytes / sizeof(T);
  const unsigned grid = unsigned(n / (256 * unroll));
  const auto* in = reinterpret_cast<const T*>(arrays.in.data());
  auto* out = reinterpret_cast<T*>(arrays.out.data());
  const int repetitions = 9;
  const auto c = measure::time(repetitions, [&] { copy<T, unroll><<<grid, 256>>>(in, out, n); });
  print(name + " copy (read + written)", 2e-3 * double(bytes) / c.median_us, "GB/s", c.spread);
  const auto r =
      measure::time(repetitions, [&] { read<T, unroll><<<grid, 256>>>(in, reinterpret_cast<float*>(out), n); });
  print(name + " read", 1e-3 * double(bytes) / r.median_us, "GB/s", r.spread);
  const auto w = measure::time(repetitions, [&] { write<T, unroll><<<grid, 256>>>(out, T{}); });
  print(name + " write", 1e-3 * double(bytes) / w.median_us, "GB/s", w.spread);
}

void by_width(const Arrays& a) {
  widths<float, 4>(a, kLargest, "2 GiB, 4 B a thread, 4 in flight:");
  widths<float2, 4>(a, kLargest, "2 GiB, 8 B a thread, 4 in flight:");
  widths<float4, 4>(a, kLargest, "2 GiB, 16 B a thread, 4 in flight:");
  widths<float, 1>(a, kLargest, "2 GiB, 4 B a thread, 1 in flight:");
  widths<float4, 1>(a, kLargest, "2 GiB, 16 B a thread, 1 in flight:");
  widths<float4, 8>(a, kLargest, "2 GiB, 16 B a thread, 8 in flight:");
}

/// Small arrays, 20 launches in a graph: over the same bytes again, or each over bytes of its own.
void by_size(const Arrays& a) {
  for (size_t mega : {1, 2, 4, 8, 16, 24, 32, 40, 48, 64, 96, 128}) {
    const size_t bytes = mega * kMega, n = bytes / 16;
    const unsigned grid = unsigned(n / 1024);
    for (bool cold : {false, true}) {
      const size_t places = cold ? kLargest / bytes : 1;
      const auto in = [&](int i) { return reinterpret_cast<const float4*>(a.in.data() + size_t(i) % places * bytes); };
      const auto out = [&](int i) { return reinterpret_cast<float4*>(a.out.data() + size_t(i) % places * bytes); };
      const int launches = cold ? int(std::min(places, size_t(256))) : 20;
      const std::string name = std::to_string(mega) + " MiB in a graph, 16 B a thread, " + (cold ? "cold:" : "warm:");
      const auto c = measure::time_in_graph(
          launches, [&](cudaStream_t s, int i) { copy<float4, 4><<<grid, 256, 0, s>>>(in(i), out(i), n); });
      print(name + " copy (read + written)", 2e-3 * double(bytes) / c.median_us, "GB/s", c.spread);
      const auto r = measure::time_in_graph(launches, [&](cudaStream_t s, int i) {
        read<float4, 4><<<grid, 256, 0, s>>>(in(i), reinterpret_cast<float*>(out(i)), n);
      });
      print(name + " read", 1e-3 * double(bytes) / r.median_us, "GB/s", r.spread);
      const auto w = measure::time_in_graph(
          launches, [&](cudaStream_t s, int i) { write<float4, 4><<<grid, 256, 0, s>>>(out(i), float4{}); });
      print(name + " write", 1e-3 * double(bytes) / w.median_us, "GB/s", w.spread);
    }
  }
}

/// Passes over the same bytes inside one launch: what L2 alone gives, and L1 where an SM's part fits.
template <bool through_l1>
__global__ void read_again(const float4* in, float* out, size_t n, int passes) {
  float sum = 0;
  for (int p = 0; p < passes; ++p)
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
      sum += folded(through_l1 ? __ldca(in + i) : __ldcg(in + i));
  if (sum == 1.2345e30f) out[0] = sum;
}

void passes(const Arrays& a) {
  for (size_t kilo : {2048, 8192, 16384, 24576, 32768, 40960, 49152, 65536, 131072}) {
    const size_t n = kilo * 1024 / 16;
    const auto t = measure::time(7, [&] {
      read_again<false><<<measure::multiprocessors() * 2, 1024>>>(reinterpret_cast<float4*>(a.in.data()),
                                                                  reinterpret_cast<float*>(a.out.data()), n, 50);
    });
    print("50 passes over " + std::to_string(kilo / 1024) + " MiB, past L1: read",
          1e-3 * 50 * 1024 * double(kilo) / t.median_us, "GB/s", t.spread);
  }
  for (size_t kilo : {8, 16, 32, 64}) {
    const size_t n = size_t(measure::multiprocessors()) * kilo * 1024 / 16;
    const auto t = measure::time(7, [&] {
      read_again<true><<<measure::multiprocessors(), 512>>>(reinterpret_cast<float4*>(a.in.data()),
                                                            reinterpret_cast<float*>(a.out.data()), n, 200);
    });
    print("200 passes over " + std::to_string(kilo) + " KiB an SM, through L1: read",
          1e-3 * 200 * 16 * double(n) / t.median_us, "GB/s", t.spread);
  }
}

/// A persistent grid: `warps` warps a multiprocessor, `unroll` accesses of 16 bytes in flight in each thread.
template <int unroll>
__global__ void persistent_copy(const float4* __restrict__ in, float4* __restrict__ out, size_t n) {
  const size_t step = size_t(gridDim.x) * blockDim.x * unroll;
  for (size_t base = size_t(blockIdx.x) * blockDim.x * unroll + threadIdx.x; base < n; base += step) {
    float4 v[unroll];
#pragma unroll
    for (int i = 0; i < unroll; ++i) v[i] = in[base + size_t(i) * blockDim.x];
#pragma unroll
    for (int i = 0; i < unroll; ++i) out[base + size_t(i) * blockDim.x] = v[i];
  }
}

template <int unroll>
void by_warps(const Arrays& a) {
  const auto* in = reinterpret_cast<const float4*>(a.in.data());
  auto* out = reinterpret_cast<float4*>(a.out.data());
  const size_t n = 512 * kMega / 16;
  for (int warps : {1, 2, 4, 8, 16, 32, 64}) {
    const int threads = std::min(warps, 8) * 32, blocks = measure::multiprocessors() * std::max(1, warps / 8);
    const size_t whole = n / (size_t(blocks) * size_t(threads) * unroll) * (size_t(blocks) * size_t(threads) * unroll);
    const auto t = measure::time(7, [&] { persistent_copy<unroll><<<blocks, threads>>>(in, out, whole); });
    print(
        std::to_string(warps) + " warps an SM, " + std::to_string(unroll) + " x 16 B in flight: copy (read + written)",
        2e-3 * 16 * double(whole) / t.median_us, "GB/s", t.spread);
  }
}

__global__ void strided(const float* __restrict__ in, float* __restrict__ out, int stride) {
  const size_t i = (size_t(blockIdx.x) * blockDim.x + threadIdx.x) * size_t(stride);
  const float v = in[i];
  if (v == 1.2345e30f) out[0] = v;
}

void by_stride(const Arrays& a) {
  for (int stride : {1, 2, 3, 4, 8, 16, 32, 64}) {
    const size_t threads = kLargest / 4 / 64;
    const auto t = measure::time(9, [&] {
      strided<<<unsigned(threads / 256), 256>>>(reinterpret_cast<float*>(a.in.data()),
                                                reinterpret_cast<float*>(a.out.data()), stride);
    });
    print("4 B reads at stride " + std::to_string(stride) + ": used bytes", 1e-3 * 4 * double(threads) / t.median_us,
          "GB/s", t.spread);
  }
}

// Bulk copies: one thread keeps `stages` tiles in flight.

__device__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ void wait(uint32_t barrier, uint32_t parity) {
  uint32_t done = 0;
  while (!done)
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
}

template <int tile, int stages, bool writes>
__global__ void bulk_copy(const char* in, char* out, size_t bytes) {
  extern __shared__ __align__(128) char shared[];
  __shared__ alignas(8) uint64_t barriers[stages];
  if (threadIdx.x != 0) return;
  for (int i = 0; i < stages; ++i)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barriers + i)) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async;" ::: "memory");
  const size_t step = size_t(gridDim.x) * tile, first = size_t(blockIdx.x) * tile;
  const size_t tiles = first < bytes ? (bytes - first + step - 1) / step : 0;
  const auto load = [&](size_t i) {
    const uint32_t barrier = shared_address(barriers + i % stages),
                   to = shared_address(shared) + uint32_t(i % stages) * tile;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(tile) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(in + first + i * step), "r"(tile), "r"(barrier)
                 : "memory");
  };
  const size_t ahead = writes ? stages / 2 : stages;
  for (size_t i = 0; i < ahead && i < tiles; ++i) load(i);
  for (size_t i = 0; i < tiles; ++i) {
    wait(shared_address(barriers + i % stages), uint32_t(i / stages % 2));
    if (writes) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\ncp.async.bulk.commit_group;" ::"l"(
                       out + first + i * step),
                   "r"(shared_address(shared) + uint32_t(i % stages) * tile), "r"(tile)
                   : "memory");
      asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(stages - stages / 2 - 1) : "memory");
    }
    if (i + ahead < tiles) load(i + ahead);
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

template <int tile, int stages>
void bulk(const Arrays& a, int blocks_an_sm) {
  const std::string name = "bulk copies, tiles of " + std::to_string(tile) + " B, " + std::to_string(stages) +
                           " stages, " + std::to_string(blocks_an_sm) + " blocks an SM:";
  const int grid = measure::multiprocessors() * blocks_an_sm, shared = tile * stages;
  measure::check(
      cudaFuncSetAttribute(bulk_copy<tile, stages, false>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
      "shared");
  measure::check(
      cudaFuncSetAttribute(bulk_copy<tile, stages, true>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
      "shared");
  const auto r = measure::time(
      9, [&] { bulk_copy<tile, stages, false><<<grid, 32, shared>>>(a.in.data(), a.out.data(), kLargest); });
  print(name + " read", 1e-3 * double(kLargest) / r.median_us, "GB/s", r.spread);
  const auto w = measure::time(
      9, [&] { bulk_copy<tile, stages, true><<<grid, 32, shared>>>(a.in.data(), a.out.data(), kLargest); });
  print(name + " copy (read + written)", 2e-3 * double(kLargest) / w.median_us, "GB/s", w.spread);
}

// Atomics: every thread adds `repeats` times.

enum class Where { one, a_warp, a_thread, random };

template <Where where, class T>
__global__ void add(T* data, int repeats, uint32_t mask) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < repeats; ++i) {
    const uint32_t h = (thread * 0x9E3779B1u + uint32_t(i) * 0x85EBCA6Bu) >> 7;
    const uint32_t at = where == Where::one        ? 0
                        : where == Where::a_warp   ? thread / 32 & mask
                        : where == Where::a_thread ? thread & mask
                                                   : h & mask;
    atomicAdd(data + at, T(1));
  }
}

template <Where where, class T>
void atomics(const Arrays& a, const std::string& name, uint32_t mask) {
  cudaMemset(a.in.data(), 0, 64 * kMega);
  const int grid = measure::multiprocessors() * 4, repeats = where == Where::one ? 16 : 64;
  const auto t =
      measure::time(9, [&] { add<where, T><<<grid, 256>>>(reinterpret_cast<T*>(a.in.data()), repeats, mask); });
  print(name, 1e-3 * grid * 256.0 * repeats / t.median_us, "G/s", t.spread);
}

void all_atomics(const Arrays& a) {
  atomics<Where::one, float>(a, "global add f32, one address (lanes)", 0);
  atomics<Where::one, int>(a, "global add s32, one address (lanes)", 0);
  atomics<Where::a_warp, float>(a, "global add f32, one address a warp", 0xFFFF);
  atomics<Where::a_thread, float>(a, "global add f32, neighbours, 4 MiB", 0xFFFFF);
  atomics<Where::random, float>(a, "global add f32, random, 4 MiB", 0xFFFFF);
  atomics<Where::random, float>(a, "global add f32, random, 64 MiB", 0xFFFFFF);
  atomics<Where::random, int>(a, "global add s32, random, 4 MiB", 0xFFFFF);
}

// Latency: one thread follows a chain of pointers with a stride of `step` bytes, shuffled by a fixed odd multiplier.

__global__ void chain(uint32_t* data, uint32_t count, uint32_t step_words) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const uint32_t next = (i * 0x915F77F5u + 0x3C6EF35Fu) & (count - 1);  // one cycle through a power of two
    data[size_t(i) * step_words] = next * step_words;
  }
}

template <bool through_l1>
__global__ void follow(const uint32_t* data, int steps, long long* cycles) {
  uint32_t at = 0;
  for (int i = 0; i < 32; ++i) at = through_l1 ? __ldca(data + at) : __ldcg(data + at);
  const long long begin = clock64();
  for (int i = 0; i < steps; ++i) at = through_l1 ? __ldca(data + at) : __ldcg(data + at);
  cycles[0] = clock64() - begin;
  cycles[1] = at;
}

/// Cycles from the issue of a bulk copy to the end of the wait for it.
__global__ void bulk_latency(const char* in, uint32_t bytes, long long* cycles) {
  extern __shared__ __align__(128) char shared[];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t b = shared_address(&barrier);
  asm volatile(
      "mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;\nfence.proxy.async;" ::"r"(b)
      : "memory");
  long long begin = 0;
  for (uint32_t i = 0; i < 40; ++i) {
    if (i == 8) begin = clock64();
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(shared)),
                 "l"(in), "r"(bytes), "r"(b)
                 : "memory");
    wait(b, i & 1);
  }
  cycles[0] = clock64() - begin;
}

void bulk_latencies(const Arrays& a) {
  Buffer<long long> cycles(1);
  for (uint32_t bytes : {16u, 128u, 1024u, 4096u, 16384u, 32768u}) {
    measure::check(cudaFuncSetAttribute(bulk_latency, cudaFuncAttributeMaxDynamicSharedMemorySize, 32768), "shared");
    for (int i = 0; i < 2; ++i) bulk_latency<<<1, 1, 32768>>>(a.in.data(), bytes, cycles.data());
    long long host;
    measure::check(cudaMemcpy(&host, cycles.data(), 8, cudaMemcpyDeviceToHost), "bulk latency");
    print("latency: bulk copy of " + std::to_string(bytes) + " B from L2", double(host) / 32, "cycles");
  }
}

template <bool through_l1>
void latency(const Arrays& a, const std::string& name, uint32_t count, uint32_t step_words, int steps,
             bool cold = false) {
  Buffer<long long> cycles(2);
  auto* data = reinterpret_cast<uint32_t*>(a.in.data());
  chain<<<264, 256>>>(data, count, step_words);
  if (cold) cudaMemset(a.out.data(), 0, kLargest);
  for (int i = 0; i < (cold ? 1 : 2); ++i) follow<through_l1><<<1, 1>>>(data, steps, cycles.data());
  long long host[2];
  measure::check(cudaMemcpy(host, cycles.data(), 16, cudaMemcpyDeviceToHost), "latency");
  print(name, double(host[0]) / steps, "cycles");
}

}  // namespace

int main() {
  Arrays arrays;
  cudaMemset(arrays.in.data(), 0, kLargest), cudaMemset(arrays.out.data(), 0, kLargest);
  by_width(arrays);
  by_size(arrays);
  passes(arrays);
  bulk<16384, 4>(arrays, 1), bulk<16384, 4>(arrays, 2), bulk<16384, 12>(arrays, 1), bulk<8192, 8>(arrays, 2),
      bulk<4096, 8>(arrays, 4), bulk<32768, 6>(arrays, 1);
  by_warps<1>(arrays), by_warps<4>(arrays);
  by_stride(arrays);
  all_atomics(arrays);
  latency<true>(arrays, "latency: L1 hit", 64, 32, 4096);
  latency<false>(arrays, "latency: L2 hit, 1 MiB", 8192, 32, 8192);
  latency<false>(arrays, "latency: L2 hit, 16 MiB", 131072, 32, 131072);
  latency<false>(arrays, "latency: L2 hit, 32 MiB", 262144, 32, 262144);
  latency<false>(arrays, "latency: memory, random in 128 MiB", 1u << 19, 64, 50000, true);
  latency<false>(arrays, "latency: memory, random in 2 GiB", 1u << 23, 64, 50000, true);
  bulk_latencies(arrays);
  return 0;
}
