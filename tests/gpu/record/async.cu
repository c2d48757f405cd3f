// Records asynchronous copies, mbarriers, and what the CTAs of a cluster see of each other's shared memory.
//     async FILE
#include <tuple>

#include "record.h"

using record::Field;
using record::File;
using record::Random;

namespace {

constexpr int kWords = 192;
using Words = std::vector<uint32_t>;

Words pattern(uint32_t seed, size_t count) {
  Words out(count);
  for (size_t i = 0; i < count; ++i) out[i] = record::mix(seed, static_cast<uint32_t>(i));
  return out;
}

__device__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ void init_barrier(uint32_t barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

__device__ void fence_barrier() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async;" ::: "memory");
}

__device__ void expect(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

/// Gives up after a second or so, so that a wrong byte count fails and does not hang.
__device__ bool wait(uint32_t barrier, uint32_t parity) {
  for (int i = 0; i < 100000; ++i) {
    uint32_t done;
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, 10000; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    if (done) return true;
  }
  return false;
}

__device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// cp.async: lane l copies `source_size[l]` bytes from 16 * from[l] to 16 * to[l]; the rest of its width becomes 0.

#define COPY(Name, text, B, statement)                                         \
  struct Name {                                                                \
    static constexpr const char* name = text;                                  \
    static constexpr int bytes = B;                                            \
    static __device__ void run(uint32_t to, const void* from, uint32_t size) { \
      (void)size;                                                              \
      statement;                                                               \
    }                                                                          \
  };
COPY(Ca4, "cp.async.ca.shared.global.4", 4,
     asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(size)
                  : "memory"))
COPY(Ca8, "cp.async.ca.shared.global.8", 8,
     asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(size)
                  : "memory"))
COPY(Ca16, "cp.async.ca.shared.global.16", 16,
     asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(size)
                  : "memory"))
COPY(Cg16, "cp.async.cg.shared.global.16", 16,
     asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(size)
                  : "memory"))
COPY(Ignore16, "cp.async.cg.shared.global.16.ignore_src", 16,
     asm volatile("{.reg .pred p; setp.eq.u32 p, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, p;}" ::"r"(to),
                  "l"(from), "r"(size)
                  : "memory"))

template <class Op>
__global__ void run_copy(const uint32_t* before, const char* source, const uint32_t* from, const uint32_t* to,
                         const uint32_t* size, uint32_t* after) {
  __shared__ alignas(128) uint32_t shared[kWords];
  for (uint32_t i = threadIdx.x; i < kWords; i += 32) shared[i] = before[i];
  __syncthreads();
  Op::run(shared_address(shared) + to[threadIdx.x], source + from[threadIdx.x], size[threadIdx.x]);
  asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < kWords; i += 32) after[i] = shared[i];
}

template <class Op>
void record_copy(File& file) {
  const Words before = pattern(1, kWords), source = pattern(2, kWords);
  Random random(3);
  Words from, to, size;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    from.push_back(Op::bytes * random.below(4 * kWords / Op::bytes));
    to.push_back(Op::bytes * (lane));
    size.push_back(random.below(Op::bytes + 1));
  }
  record::Buffer<uint32_t> b(before), s(source), f(from), t(to), n(size), a(kWords);
  run_copy<Op><<<1, 32>>>(b.data(), reinterpret_cast<const char*>(s.data()), f.data(), t.data(), n.data(), a.data());
  record::finish(Op::name);
  file.add(Op::name, {{"before", {kWords}, before},
                      {"source", {kWords}, source},
                      {"from", {32}, from},
                      {"to", {32}, to},
                      {"size", {32}, size},
                      {"after", {kWords}, a.values()}});
}

// Bulk copies.

