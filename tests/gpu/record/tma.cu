// Records tensor copies: tiles of 1 to 5 dimensions, swizzles, what is out of bounds, element strides, im2col; stores
// and reductions. The tensor's bytes are mix(seed, word index); the shared memory before is 0xEE in every byte.
//     tma FILE
#include <cuda.h>

#include "record.h"

using record::Cases;
using record::Field;
using record::File;

namespace {

constexpr uint32_t kSharedBytes = 16384;

struct Tensor {
  std::string type;
  std::vector<uint64_t> extents;
  std::vector<uint64_t> strides;  // bytes, of dimensions 1 and up; empty: dense, rounded up to 16
};

struct Tile {
  Tensor tensor;
  std::vector<uint32_t> box;
  std::vector<uint32_t> element_strides;  // empty: all 1
  uint32_t swizzle = 0;                   // span in bytes
  std::vector<int> at;
  uint32_t shared_offset = 0;
  std::string fill = "zero";
  uint32_t bytes = 0;  // 0: the whole box
};

struct TypeInfo {
  const char* name;
  CUtensorMapDataType type;
  uint32_t bytes;
};

constexpr TypeInfo kTypes[] = {
    {"u8", CU_TENSOR_MAP_DATA_TYPE_UINT8, 1},      {"u16", CU_TENSOR_MAP_DATA_TYPE_UINT16, 2},
    {"u32", CU_TENSOR_MAP_DATA_TYPE_UINT32, 4},    {"s32", CU_TENSOR_MAP_DATA_TYPE_INT32, 4},
    {"u64", CU_TENSOR_MAP_DATA_TYPE_UINT64, 8},    {"f16", CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2},
    {"bf16", CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2}, {"f32", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4},
    {"f64", CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8},   {"f32_ftz", CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, 4},
    {"tf32", CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 4}, {"tf32_ftz", CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ, 4}};

TypeInfo info_of(const std::string& name) {
  for (const TypeInfo& info : kTypes)
    if (name == info.name) return info;
  std::exit(2);
}

CUtensorMapSwizzle swizzle_of(uint32_t span) {
  return span == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
         : span == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
         : span == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                      : CU_TENSOR_MAP_SWIZZLE_NONE;
}

template <class Function>
Function driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  record::check(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result), name);
  return reinterpret_cast<Function>(found);
}

std::vector<uint64_t> strides_of(const Tensor& tensor) {
  if (!tensor.strides.empty() || tensor.extents.size() == 1) return tensor.strides;
  std::vector<uint64_t> strides;
  uint64_t bytes = (tensor.extents[0] * info_of(tensor.type).bytes + 15) / 16 * 16;
  for (size_t i = 1; i < tensor.extents.size(); ++i) strides.push_back(bytes), bytes *= tensor.extents[i];
  return strides;
}

size_t bytes_of(const Tensor& tensor) {
  const auto strides = strides_of(tensor);
  return strides.empty() ? (tensor.extents[0] * info_of(tensor.type).bytes + 15) / 16 * 16
                         : strides.back() * tensor.extents.back();
}

std::vector<uint32_t> words_of(uint32_t seed, size_t bytes) {
  std::vector<uint32_t> out(bytes / 4);
  for (size_t i = 0; i < out.size(); ++i) out[i] = record::mix(seed, static_cast<uint32_t>(i));
  return out;
}

template <class T>
std::string listed(const std::vector<T>& values) {
  std::string out;
  for (const T& value : values) out += (out.empty() ? "" : ",") + std::to_string(value);
  return out.empty() ? "none" : out;
}

std::vector<uint32_t> element_strides_of(const Tile& tile) {
  return tile.element_strides.empty() ? std::vector<uint32_t>(tile.box.size(), 1) : tile.element_strides;
}

