// Records instructions of one thread: conversions, arithmetic with its rounding and NaN rules, approximations, atomics.
//     scalar FILE
#include <cmath>
#include <cstring>

#include "record.h"

using record::Field;
using record::File;
using record::Random;

namespace {

constexpr int kPoints = 352;

uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

uint32_t with_exponent(Random& random, int first, int last, uint32_t mantissa_mask) {
  return (random.bits() & 0x80000000u) | (uint32_t(random.between(first, last) + 127) << 23) |
         (random.bits() & mantissa_mask);
}

/// Zeros, denormals, infinities, NaNs, and the ends of the narrower types.
uint32_t special_f32(Random& random) {
  static const uint32_t kValues[] = {0,
                                     1,
                                     0x007FFFFF,
                                     0x00800000,
                                     0x7F7FFFFF,
                                     0x7F800000,
                                     0x7F800001,
                                     0x7FC00000,
                                     0x7FFFFFFF,
                                     0x7F7F8000,
                                     0x7F7F7FFF,
                                     bits_of(65504),
                                     bits_of(65519),
                                     bits_of(65520),
                                     bits_of(65536),
                                     bits_of(448),
                                     bits_of(464),
                                     bits_of(465),
                                     bits_of(57344),
                                     bits_of(61440),
                                     bits_of(61441),
                                     bits_of(1),
                                     bits_of(0.5f),
                                     bits_of(1.5f),
                                     bits_of(2.5f),
                                     bits_of(2147483648.f),
                                     bits_of(4294967296.f),
                                     bits_of(2147483520.f),
                                     bits_of(127.5f),
                                     bits_of(128.5f)};
  return (random.bits() & 0x80000000u) | kValues[random.below(sizeof(kValues) / 4)];
}

/// Arguments of f32: all bit patterns, moderate values, ties of bf16, f16, tf32 and the 8-bit types, denormals.
uint32_t point_f32(Random& random, int index) {
  switch (index % 8) {
    case 0:
      return random.bits();
    case 1:
      return with_exponent(random, -6, 6, 0x7FFFFF);
    case 2:
      return with_exponent(random, -20, 20, 0x7F8000);
    case 3:
      return with_exponent(random, -26, 16, 0x7FF000);
    case 4:
      return with_exponent(random, -18, 16, 0x780000);
    case 5:
      return special_f32(random);
    case 6:
      return (random.bits() & 0x807FFFFFu) | (random.below(2) << 23);
    default:
      return with_exponent(random, -126, 127, 0x7FFFFF);
  }
}

uint16_t point_f16(Random& random, int index) {
  static constexpr uint16_t kValues[] = {0, 1, 0x3FF, 0x400, 0x7BFF, 0x7C00, 0x7E00, 0x7C01, 0x3C00};
  if (index % 8 == 5) return static_cast<uint16_t>((random.bits() & 0x8000) | kValues[random.below(9)]);
  const uint32_t exponent = static_cast<uint32_t>(random.between(12, 18));
  return static_cast<uint16_t>(index % 2 ? random.bits() : (random.bits() & 0x83FF) | exponent << 10);
}

uint16_t point_bf16(Random& random, int index) {
  return static_cast<uint16_t>(point_f32(random, index) >> 16);
}

template <class Op, class In, class Out>
__global__ void apply(const In* x, Out* y, int points) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < points) y[i] = Op::run(x + i * Op::inputs);
}

template <class Op, class In>
Field applied(const std::vector<In>& in) {
  const int points = static_cast<int>(in.size()) / Op::inputs;
  record::Buffer<In> x(in);
  record::Buffer<typename Op::Out> y(static_cast<size_t>(points));
  apply<Op, In, typename Op::Out><<<(points + 127) / 128, 128>>>(x.data(), y.data(), points);
  record::finish(Op::name);
  return Field(Op::name, {points}, y.values());
}

#define SCALAR(Name, text, I, O, statement)   \
  struct Name {                               \
    static constexpr const char* name = text; \
    static constexpr int inputs = I;          \
    using Out = O;                            \
    template <class T>                        \
    static __device__ O run(const T* a) {     \
      O d;                                    \
      statement;                              \
      return d;                               \
    }                                         \
  };