__global__ void bulk_load(const uint32_t* before, const uint32_t* source, uint32_t from, uint32_t to, uint32_t bytes,
                          uint32_t* after, uint32_t* completed) {
  __shared__ alignas(128) uint32_t shared[kWords];
  __shared__ alignas(8) uint64_t barrier;
  for (uint32_t i = threadIdx.x; i < kWords; i += 32) shared[i] = before[i];
  const uint32_t address = shared_address(&barrier);
  if (threadIdx.x == 0) init_barrier(address, 1), fence_barrier();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    expect(address, bytes);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(shared) + to),
                 "l"(reinterpret_cast<const char*>(source) + from), "r"(bytes), "r"(address)
                 : "memory");
  }
  const bool done = wait(address, 0);
  if (threadIdx.x == 0) *completed = done;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < kWords; i += 32) after[i] = shared[i];
}

void record_bulk_load(File& file) {
  const Words before = pattern(4, kWords), source = pattern(5, kWords);
  for (const auto& [from, to, bytes] :
       std::vector<std::tuple<uint32_t, uint32_t, uint32_t>>{{0, 0, 768}, {16, 48, 16}, {256, 512, 208}}) {
    record::Buffer<uint32_t> b(before), s(source), a(kWords), done(1);
    bulk_load<<<1, 32>>>(b.data(), s.data(), from, to, bytes, a.data(), done.data());
    record::finish("bulk_load");
    file.add("cp.async.bulk.shared::cluster.global from=" + std::to_string(from) + " to=" + std::to_string(to) +
                 " bytes=" + std::to_string(bytes),
             {{"before", {kWords}, before},
              {"source", {kWords}, source},
              {"completed", {1}, done.values()},
              {"after", {kWords}, a.values()}});
  }
}