std::string title(const std::string& what, const Tile& tile, uint32_t seed) {
  return what + " type=" + tile.tensor.type + " extents=" + listed(tile.tensor.extents) +
         " strides=" + listed(strides_of(tile.tensor)) + " box=" + listed(tile.box) +
         " element_strides=" + listed(element_strides_of(tile)) + " swizzle=" + std::to_string(tile.swizzle) +
         " at=" + listed(tile.at) + " shared_offset=" + std::to_string(tile.shared_offset) + " fill=" + tile.fill +
         " seed=" + std::to_string(seed);
}

bool encode(const Tile& tile, void* global, CUtensorMap& map) {
  static const auto encode_tiled = driver_function<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  auto strides = strides_of(tile.tensor);
  strides.push_back(16);  // rank 1 needs the array, too
  const auto element_strides = element_strides_of(tile);
  const CUresult result = encode_tiled(
      &map, info_of(tile.tensor.type).type, static_cast<cuuint32_t>(tile.box.size()), global,
      reinterpret_cast<const cuuint64_t*>(tile.tensor.extents.data()),
      reinterpret_cast<const cuuint64_t*>(strides.data()), tile.box.data(), element_strides.data(),
      CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(tile.swizzle), CU_TENSOR_MAP_L2_PROMOTION_NONE,
      tile.fill == "nan" ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS;
}

struct At {
  int c[5];
};

At coordinates(const std::vector<int>& at) {
  At out = {};
  for (size_t i = 0; i < at.size(); ++i) out.c[i] = at[i];
  return out;
}

__device__ uint32_t shared_address(const void* p) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ void begin(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async;" ::: "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ bool wait(uint32_t barrier) {
  for (int i = 0; i < 20000; ++i) {
    uint32_t done;
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0, 10000; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(barrier)
                 : "memory");
    if (done) return true;
  }
  return false;
}

#define LOAD(rank, coordinates)                                                                                     \
  "cp.async.bulk.tensor." rank ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" coordinates \
  "}], [%2];"

__device__ void load(int rank, uint32_t to, const CUtensorMap* map, const At& at, uint32_t barrier) {
  const int* c = at.c;
  if (rank == 1) asm volatile(LOAD("1d", "%3")::"r"(to), "l"(map), "r"(barrier), "r"(c[0]) : "memory");
  if (rank == 2) asm volatile(LOAD("2d", "%3,%4")::"r"(to), "l"(map), "r"(barrier), "r"(c[0]), "r"(c[1]) : "memory");
  if (rank == 3)
    asm volatile(LOAD("3d", "%3,%4,%5")::"r"(to), "l"(map), "r"(barrier), "r"(c[0]), "r"(c[1]), "r"(c[2]) : "memory");
  if (rank == 4)
    asm volatile(LOAD("4d", "%3,%4,%5,%6")::"r"(to), "l"(map), "r"(barrier), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3])
                 : "memory");
  if (rank == 5)
    asm volatile(LOAD("5d", "%3,%4,%5,%6,%7")::"r"(to), "l"(map), "r"(barrier), "r"(c[0]), "r"(c[1]), "r"(c[2]),
                 "r"(c[3]), "r"(c[4])
                 : "memory");
}

__global__ void load_tile(const __grid_constant__ CUtensorMap map, int rank, At at, uint32_t offset, uint32_t bytes,
                          uint32_t used, uint8_t* after, uint32_t* completed) {
  __shared__ alignas(1024) uint8_t shared[kSharedBytes];
  __shared__ alignas(8) uint64_t barrier;
  for (uint32_t i = threadIdx.x; i < kSharedBytes; i += 32) shared[i] = 0xEE;
  __syncthreads();
  if (threadIdx.x == 0) {
    begin(shared_address(&barrier), bytes);
    load(rank, shared_address(shared) + offset, &map, at, shared_address(&barrier));
  }
  __syncthreads();
  const bool done = wait(shared_address(&barrier));
  if (threadIdx.x == 0) *completed = done;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < used; i += 32) after[i] = shared[i];
}