#define UNARY32(Name, text) SCALAR(Name, text, 1, uint32_t, asm volatile(text " %0, %1;" : "=r"(d) : "r"(a[0])))
#define UNARY_TO16(Name, text) \
  SCALAR(Name, text, 1, uint16_t, asm volatile(text " %0, %1;" : "=h"(d) : "f"(__uint_as_float(a[0]))))
#define PAIR_TO16(Name, text)             \
  SCALAR(Name, text, 2, uint16_t,         \
         asm volatile(text " %0, %1, %2;" \
                      : "=h"(d)           \
                      : "f"(__uint_as_float(a[0])), "f"(__uint_as_float(a[1]))))
#define BINARY32(Name, text) \
  SCALAR(Name, text, 2, uint32_t, asm volatile(text " %0, %1, %2;" : "=r"(d) : "r"(a[0]), "r"(a[1])))
#define TERNARY32(Name, text) \
  SCALAR(Name, text, 3, uint32_t, asm volatile(text " %0, %1, %2, %3;" : "=r"(d) : "r"(a[0]), "r"(a[1]), "r"(a[2])))
#define F32_TO_S64(Name, text) \
  SCALAR(Name, text, 1, uint64_t, asm volatile(text " %0, %1;" : "=l"(d) : "f"(__uint_as_float(a[0]))))

UNARY_TO16(Bf16Rn, "cvt.rn.bf16.f32")
UNARY_TO16(Bf16Rz, "cvt.rz.bf16.f32")
UNARY_TO16(Bf16Relu, "cvt.rn.relu.bf16.f32")
UNARY_TO16(F16Rn, "cvt.rn.f16.f32")
UNARY_TO16(F16Rz, "cvt.rz.f16.f32")
UNARY_TO16(F16Rm, "cvt.rm.f16.f32")
UNARY_TO16(F16Rp, "cvt.rp.f16.f32")
UNARY_TO16(F16Ftz, "cvt.rn.ftz.f16.f32")
UNARY_TO16(F16Relu, "cvt.rn.relu.f16.f32")
UNARY32(Tf32Rna, "cvt.rna.tf32.f32")
UNARY32(Tf32Rn, "cvt.rn.tf32.f32")
UNARY32(Tf32Rz, "cvt.rz.tf32.f32")
UNARY32(Tf32Relu, "cvt.rn.relu.tf32.f32")
UNARY32(S32Rni, "cvt.rni.s32.f32")
UNARY32(S32Rzi, "cvt.rzi.s32.f32")
UNARY32(S32Rmi, "cvt.rmi.s32.f32")
UNARY32(S32Rpi, "cvt.rpi.s32.f32")
UNARY32(U32Rni, "cvt.rni.u32.f32")
UNARY32(U32Rzi, "cvt.rzi.u32.f32")
UNARY32(F32Rni, "cvt.rni.f32.f32")
UNARY32(S8Rni, "cvt.rni.sat.s8.f32")
F32_TO_S64(S64Rzi, "cvt.rzi.s64.f32")
UNARY32(F32OfS32, "cvt.rn.f32.s32")
UNARY32(F32OfU32, "cvt.rn.f32.u32")
UNARY32(F32OfS32Rz, "cvt.rz.f32.s32")
UNARY32(SatF32, "cvt.sat.f32.f32")

BINARY32(Bf16x2, "cvt.rn.bf16x2.f32")
BINARY32(Bf16x2Rz, "cvt.rz.bf16x2.f32")
BINARY32(Bf16x2Relu, "cvt.rn.relu.bf16x2.f32")
BINARY32(F16x2, "cvt.rn.f16x2.f32")
BINARY32(F16x2Relu, "cvt.rn.relu.f16x2.f32")
PAIR_TO16(E4m3x2, "cvt.rn.satfinite.e4m3x2.f32")
PAIR_TO16(E5m2x2, "cvt.rn.satfinite.e5m2x2.f32")
PAIR_TO16(E4m3x2Relu, "cvt.rn.satfinite.relu.e4m3x2.f32")
PAIR_TO16(E5m2x2Relu, "cvt.rn.satfinite.relu.e5m2x2.f32")
BINARY32(MinF, "min.f32")
BINARY32(MaxF, "max.f32")
BINARY32(MinNan, "min.NaN.f32")
BINARY32(MaxNan, "max.NaN.f32")
BINARY32(MaxFtz, "max.ftz.f32")
BINARY32(MaxXor, "max.xorsign.abs.f32")
BINARY32(AddFtz, "add.rn.ftz.f32")
BINARY32(AddRz, "add.rz.f32")
BINARY32(MulFtz, "mul.rn.ftz.f32")
BINARY32(DivFull, "div.full.f32")
BINARY32(DivApprox, "div.approx.f32")
BINARY32(DivRn, "div.rn.f32")
TERNARY32(FmaRn, "fma.rn.f32")
TERNARY32(FmaRz, "fma.rz.f32")
TERNARY32(FmaFtz, "fma.rn.ftz.f32")