#define BULK_STORE(Name, text)                                                           \
  struct Name {                                                                          \
    static constexpr const char* name = text;                                            \
    static __device__ void run(void* to, uint32_t from, uint32_t bytes) {                \
      asm volatile(text " [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes) : "memory"); \
    }                                                                                    \
  };
BULK_STORE(BulkStore, "cp.async.bulk.global.shared::cta.bulk_group")
#define BULK_REDUCE(Name, op) BULK_STORE(Name, "cp.reduce.async.bulk.global.shared::cta.bulk_group." op)
BULK_REDUCE(ReduceU32, "add.u32")
BULK_REDUCE(ReduceS32Min, "min.s32")
BULK_REDUCE(ReduceU32Max, "max.u32")
BULK_REDUCE(ReduceInc, "inc.u32")
BULK_REDUCE(ReduceAnd, "and.b32")
BULK_REDUCE(ReduceXor, "xor.b32")
BULK_REDUCE(ReduceU64, "add.u64")
BULK_REDUCE(ReduceF32, "add.f32")
BULK_REDUCE(ReduceF64, "add.f64")
BULK_REDUCE(ReduceF16, "add.noftz.f16")
BULK_REDUCE(ReduceBf16, "add.noftz.bf16")
BULK_REDUCE(ReduceF16Min, "min.f16")
BULK_REDUCE(ReduceBf16Max, "max.bf16")

template <class Op>
__global__ void bulk_store(const uint32_t* source, uint32_t* global, uint32_t bytes) {
  __shared__ alignas(128) uint32_t shared[kWords];
  for (uint32_t i = threadIdx.x; i < kWords; i += 32) shared[i] = source[i];
  __syncthreads();
  if (threadIdx.x != 0) return;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  Op::run(global + 8, shared_address(shared) + 64, bytes);
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}

/// Words near 1.0 in f32, and in both halves near 1.0 in f16 and bf16, where `moderate`.
Words operands(uint32_t seed, bool moderate) {
  Words words = pattern(seed, kWords);
  if (moderate)
    for (uint32_t& word : words) word = (word & 0x83FF83FFu) | 0x3C003C00u;
  return words;
}

template <class Op>
void record_bulk_store(File& file, bool moderate) {
  const Words before = operands(6, moderate), source = operands(7, moderate);
  record::Buffer<uint32_t> s(source), g(before);
  bulk_store<Op><<<1, 32>>>(s.data(), g.data(), 512);
  record::finish(Op::name);
  file.add(std::string(Op::name) + " from=64 to=32 bytes=512",
           {{"before", {kWords}, before}, {"source", {kWords}, source}, {"after", {kWords}, g.values()}});
}

// mbarrier: a program of operations on one barrier by one thread, with what each gives.

enum Operation : uint32_t {
  kInit,
  kArrive,
  kArriveCount,
  kArriveExpect,
  kExpect,
  kArriveDrop,
  kTestWait,
  kTryParity0,
  kTryParity1,
  kPending,
  kCopy16,
  kInvalidate,
  kNoComplete
};
const char* const kOperationNames =
    "init,arrive,arrive_count,arrive_expect_tx,expect_tx,arrive_drop,test_wait,try_wait_parity_0,try_wait_parity_1,"
    "pending_count,bulk_copy_16,inval,arrive_no_complete";

__device__ uint64_t operate(uint32_t operation, uint32_t barrier, uint32_t argument, uint64_t& state, uint32_t shared,
                            const uint32_t* source) {
  uint64_t result = 0;
  uint32_t flag = 0;
  switch (operation) {
    case kInit:
      init_barrier(barrier, argument);
      break;
    case kArrive:
      asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(barrier) : "memory");
      result = state;
      break;
    case kArriveCount:
      asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;"
                   : "=l"(state)
                   : "r"(barrier), "r"(argument)
                   : "memory");
      result = state;
      break;
    case kArriveExpect:
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], %2;"
                   : "=l"(state)
                   : "r"(barrier), "r"(argument)
                   : "memory");
      result = state;
      break;
    case kExpect:
      asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(argument) : "memory");
      break;
    case kArriveDrop:
      asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(barrier) : "memory");
      result = state;
      break;
    case kNoComplete:
      asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], %2;"
                   : "=l"(state)
                   : "r"(barrier), "r"(argument)
                   : "memory");
      result = state;
      break;
    case kTestWait:
      asm volatile("{.reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                   : "=r"(flag)
                   : "r"(barrier), "l"(state)
                   : "memory");
      result = flag;
      break;
    case kTryParity0:
      asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0, 1000; selp.u32 %0, 1, 0, p;}"
                   : "=r"(flag)
                   : "r"(barrier)
                   : "memory");
      result = flag;
      break;
    case kTryParity1:
      asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 1, 1000; selp.u32 %0, 1, 0, p;}"
                   : "=r"(flag)
                   : "r"(barrier)
                   : "memory");
      result = flag;
      break;
    case kPending:
      asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(flag) : "l"(state));
      result = flag;
      break;
    case kCopy16:
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 16, [%2];" ::"r"(shared),
          "l"(source), "r"(barrier)
          : "memory");
      __nanosleep(20000);
      break;
    default:
      break;
  }
  return result;
}

__global__ void run_program(const uint32_t* program, int length, const uint32_t* source, uint64_t* results) {
  __shared__ alignas(16) uint32_t shared[4];
  __shared__ alignas(8) uint64_t barrier;
  uint64_t state = 0;
  for (int i = 0; i < length; ++i) {
    results[i] =
        operate(program[2 * i], shared_address(&barrier), program[2 * i + 1], state, shared_address(shared), source);
    if (program[2 * i] == kInit) fence_barrier();
  }
}

void record_barrier_program(File& file, const std::string& title, const Words& program) {
  const int length = static_cast<int>(program.size() / 2);
  record::Buffer<uint32_t> p(program), source(pattern(8, 4));
  record::Buffer<uint64_t> results(length);
  run_program<<<1, 1>>>(p.data(), length, source.data(), results.data());
  record::finish(title.c_str());
  file.add("mbarrier program=" + title + " operations=" + kOperationNames,
           {{"program", {length, 2}, program}, {"result", {length}, results.values()}});
}