uint32_t box_bytes(const Tile& tile) {
  const auto steps = element_strides_of(tile);
  uint32_t count = info_of(tile.tensor.type).bytes;
  for (size_t i = 0; i < tile.box.size(); ++i) count *= (tile.box[i] + steps[i] - 1) / steps[i];
  return count;
}

void report_refusal(File& file, const std::string& name) {
  file.add(name + " refused=1", {});
}

/// tf32: half of the words lie in the middle of two values.
std::vector<uint32_t> with_ties(std::vector<uint32_t> words, const std::string& type) {
  if (type == "tf32")
    for (uint32_t& word : words) word &= 0xFFFFF000u;
  return words;
}

void record_load(File& file, Cases& cases, const Tile& tile) {
  static uint32_t seed = 100;
  ++seed;
  const std::string name = title("cp.async.bulk.tensor.tile.load", tile, seed);
  if (!cases.due(name)) return;
  record::Buffer<uint32_t> global(with_ties(words_of(seed, bytes_of(tile.tensor)), tile.tensor.type));
  CUtensorMap map;
  if (!encode(tile, global.data(), map)) return report_refusal(file, name);
  const uint32_t bytes = tile.bytes ? tile.bytes : box_bytes(tile);
  const uint32_t row = info_of(tile.tensor.type).bytes * tile.box[0];
  const uint32_t padded = box_bytes(tile) / row * std::max(row, tile.swizzle);
  const uint32_t used = std::min(kSharedBytes, (tile.shared_offset + padded + 127) / 128 * 128 + 128);
  record::Buffer<uint8_t> after(used);
  record::Buffer<uint32_t> completed(1);
  load_tile<<<1, 32>>>(map, static_cast<int>(tile.box.size()), coordinates(tile.at), tile.shared_offset, bytes, used,
                       after.data(), completed.data());
  record::finish(name.c_str());
  file.add(name + " bytes=" + std::to_string(bytes),
           {{"completed", {1}, completed.values()}, {"after", {int(used)}, after.values()}});
}

// A cluster of two: CTA r copies its half of the box into the shared memory of both.

__global__ void __cluster_dims__(2, 1, 1)
    load_for_both(const __grid_constant__ CUtensorMap map, int x, int y, uint32_t rows, uint32_t half_bytes,
                  uint32_t used, uint8_t* after) {
  __shared__ alignas(1024) uint8_t shared[kSharedBytes];
  __shared__ alignas(8) uint64_t barrier;
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  for (uint32_t i = threadIdx.x; i < kSharedBytes; i += 32) shared[i] = 0xEE;
  __syncthreads();
  const uint32_t b = shared_address(&barrier);
  if (threadIdx.x == 0) begin(b, 2 * half_bytes);
  asm volatile("fence.proxy.async;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  if (threadIdx.x == 0)
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
        "[%1, {%3,%4}], [%2], %5;" ::"r"(shared_address(shared) + rank * half_bytes),
        "l"(&map), "r"(b), "r"(x), "r"(y + int(rank * rows)), "h"(static_cast<uint16_t>(3))
        : "memory");
  wait(b);
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  for (uint32_t i = threadIdx.x; i < used; i += 32) after[rank * used + i] = shared[i];
}

/// `tile` is one CTA's half; the other begins box[1] rows further down.
void record_multicast(File& file, Cases& cases, const Tile& tile) {
  constexpr uint32_t kSeed = 180;
  const std::string name = title("cp.async.bulk.tensor.tile.load.multicast", tile, kSeed);
  if (!cases.due(name)) return;
  record::Buffer<uint32_t> global(words_of(kSeed, bytes_of(tile.tensor)));
  CUtensorMap map;
  if (!encode(tile, global.data(), map)) return report_refusal(file, name);
  const uint32_t used = 2 * box_bytes(tile) + 128;
  record::Buffer<uint8_t> after(2 * used);
  load_for_both<<<2, 32>>>(map, tile.at[0], tile.at[1], tile.box[1], box_bytes(tile), used, after.data());
  record::finish(name.c_str());
  file.add(name, {{"after", {2, int(used)}, after.values()}});
}