SCALAR(E4m3OfF16, "cvt.rn.satfinite.e4m3x2.f16x2", 1, uint16_t,
       asm volatile("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;"
                    : "=h"(d)
                    : "r"(a[0])))
SCALAR(E5m2OfF16, "cvt.rn.satfinite.e5m2x2.f16x2", 1, uint16_t,
       asm volatile("cvt.rn.satfinite.e5m2x2.f16x2 %0, %1;"
                    : "=h"(d)
                    : "r"(a[0])))
SCALAR(F16OfE4m3, "cvt.rn.f16x2.e4m3x2", 1, uint32_t, asm volatile("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(d) : "h"(a[0])))
SCALAR(F16OfE5m2, "cvt.rn.f16x2.e5m2x2", 1, uint32_t, asm volatile("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(d) : "h"(a[0])))
TERNARY32(FmaF16, "fma.rn.f16x2")
TERNARY32(FmaF16Relu, "fma.rn.relu.f16x2")
TERNARY32(FmaF16Ftz, "fma.rn.ftz.f16x2")
TERNARY32(FmaBf16, "fma.rn.bf16x2")
TERNARY32(FmaBf16Relu, "fma.rn.relu.bf16x2")
BINARY32(AddF16, "add.rn.f16x2")
BINARY32(MulF16, "mul.rn.f16x2")
BINARY32(AddBf16, "add.rn.bf16x2")
BINARY32(MulBf16, "mul.rn.bf16x2")
BINARY32(MaxF16, "max.f16x2")
BINARY32(MaxF16Nan, "max.NaN.f16x2")
BINARY32(MaxBf16, "max.bf16x2")
BINARY32(MinBf16Nan, "min.NaN.bf16x2")

UNARY32(Ex2, "ex2.approx.f32")
UNARY32(Ex2Ftz, "ex2.approx.ftz.f32")
UNARY32(Lg2, "lg2.approx.f32")
UNARY32(Lg2Ftz, "lg2.approx.ftz.f32")
UNARY32(Rcp, "rcp.approx.f32")
UNARY32(RcpFtz, "rcp.approx.ftz.f32")
UNARY32(Rsqrt, "rsqrt.approx.f32")
UNARY32(RsqrtFtz, "rsqrt.approx.ftz.f32")
UNARY32(Sqrt, "sqrt.approx.f32")
UNARY32(SqrtFtz, "sqrt.approx.ftz.f32")
UNARY32(Sin, "sin.approx.f32")
UNARY32(Cos, "cos.approx.f32")
UNARY32(SinFtz, "sin.approx.ftz.f32")
UNARY32(CosFtz, "cos.approx.ftz.f32")
UNARY32(Tanh, "tanh.approx.f32")
UNARY32(SqrtRn, "sqrt.rn.f32")
UNARY32(RcpRn, "rcp.rn.f32")
UNARY32(Ex2F16, "ex2.approx.f16x2")
UNARY32(TanhF16, "tanh.approx.f16x2")
UNARY32(Ex2Bf16, "ex2.approx.ftz.bf16x2")
UNARY32(TanhBf16, "tanh.approx.bf16x2")

template <class... Ops, class In>
void record_ops(File& file, const std::string& name, const std::vector<In>& in, int inputs) {
  const int points = static_cast<int>(in.size()) / inputs;
  file.add(name, {Field("in", {points, inputs}, in), applied<Ops>(in)...});
}

std::vector<uint32_t> points_f32(int inputs, uint32_t seed) {
  Random random(seed);
  std::vector<uint32_t> out;
  for (int i = 0; i < kPoints; ++i)
    for (int k = 0; k < inputs; ++k)
      out.push_back(point_f32(random, inputs == 1 || random.below(4) ? i : static_cast<int>(random.below(8))));
  return out;
}

template <class Half>
std::vector<uint32_t> points_of_pairs(int inputs, uint32_t seed, Half half) {
  Random random(seed);
  std::vector<uint32_t> out;
  for (int i = 0; i < kPoints / 2 * inputs; ++i) {
    const uint32_t low = half(random, static_cast<int>(random.below(8)));
    out.push_back(low | uint32_t(half(random, static_cast<int>(random.below(8)))) << 16);
  }
  return out;
}

std::vector<uint32_t> integers(int count) {
  Random random(5);
  std::vector<uint32_t> out;
  for (int i = 0; i < count; ++i) out.push_back(i % 2 ? random.bits() : (1u << random.below(32)) + random.below(5) - 2);
  return out;
}

std::vector<uint16_t> pairs_of_bytes() {
  std::vector<uint16_t> out;
  for (uint32_t i = 0; i < 256; ++i) out.push_back(static_cast<uint16_t>(i | ((i * 37 + 11) & 255) << 8));
  return out;
}

void record_conversions(File& file) {
  record_ops<Bf16Rn, Bf16Rz, Bf16Relu, F16Rn, F16Rz, F16Rm, F16Rp, F16Ftz, F16Relu, Tf32Rna, Tf32Rn, Tf32Rz, Tf32Relu,
             S32Rni, S32Rzi, S32Rmi, S32Rpi, U32Rni, U32Rzi, F32Rni, S8Rni, S64Rzi, SatF32>(file, "convert.f32",
                                                                                            points_f32(1, 1), 1);
  record_ops<Bf16x2, Bf16x2Rz, Bf16x2Relu, F16x2, F16x2Relu, E4m3x2, E5m2x2, E4m3x2Relu, E5m2x2Relu>(
      file, "convert.f32.pairs", points_f32(2, 2), 2);
  record_ops<F32OfS32, F32OfU32, F32OfS32Rz>(file, "convert.s32", integers(256), 1);
  record_ops<E4m3OfF16, E5m2OfF16>(file, "convert.f16x2", points_of_pairs(1, 3, point_f16), 1);
  record_ops<F16OfE4m3, F16OfE5m2>(file, "convert.fp8", pairs_of_bytes(), 1);
}

void record_arithmetic(File& file) {
  record_ops<MinF, MaxF, MinNan, MaxNan, MaxFtz, MaxXor, AddFtz, AddRz, MulFtz, DivFull, DivApprox, DivRn>(
      file, "binary.f32", points_f32(2, 7), 2);
  record_ops<FmaRn, FmaRz, FmaFtz>(file, "ternary.f32", points_f32(3, 8), 3);
  record_ops<AddF16, MulF16, MaxF16, MaxF16Nan>(file, "binary.f16x2", points_of_pairs(2, 9, point_f16), 2);
  record_ops<FmaF16, FmaF16Relu, FmaF16Ftz>(file, "ternary.f16x2", points_of_pairs(3, 10, point_f16), 3);
  record_ops<AddBf16, MulBf16, MaxBf16, MinBf16Nan>(file, "binary.bf16x2", points_of_pairs(2, 11, point_bf16), 2);
  record_ops<FmaBf16, FmaBf16Relu>(file, "ternary.bf16x2", points_of_pairs(3, 12, point_bf16), 3);
}

void record_approximations(File& file) {
  record_ops<Ex2, Ex2Ftz, Lg2, Lg2Ftz, Rcp, RcpFtz, Rsqrt, RsqrtFtz, Sqrt, SqrtFtz, Sin, Cos, SinFtz, CosFtz, Tanh,
             SqrtRn, RcpRn>(file, "approx.f32", points_f32(1, 13), 1);
  record_ops<Ex2F16, TanhF16>(file, "approx.f16x2", points_of_pairs(1, 14, point_f16), 1);
  record_ops<Ex2Bf16, TanhBf16>(file, "approx.bf16x2", points_of_pairs(1, 15, point_bf16), 1);
}

/// One thread an address: the value before, the operand, what the instruction returned, the value after.
template <class Op, bool in_shared>
__global__ void run_atomic(const typename Op::T* before, const typename Op::T* operand, typename Op::T* returned,
                           typename Op::T* after) {
  __shared__ typename Op::T shared[64];
  const uint32_t i = threadIdx.x;
  shared[i] = before[i];
  after[i] = before[i];
  __syncthreads();
  returned[i] = in_shared ? Op::shared(static_cast<uint32_t>(__cvta_generic_to_shared(shared + i)), operand[i])
                          : Op::global(after + i, operand[i]);
  __syncthreads();
  if (in_shared) after[i] = shared[i];
}

template <class Op, bool in_shared>
void record_atomic(File& file, uint32_t seed, const std::vector<uint32_t>& words) {
  using T = typename Op::T;
  std::vector<T> before(64), operand(64);
  for (size_t i = 0; i < 64; ++i) {
    before[i] = static_cast<T>(words[4 * i]) << (8 * sizeof(T) - 32) | (sizeof(T) > 4 ? words[4 * i + 1] : 0);
    operand[i] = static_cast<T>(words[4 * i + 2]) << (8 * sizeof(T) - 32) | (sizeof(T) > 4 ? words[4 * i + 3] : 0);
  }
  record::Buffer<T> b(before), o(operand), r(64), a(64);
  run_atomic<Op, in_shared><<<1, 64>>>(b.data(), o.data(), r.data(), a.data());
  record::finish(Op::name);
  (void)seed;
  file.add(std::string("atom") + (in_shared ? ".shared." : ".global.") + Op::name, {{"before", {64}, before},
                                                                                    {"operand", {64}, operand},
                                                                                    {"returned", {64}, r.values()},
                                                                                    {"after", {64}, a.values()}});
}

#define ATOMIC(Name, text, Type, c)                                                            \
  struct Name {                                                                                \
    using T = Type;                                                                            \
    static constexpr const char* name = text;                                                  \
    static __device__ T global(T* p, T v) {                                                    \
      T d;                                                                                     \
      asm volatile("atom.global." text " %0, [%1], %2;" : "=" c(d) : "l"(p), c(v) : "memory"); \
      return d;                                                                                \
    }                                                                                          \
    static __device__ T shared(uint32_t p, T v) {                                              \
      T d;                                                                                     \
      asm volatile("atom.shared." text " %0, [%1], %2;" : "=" c(d) : "r"(p), c(v) : "memory"); \
      return d;                                                                                \
    }                                                                                          \
  };
ATOMIC(AtomF32, "add.f32", uint32_t, "r")
ATOMIC(AtomF64, "add.f64", uint64_t, "l")
ATOMIC(AtomF16, "add.noftz.f16x2", uint32_t, "r")
ATOMIC(AtomBf16, "add.noftz.bf16x2", uint32_t, "r")
ATOMIC(AtomU32, "add.u32", uint32_t, "r")
ATOMIC(AtomMinS, "min.s32", uint32_t, "r")
ATOMIC(AtomMaxU, "max.u32", uint32_t, "r")
ATOMIC(AtomInc, "inc.u32", uint32_t, "r")
ATOMIC(AtomDec, "dec.u32", uint32_t, "r")
ATOMIC(AtomExch, "exch.b32", uint32_t, "r")
ATOMIC(AtomAnd, "and.b32", uint32_t, "r")
ATOMIC(AtomXor, "xor.b32", uint32_t, "r")
ATOMIC(AtomU64, "add.u64", uint64_t, "l")

template <class Op>
void both(File& file, const std::vector<uint32_t>& words) {
  record_atomic<Op, false>(file, 0, words);
  record_atomic<Op, true>(file, 0, words);
}

void record_atomics(File& file) {
  const auto floats = points_f32(1, 31), halves = points_of_pairs(2, 32, point_f16),
             bf16 = points_of_pairs(2, 33, point_bf16);
  std::vector<uint32_t> words = integers(256);
  both<AtomF32>(file, floats), both<AtomF64>(file, floats), both<AtomF16>(file, halves), both<AtomBf16>(file, bf16);
  both<AtomU32>(file, words), both<AtomMinS>(file, words), both<AtomMaxU>(file, words), both<AtomInc>(file, words),
      both<AtomDec>(file, words);
  both<AtomExch>(file, words), both<AtomAnd>(file, words), both<AtomXor>(file, words), both<AtomU64>(file, words);
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  File file(words[1]);
  record_conversions(file);
  record_arithmetic(file);
  record_approximations(file);
  record_atomics(file);
  return 0;
}