void record_barriers(File& file) {
  const auto tries = [](Words program, const Words& more) {
    program.insert(program.end(), more.begin(), more.end());
    return program;
  };
  const Words look = {kTestWait, 0, kTryParity0, 0, kTryParity1, 0};
  Words counts = tries({kInit, 3, kTryParity0, 0, kTryParity1, 0}, {});
  for (int i = 0; i < 7; ++i) counts = tries(tries(counts, {kArrive, 0, kPending, 0}), look);
  record_barrier_program(file, "three_arrivals", counts);
  Words bytes = tries({kInit, 1, kArriveExpect, 32}, look);
  for (int i = 0; i < 2; ++i) bytes = tries(tries(bytes, {kCopy16, 0}), look);
  bytes = tries(tries(tries(tries(bytes, {kExpect, 16}), look), {kArrive, 0}), look);
  bytes = tries(tries(bytes, {kCopy16, 0}), look);
  record_barrier_program(file, "bytes", bytes);
  Words drops = tries({kInit, 4, kArriveDrop, 0, kPending, 0}, look);
  drops = tries(tries(tries(tries(drops, {kArriveCount, 3, kPending, 0}), look), {kArriveCount, 2, kPending, 0}), look);
  drops = tries(tries(tries(tries(drops, {kArrive, 0, kPending, 0}), look), {kNoComplete, 2, kPending, 0, kArrive, 0}),
                look);
  record_barrier_program(file, "drops", drops);
  Words early = tries(tries({kInit, 2, kCopy16, 0}, look), {kArrive, 0, kTryParity0, 0, kArriveExpect, 16});
  record_barrier_program(file, "bytes_before_expect", tries(early, look));
}

// cp.async that arrives on an mbarrier: 32 lanes, each a copy and an arrival.

template <bool counted>
__global__ void copies_arrive(const uint32_t* source, uint32_t* results) {
  __shared__ alignas(16) uint32_t shared[128];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t lane = threadIdx.x, address = shared_address(&barrier);
  if (lane == 0) init_barrier(address, counted ? 32 : 64), fence_barrier();
  __syncwarp();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(shared_address(shared + 4 * lane)),
               "l"(source + 4 * lane)
               : "memory");
  if (counted) asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(address) : "memory");
  if (!counted) asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(address) : "memory");
  __nanosleep(20000);
  __syncwarp();
  uint32_t done;
  asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
               : "=r"(done)
               : "r"(address)
               : "memory");
  if (lane == 0) results[0] = done;
  __syncwarp();
  for (int i = 0; i < (counted ? 0 : 2); ++i)
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address) : "memory");
  __syncwarp();
  asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
               : "=r"(done)
               : "r"(address)
               : "memory");
  if (lane == 0) results[1] = done;
}

template <bool counted>
void record_arrivals(File& file) {
  record::Buffer<uint32_t> source(pattern(16, 128)), results(2);
  copies_arrive<counted><<<1, 32>>>(source.data(), results.data());
  record::finish("copies_arrive");
  file.add(std::string("cp.async.mbarrier.arrive") + (counted ? ".noinc count=32" : " count=64"),
           {{"done_after_copies_and_after_two_arrivals_a_lane", {2}, results.values()}});
}

// Clusters of two: CTA r writes into its neighbour's shared memory.

__global__ void __cluster_dims__(2, 1, 1)
    run_cluster(const uint32_t* before, const uint32_t* source, uint32_t* after, uint32_t* seen) {
  __shared__ alignas(128) uint32_t shared[kWords];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t lane = threadIdx.x;
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  for (uint32_t i = lane; i < kWords; i += 32) shared[i] = before[rank * kWords + i];
  const uint32_t address = shared_address(&barrier);
  if (lane == 0) init_barrier(address, 1), fence_barrier();
  __syncthreads();
  cluster_sync();
  uint32_t remote, remote_barrier, value;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(shared_address(shared)), "r"(rank ^ 1));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote_barrier) : "r"(address), "r"(rank ^ 1));
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(remote + 4 * lane) : "memory");
  seen[rank * 32 + lane] = value;
  cluster_sync();
  if (lane == 0) expect(address, 32 * 16);
  cluster_sync();
  const uint32_t* words = source + rank * 128 + 4 * lane;
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1,%2,%3,%4}, [%5];" ::"r"(
                   remote + 256 + 16 * (31 - lane)),
               "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(remote_barrier)
               : "memory");
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(remote + 128 + 4 * lane), "r"(lane + 100 * rank) : "memory");
  asm volatile("red.shared::cluster.add.u32 [%0], %1;" ::"r"(remote), "r"(lane) : "memory");
  const bool done = wait(address, 0);
  cluster_sync();
  if (lane == 0) seen[64 + rank] = done;
  for (uint32_t i = lane; i < kWords; i += 32) after[rank * kWords + i] = shared[i];
}