// Stores and reductions: shared memory is mix(seed + 1, word index).

#define STORE(op, coordinates) op " [%0, {" coordinates "}], [%1];"

template <int kind>
__device__ void store(int rank, const CUtensorMap* map, const At& at, uint32_t from);

#define STORE_KIND(kind, prefix, suffix)                                                                        \
  template <>                                                                                                   \
  __device__ void store<kind>(int rank, const CUtensorMap* map, const At& at, uint32_t from) {                  \
    const int* c = at.c;                                                                                        \
    if (rank == 1) asm volatile(STORE(prefix ".1d" suffix, "%2")::"l"(map), "r"(from), "r"(c[0]) : "memory");   \
    if (rank == 2)                                                                                              \
      asm volatile(STORE(prefix ".2d" suffix, "%2,%3")::"l"(map), "r"(from), "r"(c[0]), "r"(c[1]) : "memory");  \
    if (rank == 3)                                                                                              \
      asm volatile(STORE(prefix ".3d" suffix, "%2,%3,%4")::"l"(map), "r"(from), "r"(c[0]), "r"(c[1]), "r"(c[2]) \
                   : "memory");                                                                                 \
  }
STORE_KIND(0, "cp.async.bulk.tensor", ".global.shared::cta.tile.bulk_group")
STORE_KIND(1, "cp.reduce.async.bulk.tensor", ".global.shared::cta.add.tile.bulk_group")
STORE_KIND(2, "cp.reduce.async.bulk.tensor", ".global.shared::cta.min.tile.bulk_group")
STORE_KIND(3, "cp.reduce.async.bulk.tensor", ".global.shared::cta.max.tile.bulk_group")
STORE_KIND(4, "cp.reduce.async.bulk.tensor", ".global.shared::cta.xor.tile.bulk_group")

template <int kind>
__global__ void store_tile(const __grid_constant__ CUtensorMap map, int rank, At at, uint32_t offset,
                           const uint32_t* source) {
  __shared__ alignas(1024) uint32_t shared[kSharedBytes / 4];
  for (uint32_t i = threadIdx.x; i < kSharedBytes / 4; i += 32) shared[i] = source[i];
  __syncthreads();
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x != 0) return;
  store<kind>(rank, &map, at, shared_address(shared) + offset);
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}

/// Values whose sums are of moderate size in f32, f16 and bf16.
std::vector<uint32_t> moderate(std::vector<uint32_t> words, const std::string& type) {
  if (type[0] == 'f' || type[0] == 'b')
    for (uint32_t& word : words) word = (word & 0x83FF83FFu) | 0x3C003C00u;
  return words;
}

template <int kind>
void record_store(File& file, Cases& cases, const std::string& op, const Tile& tile) {
  static uint32_t seed = 300 + 20 * kind;
  seed += 2;
  const std::string name = title("cp.async.bulk.tensor.tile.store." + op, tile, seed);
  if (!cases.due(name)) return;
  const auto before = moderate(words_of(seed, bytes_of(tile.tensor)), tile.tensor.type);
  record::Buffer<uint32_t> global(before), source(moderate(words_of(seed + 1, kSharedBytes), tile.tensor.type));
  CUtensorMap map;
  if (!encode(tile, global.data(), map)) return report_refusal(file, name);
  store_tile<kind>
      <<<1, 32>>>(map, static_cast<int>(tile.box.size()), coordinates(tile.at), tile.shared_offset, source.data());
  record::finish(name.c_str());
  file.add(name, {{"after", {int(before.size())}, global.values()}});
}

// im2col of images N x H x W x C (dimensions are listed C first).

