// Records wgmma: one warpgroup, operands in an image of shared memory whose elements follow from a seed.
//     wgmma FILE [STUDY_FILE SEEDS]
#include <cstring>

#include "record.h"
#include "wgmma_shapes.inc"

using record::Field;
using record::File;

namespace {

constexpr uint32_t kImageBytes = 49152, kB = 16384;

/// What an element is: small integers that sums keep exact, or floats with exponents in -spread .. spread.
struct Data {
  const char* name;
  int spread;
};
constexpr Data kIntegers{"integers", -1}, kNear{"near", 1}, kWide{"wide", 6};

struct Format {
  const char* name;
  int bytes, mantissa, bias;
};
constexpr Format kBf16{"bf16", 2, 7, 127}, kF16{"f16", 2, 10, 15}, kTf32{"tf32", 4, 23, 127}, kS8{"s8", 1, 0, 0},
    kU8{"u8", 1, 0, 0}, kE4m3{"e4m3", 1, 3, 7}, kE5m2{"e5m2", 1, 2, 15}, kF32{"f32", 4, 23, 127}, kS32{"s32", 4, 0, 0};

uint32_t float_bits(const Format& f, bool negative, int exponent, uint32_t mantissa) {
  return uint32_t(negative) << (8 * f.bytes - 1) | uint32_t(exponent + f.bias) << f.mantissa |
         (mantissa & ((1u << f.mantissa) - 1));
}

uint32_t small_integer(const Format& f, int value) {
  if (f.mantissa == 0) return uint32_t(value);
  if (value == 0) return 0;
  const uint32_t magnitude = uint32_t(std::abs(value));
  const int exponent = 31 - __builtin_clz(magnitude);
  const uint32_t fraction = magnitude - (1u << exponent);
  return float_bits(f, value < 0, exponent, f.mantissa >= exponent ? fraction << (f.mantissa - exponent) : 0);
}

/// Integers: -3 .. 3 (bytes: all values). Floats: sign bit 31, exponent from bits 24 to 30, mantissa below.
uint32_t element(const Format& f, const Data& data, uint32_t seed, uint32_t index) {
  const uint32_t h = record::mix(seed, index);
  if (f.mantissa == 0) return f.bytes == 1 ? h & 255 : uint32_t(int(h % 2001) - 1000);
  if (data.spread < 0) return small_integer(f, int(h % 7) - 3);
  const int exponent = int((h >> 24 & 127) % uint32_t(2 * data.spread + 1)) - data.spread;
  return float_bits(f, h >> 31, exponent, h);
}

std::vector<uint8_t> elements(const Format& f, const Data& data, uint32_t seed, uint32_t bytes) {
  std::vector<uint8_t> out(bytes);
  for (uint32_t i = 0; i < bytes / uint32_t(f.bytes); ++i) {
    const uint32_t value = element(f, data, seed, i);
    std::memcpy(out.data() + i * uint32_t(f.bytes), &value, size_t(f.bytes));
  }
  return out;
}

std::vector<uint32_t> as_words(const std::vector<uint8_t>& bytes) {
  std::vector<uint32_t> out(bytes.size() / 4);
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

/// A matrix descriptor without its address: byte offsets, swizzle span in bytes, base offset.
struct Matrix {
  uint32_t at, leading, stride, swizzle, base = 0;
};

uint64_t fields_of(const Matrix& m) {
  const uint64_t mode = m.swizzle == 128 ? 1 : m.swizzle == 64 ? 2 : m.swizzle == 32 ? 3 : 0;
  return uint64_t(m.leading >> 4 & 0x3FFF) << 16 | uint64_t(m.stride >> 4 & 0x3FFF) << 32 | uint64_t(m.base) << 49 |
         mode << 62;
}

template <class Op>
__global__ void __launch_bounds__(128)
    run_wgmma(const uint32_t* image, const uint32_t* a, const uint32_t* before, uint64_t fields_a, uint64_t fields_b,
              uint32_t at_a, uint32_t at_b, int scale_d, uint32_t* after) {
  extern __shared__ __align__(1024) uint32_t shared[];
  const uint32_t t = threadIdx.x;
  for (uint32_t i = t; i < kImageBytes / 4; i += 128) shared[i] = image[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const uint32_t base = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  uint32_t ra[4], d[Op::words];
  for (int i = 0; i < 4; ++i) ra[i] = a[4 * t + i];
  for (int i = 0; i < Op::words; ++i) d[i] = before[Op::words * t + i];
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  Op::run(d, ra, fields_a | ((base + at_a) & 0x3FFFF) >> 4, fields_b | ((base + at_b) & 0x3FFFF) >> 4, scale_d);
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < Op::words; ++i) after[Op::words * t + i] = d[i];
}

struct Operands {
  Format a, b, d;
  Data data;
};

std::string told(const char* side, const Matrix& m) {
  const std::string s = std::string(" ") + side;
  return s + "_at=" + std::to_string(m.at) + s + "_leading=" + std::to_string(m.leading) + s +
         "_stride=" + std::to_string(m.stride) + s + "_swizzle=" + std::to_string(m.swizzle) + s +
         "_base=" + std::to_string(m.base);
}

struct Options {
  int scale_d = 1, scale_a = 1, scale_b = 1, transpose_a = 0, transpose_b = 0;
  bool from_registers = false;
};

std::string told(const Options& o, const Operands& what, uint32_t seed) {
  return std::string(" a=") + (o.from_registers ? "registers" : "shared") + " scale_d=" + std::to_string(o.scale_d) +
         " scale_a=" + std::to_string(o.scale_a) + " scale_b=" + std::to_string(o.scale_b) +
         " transpose_a=" + std::to_string(o.transpose_a) + " transpose_b=" + std::to_string(o.transpose_b) +
         " data=" + what.data.name + " seed=" + std::to_string(seed);
}

/// All words, or those of threads 0, 37 and 127 with the sum of all words.
std::vector<Field> fields_to_keep(int words, const std::vector<uint32_t>& d) {
  if (words <= 8) return {{"d", {128, words}, d}};
  std::vector<uint32_t> some;
  uint64_t sum = 0;
  for (uint32_t word : d) sum += word;
  for (int thread : {0, 37, 127}) some.insert(some.end(), d.begin() + thread * words, d.begin() + (thread + 1) * words);
  return {{"d_of_threads_0_37_127", {3, words}, some}, {"sum", {1}, std::vector<uint64_t>{sum}}};
}

template <class Op>
void record_product(File& file, const Operands& what, const Matrix& a, const Matrix& b, const Options& o,
                    uint32_t seed) {
  std::vector<uint8_t> image = elements(what.a, what.data, seed, kB),
                       for_b = elements(what.b, what.data, seed + 1, kImageBytes - kB);
  image.insert(image.end(), for_b.begin(), for_b.end());
  record::Buffer<uint32_t> di(as_words(image)), da(as_words(elements(what.a, what.data, seed + 2, 2048)));
  record::Buffer<uint32_t> before(as_words(elements(what.d, what.data, seed + 3, 512 * Op::words))),
      after(size_t(128) * Op::words);
  record::check(cudaFuncSetAttribute(run_wgmma<Op>, cudaFuncAttributeMaxDynamicSharedMemorySize, kImageBytes),
                "shared memory");
  run_wgmma<Op><<<1, 128, kImageBytes>>>(di.data(), da.data(), before.data(), fields_of(a), fields_of(b), a.at,
                                         kB + b.at, o.scale_d, after.data());
  record::finish(Op::name);
  file.add(Op::name + told(o, what, seed) + told("a", a) + told("b", b), fields_to_keep(Op::words, after.values()));
}

uint32_t next_seed() {
  static uint32_t seed = 1000;
  return seed += 10;
}

const Operands kBf16s{kBf16, kBf16, kF32, kIntegers}, kF16s{kF16, kF16, kF32, kIntegers};

#define SHARED(n, type, sa, sb, ta, tb) N##n##type##Shared<sa, sb, ta, tb>
#define REGISTERS(n, type, sa, sb, tb) N##n##type##Registers<sa, sb, 0, tb>

/// K-major: rows of 16 bytes in groups of 8 without a swizzle, rows of `span` bytes with one.
template <class Op>
void k_major(File& file, const Operands& what) {
  record_product<Op>(file, what, {0, 128, 256, 0}, {0, 128, 256, 0}, {}, next_seed());
  record_product<Op>(file, what, {0, 1024, 128, 0}, {0, 2048, 128, 0}, {}, next_seed());
  for (uint32_t span : {32u, 64u, 128u}) {
    record_product<Op>(file, what, {0, 16, 8 * span, span}, {0, 16, 8 * span, span}, {}, next_seed());
    record_product<Op>(file, what, {span - 32, 512, 8 * span, span}, {span - 32, 512, 16 * span, span}, {},
                       next_seed());
  }
}

void record_k_major(File& file) {
  k_major<SHARED(16, f32bf16bf16, 1, 1, 0, 0)>(file, kBf16s);
  k_major<SHARED(8, f32tf32tf32, 1, 1, 0, 0)>(file, {kTf32, kTf32, kF32, kIntegers});
  k_major<SHARED(8, s32s8s8, 1, 1, 0, 0)>(file, {kS8, kS8, kS32, kIntegers});
  record_product<SHARED(8, f32e4m3e4m3, 1, 1, 0, 0)>(file, {kE4m3, kE4m3, kF32, kIntegers}, {0, 128, 256, 0},
                                                     {0, 128, 256, 0}, {}, next_seed());
  record_product<SHARED(8, s32s8u8, 1, 1, 0, 0)>(file, {kS8, kU8, kS32, kIntegers}, {0, 16, 1024, 128},
                                                 {0, 16, 1024, 128}, {}, next_seed());
  record_product<SHARED(8, s32u8s8, 1, 1, 0, 0)>(file, {kU8, kS8, kS32, kIntegers}, {0, 16, 1024, 128},
                                                 {0, 16, 1024, 128}, {}, next_seed());
  record_product<SHARED(8, s32u8u8, 1, 1, 0, 0)>(file, {kU8, kU8, kS32, kIntegers}, {0, 16, 1024, 128},
                                                 {0, 16, 1024, 128}, {}, next_seed());
  record_product<SHARED(8, f32e4m3e5m2, 1, 1, 0, 0)>(file, {kE4m3, kE5m2, kF32, kIntegers}, {0, 16, 1024, 128},
                                                     {0, 16, 1024, 128}, {}, next_seed());
  record_product<SHARED(8, f32e5m2e4m3, 1, 1, 0, 0)>(file, {kE5m2, kE4m3, kF32, kIntegers}, {0, 16, 1024, 128},
                                                     {0, 16, 1024, 128}, {}, next_seed());
  record_product<SHARED(8, f32e5m2e5m2, 1, 1, 0, 0)>(file, {kE5m2, kE5m2, kF32, kIntegers}, {0, 16, 1024, 128},
                                                     {0, 16, 1024, 128}, {}, next_seed());
  record_product<SHARED(8, f16e4m3e4m3, 1, 1, 0, 0)>(file, {kE4m3, kE4m3, kF16, kIntegers}, {0, 16, 1024, 128},
                                                     {0, 16, 1024, 128}, {}, next_seed());
  record_product<SHARED(16, f16f16f16, 1, 1, 0, 0)>(file, {kF16, kF16, kF16, kIntegers}, {0, 16, 1024, 128},
                                                    {0, 16, 1024, 128}, {}, next_seed());
}

/// Starts of a matrix that are no multiple of its pattern: the address counts, or the base offset.
void record_offsets(File& file) {
  using Op = SHARED(8, f32bf16bf16, 1, 1, 0, 0);
  for (uint32_t base : {0u, 1u, 2u, 7u})
    record_product<Op>(file, kBf16s, {128, 16, 1024, 128, base}, {0, 16, 1024, 128}, {}, next_seed());
  for (uint32_t base : {0u, 2u})
    record_product<Op>(file, kBf16s, {256 + 32, 16, 1024, 128, base}, {256, 16, 1024, 128, base}, {}, next_seed());
  for (uint32_t base : {0u, 1u})
    record_product<Op>(file, kBf16s, {128, 16, 512, 64, base}, {64, 16, 512, 64, base}, {}, next_seed());
}

/// MN-major: several pairs of offsets tell what each means.
template <class Op>
void mn_major_a(File& file, const Operands& what, int transpose_b) {
  Options o;
  o.transpose_a = 1, o.transpose_b = transpose_b;
  record_product<Op>(file, what, {0, 128, 1024, 0}, {0, 128, 256, 0}, o, next_seed());
  record_product<Op>(file, what, {0, 2048, 128, 0}, {0, 128, 256, 0}, o, next_seed());
  record_product<Op>(file, what, {0, 1024, 2048, 32}, {0, 128, 256, 0}, o, next_seed());
  record_product<Op>(file, what, {0, 512, 256, 32}, {0, 128, 256, 0}, o, next_seed());
  record_product<Op>(file, what, {0, 1024, 512, 64}, {0, 128, 256, 0}, o, next_seed());
  record_product<Op>(file, what, {0, 4096, 2048, 64}, {0, 128, 256, 0}, o, next_seed());
  record_product<Op>(file, what, {0, 4096, 1024, 128}, {0, 128, 256, 0}, o, next_seed());
  record_product<Op>(file, what, {2048, 1024, 2048, 128}, {0, 128, 256, 0}, o, next_seed());
}

void record_mn_major(File& file) {
  mn_major_a<SHARED(8, f32bf16bf16, 1, 1, 1, 0)>(file, kBf16s, 0);
  Options o;
  o.transpose_b = 1;
  const Matrix a{0, 16, 1024, 128};
  record_product<SHARED(32, f32bf16bf16, 1, 1, 0, 1)>(file, kBf16s, a, {0, 128, 1024, 0}, o, next_seed());
  record_product<SHARED(32, f32bf16bf16, 1, 1, 0, 1)>(file, kBf16s, a, {0, 1024, 256, 0}, o, next_seed());
  record_product<SHARED(32, f32bf16bf16, 1, 1, 0, 1)>(file, kBf16s, a, {0, 1024, 256, 32}, o, next_seed());
  record_product<SHARED(32, f32bf16bf16, 1, 1, 0, 1)>(file, kBf16s, a, {0, 512, 2048, 32}, o, next_seed());
  record_product<SHARED(64, f32bf16bf16, 1, 1, 0, 1)>(file, kBf16s, a, {0, 1024, 512, 64}, o, next_seed());
  record_product<SHARED(64, f16f16f16, 1, 1, 0, 1)>(file, {kF16, kF16, kF16, kIntegers}, a, {0, 4096, 2048, 64}, o,
                                                    next_seed());
  record_product<SHARED(128, f32bf16bf16, 1, 1, 0, 1)>(file, kBf16s, a, {0, 4096, 1024, 128}, o, next_seed());
  record_product<SHARED(128, f32bf16bf16, 1, 1, 0, 1)>(file, kBf16s, a, {0, 2048, 1024, 128}, o, next_seed());
  o.transpose_a = 1;
  record_product<SHARED(64, f32bf16bf16, 1, 1, 1, 1)>(file, kBf16s, {0, 4096, 1024, 128}, {0, 4096, 1024, 128}, o,
                                                      next_seed());
}

void record_a_in_registers(File& file) {
  Options o;
  o.from_registers = true;
  const Matrix none{0, 0, 0, 0}, b{0, 16, 1024, 128};
  record_product<REGISTERS(16, f32bf16bf16, 1, 1, 0)>(file, kBf16s, none, b, o, next_seed());
  record_product<REGISTERS(8, f32f16f16, 1, 1, 0)>(file, kF16s, none, b, o, next_seed());
  record_product<REGISTERS(8, f16f16f16, 1, 1, 0)>(file, {kF16, kF16, kF16, kIntegers}, none, b, o, next_seed());
  record_product<REGISTERS(16, f32tf32tf32, 1, 1, 0)>(file, {kTf32, kTf32, kF32, kIntegers}, none, b, o, next_seed());
  record_product<REGISTERS(16, s32s8s8, 1, 1, 0)>(file, {kS8, kS8, kS32, kIntegers}, none, b, o, next_seed());
  record_product<REGISTERS(8, s32u8s8, 1, 1, 0)>(file, {kU8, kS8, kS32, kIntegers}, none, b, o, next_seed());
  record_product<REGISTERS(8, f32e4m3e4m3, 1, 1, 0)>(file, {kE4m3, kE4m3, kF32, kIntegers}, none, b, o, next_seed());
  record_product<REGISTERS(8, f32e5m2e4m3, 1, 1, 0)>(file, {kE5m2, kE4m3, kF32, kIntegers}, none, b, o, next_seed());
  o.transpose_b = 1;
  record_product<REGISTERS(64, f32bf16bf16, 1, 1, 1)>(file, kBf16s, none, {0, 4096, 1024, 128}, o, next_seed());
}

void record_scales(File& file) {
  const Matrix m{0, 16, 1024, 128};
  record_product<SHARED(8, f32bf16bf16, 1, 1, 0, 0)>(file, kBf16s, m, m, {0, 1, 1, 0, 0, false}, next_seed());
  record_product<SHARED(8, f32bf16bf16, -1, 1, 0, 0)>(file, kBf16s, m, m, {1, -1, 1, 0, 0, false}, next_seed());
  record_product<SHARED(8, f32bf16bf16, 1, -1, 0, 0)>(file, kBf16s, m, m, {1, 1, -1, 0, 0, false}, next_seed());
  record_product<SHARED(8, f32bf16bf16, -1, -1, 0, 0)>(file, kBf16s, m, m, {0, -1, -1, 0, 0, false}, next_seed());
  record_product<SHARED(8, f32tf32tf32, -1, 1, 0, 0)>(file, {kTf32, kTf32, kF32, kIntegers}, m, m,
                                                      {1, -1, 1, 0, 0, false}, next_seed());
  record_product<SHARED(256, f32bf16bf16, 1, 1, 0, 0)>(file, kBf16s, m, m, {}, next_seed());
  record_product<SHARED(256, f32f16f16, 1, 1, 0, 0)>(file, kF16s, m, m, {}, next_seed());
}

/// Floats whose sums round: the same for all types.
void record_rounding(File& file, int seeds) {
  const Matrix m{0, 16, 1024, 128};
  for (int i = 0; i < seeds; ++i)
    for (const Data& data : {kNear, kWide}) {
      record_product<SHARED(8, f32bf16bf16, 1, 1, 0, 0)>(file, {kBf16, kBf16, kF32, data}, m, m, {}, next_seed());
      record_product<SHARED(8, f32f16f16, 1, 1, 0, 0)>(file, {kF16, kF16, kF32, data}, m, m, {}, next_seed());
      record_product<SHARED(8, f16f16f16, 1, 1, 0, 0)>(file, {kF16, kF16, kF16, data}, m, m, {}, next_seed());
      record_product<SHARED(8, f32tf32tf32, 1, 1, 0, 0)>(file, {kTf32, kTf32, kF32, data}, m, m, {}, next_seed());
      const Data narrow = data.spread == 6 ? Data{"spread5", 5} : data;
      record_product<SHARED(8, f32e4m3e4m3, 1, 1, 0, 0)>(file, {kE4m3, kE4m3, kF32, narrow}, m, m, {}, next_seed());
      record_product<SHARED(8, f32e5m2e5m2, 1, 1, 0, 0)>(file, {kE5m2, kE5m2, kF32, narrow}, m, m, {}, next_seed());
      record_product<SHARED(8, f16e4m3e4m3, 1, 1, 0, 0)>(file, {kE4m3, kE4m3, kF16, narrow}, m, m, {}, next_seed());
    }
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return 2;
  File file(words[1]);
  record_k_major(file);
  record_a_in_registers(file);
  record_scales(file);
  record_rounding(file, 1);
  record_mn_major(file);
  record_offsets(file);
  if (count < 4) return 0;
  File study(words[2]);
  record_rounding(study, std::atoi(words[3]));
  return 0;
}