void record_cluster(File& file) {
  const Words before = pattern(9, 2 * kWords), source = pattern(10, 256);
  record::Buffer<uint32_t> b(before), s(source), a(2 * kWords), seen(66);
  run_cluster<<<2, 32>>>(b.data(), s.data(), a.data(), seen.data());
  record::finish("cluster");
  file.add("cluster.of_two", {{"before", {2, kWords}, before},
                              {"source", {2, 32, 4}, source},
                              {"seen", {66}, seen.values()},
                              {"after", {2, kWords}, a.values()}});
}

__global__ void __cluster_dims__(2, 1, 1)
    run_multicast(const uint32_t* before, const uint32_t* source, uint32_t* after) {
  __shared__ alignas(128) uint32_t shared[kWords];
  __shared__ alignas(8) uint64_t barrier;
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  for (uint32_t i = threadIdx.x; i < kWords; i += 32) shared[i] = before[rank * kWords + i];
  const uint32_t address = shared_address(&barrier);
  if (threadIdx.x == 0) init_barrier(address, 1), fence_barrier();
  __syncthreads();
  if (threadIdx.x == 0) expect(address, 512);
  asm volatile("fence.proxy.async;" ::: "memory");
  cluster_sync();
  if (threadIdx.x == 0)
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 256, [%2], "
        "%3;" ::"r"(shared_address(shared) + 256 * rank),
        "l"(source + 64 * rank), "r"(address), "h"(static_cast<uint16_t>(3))
        : "memory");
  wait(address, 0);
  cluster_sync();
  for (uint32_t i = threadIdx.x; i < kWords; i += 32) after[rank * kWords + i] = shared[i];
}

void record_multicast(File& file) {
  const Words before = pattern(14, 2 * kWords), source = pattern(15, 128);
  record::Buffer<uint32_t> b(before), s(source), a(2 * kWords);
  run_multicast<<<2, 32>>>(b.data(), s.data(), a.data());
  record::finish("multicast");
  file.add("cp.async.bulk.multicast::cluster",
           {{"before", {2, kWords}, before}, {"source", {128}, source}, {"after", {2, kWords}, a.values()}});
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  File file(words[1]);
  record_copy<Ca4>(file), record_copy<Ca8>(file), record_copy<Ca16>(file), record_copy<Cg16>(file),
      record_copy<Ignore16>(file);
  record_bulk_load(file);
  record_bulk_store<BulkStore>(file, false), record_bulk_store<ReduceU32>(file, false),
      record_bulk_store<ReduceS32Min>(file, false);
  record_bulk_store<ReduceU32Max>(file, false), record_bulk_store<ReduceInc>(file, false),
      record_bulk_store<ReduceAnd>(file, false);
  record_bulk_store<ReduceXor>(file, false), record_bulk_store<ReduceU64>(file, false),
      record_bulk_store<ReduceF32>(file, true);
  record_bulk_store<ReduceF64>(file, true), record_bulk_store<ReduceF16>(file, true),
      record_bulk_store<ReduceBf16>(file, true);
  record_bulk_store<ReduceF16Min>(file, true), record_bulk_store<ReduceBf16Max>(file, true);
  record_multicast(file);
  record_cluster(file);
  record_barriers(file);
  record_arrivals<true>(file), record_arrivals<false>(file);
  return 0;
}