struct Im2col {
  Tensor tensor;
  std::vector<int> lower, upper;
  uint32_t channels, pixels;
  std::vector<uint32_t> element_strides;
  uint32_t swizzle;
  std::vector<int> at;
  std::vector<int> offsets;
};

__global__ void load_im2col(const __grid_constant__ CUtensorMap map, int rank, At at, At offsets, uint32_t bytes,
                            uint32_t used, uint8_t* after, uint32_t* completed) {
  __shared__ alignas(1024) uint8_t shared[kSharedBytes];
  __shared__ alignas(8) uint64_t barrier;
  for (uint32_t i = threadIdx.x; i < kSharedBytes; i += 32) shared[i] = 0xEE;
  __syncthreads();
  const uint32_t to = shared_address(shared), b = shared_address(&barrier);
  const int* c = at.c;
  const auto w = static_cast<uint16_t>(offsets.c[0]), h = static_cast<uint16_t>(offsets.c[1]);
  if (threadIdx.x == 0) {
    begin(b, bytes);
    if (rank == 3)
      asm volatile(
          "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3,%4,%5}], "
          "[%2], {%6};" ::"r"(to),
          "l"(&map), "r"(b), "r"(c[0]), "r"(c[1]), "r"(c[2]), "h"(w)
          : "memory");
    if (rank == 4)
      asm volatile(
          "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, "
          "{%3,%4,%5,%6}], [%2], {%7,%8};" ::"r"(to),
          "l"(&map), "r"(b), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "h"(w), "h"(h)
          : "memory");
  }
  __syncthreads();
  const bool done = wait(b);
  if (threadIdx.x == 0) *completed = done;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < used; i += 32) after[i] = shared[i];
}

void record_im2col(File& file, Cases& cases, const Im2col& load) {
  static uint32_t seed = 200;
  ++seed;
  static const auto encode_im2col = driver_function<decltype(&cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col");
  const auto strides = strides_of(load.tensor);
  const std::string name =
      "cp.async.bulk.tensor.im2col.load type=" + load.tensor.type + " extents=" + listed(load.tensor.extents) +
      " strides=" + listed(strides) + " lower=" + listed(load.lower) + " upper=" + listed(load.upper) +
      " channels=" + std::to_string(load.channels) + " pixels=" + std::to_string(load.pixels) +
      " element_strides=" + listed(load.element_strides) + " swizzle=" + std::to_string(load.swizzle) +
      " at=" + listed(load.at) + " offsets=" + listed(load.offsets) + " seed=" + std::to_string(seed);
  if (!cases.due(name)) return;
  record::Buffer<uint32_t> global(words_of(seed, bytes_of(load.tensor)));
  CUtensorMap map;
  if (encode_im2col(&map, info_of(load.tensor.type).type, static_cast<cuuint32_t>(load.tensor.extents.size()),
                    global.data(), reinterpret_cast<const cuuint64_t*>(load.tensor.extents.data()),
                    reinterpret_cast<const cuuint64_t*>(strides.data()), load.lower.data(), load.upper.data(),
                    load.channels, load.pixels, load.element_strides.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
                    swizzle_of(load.swizzle), CU_TENSOR_MAP_L2_PROMOTION_NONE,
                    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
    return report_refusal(file, name);
  const uint32_t bytes = load.channels * load.pixels * info_of(load.tensor.type).bytes, used = bytes + 128;
  record::Buffer<uint8_t> after(used);
  record::Buffer<uint32_t> completed(1);
  load_im2col<<<1, 32>>>(map, static_cast<int>(load.tensor.extents.size()), coordinates(load.at),
                         coordinates(load.offsets), bytes, used, after.data(), completed.data());
  record::finish(name.c_str());
  file.add(name + " bytes=" + std::to_string(bytes),
           {{"completed", {1}, completed.values()}, {"after", {int(used)}, after.values()}});
}

void record_plain_tiles(File& file, Cases& cases) {
  const Tensor line{"u32", {100}, {}}, plane{"u16", {40, 24}, {}}, bytes{"u8", {60, 20}, {}}, wide{"f64", {12, 9}, {}};
  for (int at : {0, 12, -8, 60, 100, 13, -5}) record_load(file, cases, {line, {64}, {}, 0, {at}});
  for (const std::vector<int>& at : std::vector<std::vector<int>>{
           {0, 0}, {8, 5}, {-8, 0}, {0, -2}, {-8, -3}, {32, 20}, {-16, 0}, {40, 30}, {3, 0}, {-3, 0}, {30, 20}})
    record_load(file, cases, {plane, {16, 8}, {}, 0, at});
  record_load(file, cases, {bytes, {32, 8}, {}, 0, {48, 15}});
  record_load(file, cases, {bytes, {32, 8}, {}, 0, {7, 15}});
  record_load(file, cases, {wide, {4, 5}, {}, 0, {10, 6}});
  record_load(file, cases, {{"u16", {40, 24}, {160}}, {24, 6}, {}, 0, {24, 20}});
  record_load(file, cases, {plane, {8, 12}, {1, 2}, 0, {8, 3}});
  record_load(file, cases, {plane, {8, 12}, {1, 3}, 0, {8, 15}});
  record_load(file, cases, {plane, {16, 8}, {2, 1}, 0, {0, 0}, 0, "zero", 256});
  record_load(file, cases, {{"u16", {24, 6, 5}, {}}, {16, 4, 3}, {}, 0, {-8, 3, 1}});
  record_load(file, cases, {{"u16", {24, 6, 5}, {}}, {8, 4, 4}, {1, 2, 2}, 0, {8, 1, 1}});
  record_load(file, cases, {{"u16", {16, 4, 3, 3}, {}}, {8, 3, 2, 2}, {}, 0, {8, 2, -1, 2}});
  record_load(file, cases, {{"u16", {16, 3, 3, 2, 2}, {}}, {8, 2, 2, 2, 2}, {}, 0, {8, -1, 2, 1, 0}});
}

void record_swizzled_tiles(File& file, Cases& cases) {
  const Tensor halves{"u16", {80, 40}, {}}, words{"u32", {48, 24}, {}}, bytes{"u8", {160, 24}, {}};
  for (uint32_t span : {32u, 64u, 128u}) {
    record_load(file, cases, {halves, {span / 2, 16}, {}, span, {8, 3}});
    record_load(file, cases, {halves, {span / 2, 20}, {}, span, {64, 30}});
    record_load(file, cases, {words, {span / 4, 10}, {}, span, {8, 2}});
    record_load(file, cases, {bytes, {span, 10}, {}, span, {16, 20}});
    record_load(file, cases, {{"u16", {80, 6, 5}, {}}, {span / 2, 3, 3}, {}, span, {8, 1, 1}});
    record_load(file, cases, {halves, {span / 4, 10}, {}, span, {8, 3}});
  }
  for (uint32_t offset : {128u, 256u, 640u}) record_load(file, cases, {halves, {64, 12}, {}, 128, {0, 0}, offset});
  record_load(file, cases, {halves, {32, 12}, {}, 64, {0, 0}, 128});
  record_load(file, cases, {halves, {16, 12}, {}, 32, {0, 0}, 128});
  record_load(file, cases, {halves, {128, 4}, {}, 128, {0, 0}});
}

void record_typed_tiles(File& file, Cases& cases) {
  for (const char* type : {"f16", "bf16", "f32"}) {
    Tile tile{{type, {24, 10}, {}}, {16, 6}, {}, 0, {16, 7}};
    tile.fill = "nan";
    record_load(file, cases, tile);
  }
  for (const char* type : {"f32", "f32_ftz", "tf32", "tf32_ftz"})
    record_load(file, cases, {{type, {32, 8}, {}}, {32, 8}, {}, 0, {0, 0}});
}

void record_stores(File& file, Cases& cases) {
  const Tensor plane{"u32", {20, 10}, {}}, halves{"f16", {40, 10}, {}};
  record_store<0>(file, cases, "copy", {plane, {8, 6}, {}, 0, {4, 2}});
  record_store<0>(file, cases, "copy", {plane, {8, 6}, {}, 0, {-4, 7}});
  record_store<0>(file, cases, "copy", {plane, {8, 6}, {}, 0, {16, -2}});
  record_store<0>(file, cases, "copy", {{"u16", {80, 10}, {}}, {64, 8}, {}, 128, {24, 4}});
  record_store<0>(file, cases, "copy", {{"u16", {80, 10}, {}}, {32, 8}, {}, 64, {64, 1}, 256});
  record_store<0>(file, cases, "copy", {{"u16", {40, 10}, {}}, {16, 8}, {}, 32, {32, 4}});
  record_store<0>(file, cases, "copy", {plane, {8, 8}, {1, 2}, 0, {4, 1}});
  record_store<0>(file, cases, "copy", {{"u16", {24, 5, 4}, {}}, {16, 3, 3}, {}, 0, {16, -1, 2}});
  record_store<0>(file, cases, "copy", {plane, {8, 6}, {}, 0, {3, 2}});
  record_store<1>(file, cases, "add", {plane, {8, 6}, {}, 0, {16, 2}});
  record_store<1>(file, cases, "add", {{"f32", {20, 10}, {}}, {16, 6}, {}, 64, {8, 6}});
  record_store<1>(file, cases, "add", {halves, {16, 6}, {}, 0, {32, 6}});
  record_store<1>(file, cases, "add", {{"bf16", {40, 10}, {}}, {16, 6}, {}, 0, {32, 6}});
  record_store<2>(file, cases, "min", {{"s32", {20, 10}, {}}, {8, 6}, {}, 0, {16, 2}});
  record_store<3>(file, cases, "max", {halves, {16, 6}, {}, 0, {32, 6}});
  record_store<4>(file, cases, "xor", {plane, {8, 6}, {}, 0, {16, 2}});
}

void record_images(File& file, Cases& cases) {
  const Tensor images{"u16", {16, 7, 6, 3}, {}};
  record_im2col(file, cases, {images, {0, 0}, {0, 0}, 8, 20, {1, 1, 1, 1}, 0, {0, 0, 0, 0}, {0, 0}});
  record_im2col(file, cases, {images, {-1, -1}, {-1, -1}, 16, 32, {1, 1, 1, 1}, 32, {0, -1, -1, 0}, {0, 0}});
  record_im2col(file, cases, {images, {-1, -1}, {-1, -1}, 16, 32, {1, 1, 1, 1}, 32, {0, 3, 2, 1}, {2, 1}});
  record_im2col(file, cases, {images, {0, 0}, {-2, -2}, 8, 24, {1, 1, 1, 1}, 0, {8, 2, 1, 0}, {1, 2}});
  record_im2col(file, cases, {images, {-1, -1}, {-1, -1}, 8, 16, {1, 2, 2, 1}, 0, {0, -1, -1, 0}, {1, 0}});
  record_im2col(file, cases, {images, {-1, -1}, {-1, -1}, 16, 40, {1, 1, 1, 1}, 0, {8, 4, 4, 2}, {1, 1}});
  record_im2col(file, cases, {{"u16", {16, 9, 3}, {}}, {-1}, {-1}, 8, 12, {1, 1, 1}, 0, {8, 3, 1}, {2}});
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  record::record_each(words[1], [](File& file, Cases& cases) {
    record_plain_tiles(file, cases);
    record_swizzled_tiles(file, cases);
    record_stores(file, cases);
    record_images(file, cases);
    record_typed_tiles(file, cases);
    record_multicast(file, cases, {{"u16", {80, 40}, {}}, {32, 8}, {}, 64, {8, 3}});
  });
  return 0;
}
