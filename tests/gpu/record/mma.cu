// Records mma.sync: one warp a case, fragments a, b, c and d as registers of each lane.
//     mma float|fp8|integer|f64 FILE CASES     six modes of data, one after the other
#include <cmath>

#include "record.h"

using record::File;
using record::Random;

namespace {

enum class Type { f16, bf16, tf32, f32, e4m3, e5m2, s8, u8, s4, u4, b1, s32, f64 };

struct Format {
  int width, mantissa, bias, spread;
};

Format format_of(Type type) {
  switch (type) {
    case Type::f16:
      return {16, 10, 15, 6};
    case Type::bf16:
      return {16, 7, 127, 10};
    case Type::tf32:
      return {32, 23, 127, 10};
    case Type::f32:
      return {32, 23, 127, 20};
    case Type::e4m3:
      return {8, 3, 7, 5};
    case Type::e5m2:
      return {8, 2, 15, 8};
    case Type::f64:
      return {64, 52, 1023, 30};
    case Type::s8:
    case Type::u8:
      return {8, 0, 0, 0};
    case Type::s4:
    case Type::u4:
      return {4, 0, 0, 0};
    case Type::b1:
      return {1, 0, 0, 0};
    case Type::s32:
      return {32, 0, 0, 0};
  }
  return {};
}

bool is_float(Type type) {
  return format_of(type).mantissa != 0;
}

constexpr const char* kModes[] = {"integers", "near", "spread", "distant", "special", "denormal"};

uint64_t random_bits(Random& random) {
  const uint64_t high = random.bits();
  return (high << 32) | random.bits();
}

/// Exponent fields at the ends of the range are kept finite and normal.
uint64_t float_of(Type type, Random& random, int exponent) {
  const Format f = format_of(type);
  const int exponent_bits = f.width - 1 - f.mantissa;
  const int last = (1 << exponent_bits) - 2;
  const int field = std::min(std::max(exponent + f.bias, 1), last);
  uint64_t mantissa = random_bits(random) & ((uint64_t{1} << f.mantissa) - 1);
  if (type == Type::tf32 && random.below(2)) mantissa &= ~uint64_t{0x1FFF};
  return (uint64_t{random.below(2)} << (f.width - 1)) | (uint64_t(field) << f.mantissa) | mantissa;
}

uint64_t integer_as(Type type, int value) {
  if (value == 0) return 0;
  const Format f = format_of(type);
  const int magnitude = std::abs(value);
  const int exponent = 31 - __builtin_clz(magnitude);
  const uint64_t fraction = uint64_t(magnitude - (1 << exponent));
  const uint64_t mantissa =
      f.mantissa >= exponent ? fraction << (f.mantissa - exponent) : fraction >> (exponent - f.mantissa);
  return (uint64_t(value < 0) << (f.width - 1)) | (uint64_t(exponent + f.bias) << f.mantissa) | mantissa;
}

uint64_t special(Type type, Random& random) {
  const Format f = format_of(type);
  const uint64_t sign = uint64_t{random.below(2)} << (f.width - 1);
  const uint64_t top = ((uint64_t{1} << (f.width - 1 - f.mantissa)) - 1) << f.mantissa;
  const uint64_t one = uint64_t{1} << f.mantissa;
  const uint64_t values[] = {0, top, top | (one >> 1), top | 1, top - 1, 1, one - 1, one};
  return sign | values[random.below(8)];
}

uint64_t denormal(Type type, Random& random, bool is_b) {
  const Format f = format_of(type);
  if (is_b) return float_of(type, random, random.between(-2, 2));
  const uint64_t sign = uint64_t{random.below(2)} << (f.width - 1);
  return sign | (random_bits(random) & ((uint64_t{1} << (f.mantissa + random.below(3))) - 1));
}

enum class Role { a, b, c };

uint64_t float_element(Type type, int mode, Role role, Random& random) {
  const int spread = format_of(type).spread;
  const bool c = role == Role::c;
  switch (mode) {
    case 0:
      return integer_as(type, c ? random.between(-500, 500) : random.between(-6, 6));
    case 1:
      return float_of(type, random, c ? random.between(-2, 3) : random.between(-1, 1));
    case 2:
      return float_of(type, random, random.between(-spread, spread));
    case 3:
      return float_of(type, random, c ? random.between(-12, 26) : random.between(-2, 2));
    case 4:
      return random.below(48) == 0 ? special(type, random) : float_of(type, random, random.between(-1, 1));
    default:
      return denormal(type, random, role == Role::b);
  }
}

uint64_t integer_element(Type type, int mode, Role role, Random& random) {
  const uint64_t all = random_bits(random);
  if (type == Type::s32) {
    const uint32_t small = static_cast<uint32_t>(random.between(-1000, 1000));
    const uint32_t large = (all & 1) ? 0x7FFFFFFFu - random.below(3000) : 0x80000000u + random.below(3000);
    return mode % 2 ? large : small;
  }
  (void)role;
  return all & ((uint64_t{1} << format_of(type).width) - 1);
}

uint64_t element(Type type, int mode, Role role, Random& random) {
  return is_float(type) ? float_element(type, mode, role, random) : integer_element(type, mode, role, random);
}

/// Registers of 32 lanes in `cases` cases, filled element by element.
template <class Word>
std::vector<Word> registers(Type type, Role role, int count, int cases, uint32_t seed) {
  std::vector<Word> out;
  const int width = format_of(type).width;
  for (int which = 0; which < cases; ++which) {
    Random random(seed + 31 * static_cast<uint32_t>(which) + 7 * static_cast<uint32_t>(role));
    for (int i = 0; i < 32 * count; ++i) {
      Word word = 0;
      for (int bit = 0; bit < int(8 * sizeof(Word)); bit += width)
        word |= static_cast<Word>(element(type, which % 6, role, random)) << bit;
      out.push_back(word);
    }
  }
  return out;
}

template <class Op, class Word>
__global__ void run_mma(const Word* a, const Word* b, const Word* c, Word* d) {
  const uint32_t thread = blockIdx.x * 32 + threadIdx.x;
  Word ra[Op::a], rb[Op::b], rc[Op::c], rd[Op::d];
  for (int i = 0; i < Op::a; ++i) ra[i] = a[thread * Op::a + i];
  for (int i = 0; i < Op::b; ++i) rb[i] = b[thread * Op::b + i];
  for (int i = 0; i < Op::c; ++i) rc[i] = c[thread * Op::c + i];
  Op::run(ra, rb, rc, rd);
  for (int i = 0; i < Op::d; ++i) d[thread * Op::d + i] = rd[i];
}

template <class Op, class Word>
void record_mma(File& file, int cases, Type ta, Type tb, Type tc) {
  const uint32_t seed = 1000u * static_cast<uint32_t>(ta) + 100u * static_cast<uint32_t>(tb) + Op::a;
  const auto a = registers<Word>(ta, Role::a, Op::a, cases, seed);
  const auto b = registers<Word>(tb, Role::b, Op::b, cases, seed);
  const auto c = registers<Word>(tc, Role::c, Op::c, cases, seed);
  record::Buffer<Word> da(a), db(b), dc(c), dd(static_cast<size_t>(cases) * 32 * Op::d);
  run_mma<Op, Word><<<cases, 32>>>(da.data(), db.data(), dc.data(), dd.data());
  record::finish(Op::name);
  std::string modes;
  for (int i = 0; i < cases; ++i) modes += (i ? "," : "") + std::string(kModes[i % 6]);
  file.add(std::string(Op::name) + " modes=" + modes, {{"a", {cases, 32, Op::a}, a},
                                                       {"b", {cases, 32, Op::b}, b},
                                                       {"c", {cases, 32, Op::c}, c},
                                                       {"d", {cases, 32, Op::d}, dd.values()}});
}

#define MMA(Name, text, D, A, B, C, operands, outs, ins)                    \
  struct Name {                                                             \
    static constexpr int d = D, a = A, b = B, c = C;                        \
    static constexpr const char* name = "mma.sync.aligned." text;           \
    template <class W>                                                      \
    static __device__ void run(const W* x, const W* y, const W* z, W* w) {  \
      asm volatile("mma.sync.aligned." text " " operands ";" : outs : ins); \
    }                                                                       \
  };
#define LIST(...) __VA_ARGS__
#define MMA_2112(Name, text)                                                             \
  MMA(Name, text, 2, 1, 1, 2, "{%0,%1},{%2},{%3},{%4,%5}", LIST("=r"(w[0]), "=r"(w[1])), \
      LIST("r"(x[0]), "r"(y[0]), "r"(z[0]), "r"(z[1])))
#define MMA_2212(Name, text)                                                                \
  MMA(Name, text, 2, 2, 1, 2, "{%0,%1},{%2,%3},{%4},{%5,%6}", LIST("=r"(w[0]), "=r"(w[1])), \
      LIST("r"(x[0]), "r"(x[1]), "r"(y[0]), "r"(z[0]), "r"(z[1])))
#define MMA_2422(Name, text)                                                                         \
  MMA(Name, text, 2, 4, 2, 2, "{%0,%1},{%2,%3,%4,%5},{%6,%7},{%8,%9}", LIST("=r"(w[0]), "=r"(w[1])), \
      LIST("r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(z[0]), "r"(z[1])))
#define MMA_4214(Name, text)                                               \
  MMA(Name, text, 4, 2, 1, 4, "{%0,%1,%2,%3},{%4,%5},{%6},{%7,%8,%9,%10}", \
      LIST("=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])),                \
      LIST("r"(x[0]), "r"(x[1]), "r"(y[0]), "r"(z[0]), "r"(z[1]), "r"(z[2]), "r"(z[3])))
#define MMA_4424(Name, text)                                                                                  \
  MMA(Name, text, 4, 4, 2, 4, "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13}",                        \
      LIST("=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])),                                                   \
      LIST("r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "r"(z[0]), "r"(z[1]), "r"(z[2]), \
           "r"(z[3])))
#define F64_2112(Name, text)                                                             \
  MMA(Name, text, 2, 1, 1, 2, "{%0,%1},{%2},{%3},{%4,%5}", LIST("=l"(w[0]), "=l"(w[1])), \
      LIST("l"(x[0]), "l"(y[0]), "l"(z[0]), "l"(z[1])))
#define F64_4214(Name, text)                                               \
  MMA(Name, text, 4, 2, 1, 4, "{%0,%1,%2,%3},{%4,%5},{%6},{%7,%8,%9,%10}", \
      LIST("=l"(w[0]), "=l"(w[1]), "=l"(w[2]), "=l"(w[3])),                \
      LIST("l"(x[0]), "l"(x[1]), "l"(y[0]), "l"(z[0]), "l"(z[1]), "l"(z[2]), "l"(z[3])))
#define F64_4424(Name, text)                                                                                  \
  MMA(Name, text, 4, 4, 2, 4, "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13}",                        \
      LIST("=l"(w[0]), "=l"(w[1]), "=l"(w[2]), "=l"(w[3])),                                                   \
      LIST("l"(x[0]), "l"(x[1]), "l"(x[2]), "l"(x[3]), "l"(y[0]), "l"(y[1]), "l"(z[0]), "l"(z[1]), "l"(z[2]), \
           "l"(z[3])))
#define F64_4844(Name, text)                                                                                   \
  MMA(Name, text, 4, 8, 4, 4, "{%0,%1,%2,%3},{%4,%5,%6,%7,%8,%9,%10,%11},{%12,%13,%14,%15},{%16,%17,%18,%19}", \
      LIST("=l"(w[0]), "=l"(w[1]), "=l"(w[2]), "=l"(w[3])),                                                    \
      LIST("l"(x[0]), "l"(x[1]), "l"(x[2]), "l"(x[3]), "l"(x[4]), "l"(x[5]), "l"(x[6]), "l"(x[7]), "l"(y[0]),  \
           "l"(y[1]), "l"(y[2]), "l"(y[3]), "l"(z[0]), "l"(z[1]), "l"(z[2]), "l"(z[3])))

MMA_4214(F16K8, "m16n8k8.row.col.f32.f16.f16.f32")
MMA_4424(F16K16, "m16n8k16.row.col.f32.f16.f16.f32")
MMA_2212(HalfK8, "m16n8k8.row.col.f16.f16.f16.f16")
MMA_2422(HalfK16, "m16n8k16.row.col.f16.f16.f16.f16")
MMA_4214(Bf16K8, "m16n8k8.row.col.f32.bf16.bf16.f32")
MMA_4424(Bf16K16, "m16n8k16.row.col.f32.bf16.bf16.f32")
MMA_4214(Tf32K4, "m16n8k4.row.col.f32.tf32.tf32.f32")
MMA_4424(Tf32K8, "m16n8k8.row.col.f32.tf32.tf32.f32")
MMA_2112(S8M8, "m8n8k16.row.col.s32.s8.s8.s32")
MMA_4214(S8S8K16, "m16n8k16.row.col.s32.s8.s8.s32")
MMA_4214(U8S8K16, "m16n8k16.row.col.s32.u8.s8.s32")
MMA_4424(S8S8K32, "m16n8k32.row.col.s32.s8.s8.s32")
MMA_4424(S8U8K32, "m16n8k32.row.col.s32.s8.u8.s32")
MMA_4424(U8S8K32, "m16n8k32.row.col.s32.u8.s8.s32")
MMA_4424(U8U8K32, "m16n8k32.row.col.s32.u8.u8.s32")
MMA_4424(S8S8K32Sat, "m16n8k32.row.col.satfinite.s32.s8.s8.s32")
MMA_4424(U8S8K32Sat, "m16n8k32.row.col.satfinite.s32.u8.s8.s32")
MMA_2112(S4M8, "m8n8k32.row.col.s32.s4.s4.s32")
MMA_4214(S4S4K32, "m16n8k32.row.col.s32.s4.s4.s32")
MMA_4424(S4S4K64, "m16n8k64.row.col.s32.s4.s4.s32")
MMA_4424(U4S4K64, "m16n8k64.row.col.s32.u4.s4.s32")
MMA_4424(S4U4K64, "m16n8k64.row.col.s32.s4.u4.s32")
MMA_4424(S4S4K64Sat, "m16n8k64.row.col.satfinite.s32.s4.s4.s32")
MMA_4214(AndK128, "m16n8k128.row.col.s32.b1.b1.s32.and.popc")
MMA_4424(AndK256, "m16n8k256.row.col.s32.b1.b1.s32.and.popc")
MMA_4424(XorK256, "m16n8k256.row.col.s32.b1.b1.s32.xor.popc")
MMA_4424(E4E4K32, "m16n8k32.row.col.f32.e4m3.e4m3.f32")
MMA_4424(E5E4K32, "m16n8k32.row.col.f32.e5m2.e4m3.f32")
MMA_4424(E5E5K32, "m16n8k32.row.col.f32.e5m2.e5m2.f32")
MMA_4214(E4E4K16, "m16n8k16.row.col.f32.e4m3.e4m3.f32")
MMA_2422(E4E4K32Half, "m16n8k32.row.col.f16.e4m3.e4m3.f16")
MMA_2422(E5E5K32Half, "m16n8k32.row.col.f16.e5m2.e5m2.f16")
F64_2112(F64M8, "m8n8k4.row.col.f64.f64.f64.f64")
F64_4214(F64K4, "m16n8k4.row.col.f64.f64.f64.f64")
F64_4424(F64K8, "m16n8k8.row.col.f64.f64.f64.f64")
F64_4844(F64K16, "m16n8k16.row.col.f64.f64.f64.f64")

void record_floats(File& f, int cases) {
  record_mma<F16K8, uint32_t>(f, cases, Type::f16, Type::f16, Type::f32);
  record_mma<F16K16, uint32_t>(f, cases, Type::f16, Type::f16, Type::f32);
  record_mma<HalfK8, uint32_t>(f, cases, Type::f16, Type::f16, Type::f16);
  record_mma<HalfK16, uint32_t>(f, cases, Type::f16, Type::f16, Type::f16);
  record_mma<Bf16K8, uint32_t>(f, cases, Type::bf16, Type::bf16, Type::f32);
  record_mma<Bf16K16, uint32_t>(f, cases, Type::bf16, Type::bf16, Type::f32);
  record_mma<Tf32K4, uint32_t>(f, cases, Type::tf32, Type::tf32, Type::f32);
  record_mma<Tf32K8, uint32_t>(f, cases, Type::tf32, Type::tf32, Type::f32);
}

void record_fp8(File& f, int cases) {
  record_mma<E4E4K32, uint32_t>(f, cases, Type::e4m3, Type::e4m3, Type::f32);
  record_mma<E5E4K32, uint32_t>(f, cases, Type::e5m2, Type::e4m3, Type::f32);
  record_mma<E5E5K32, uint32_t>(f, cases, Type::e5m2, Type::e5m2, Type::f32);
  record_mma<E4E4K16, uint32_t>(f, cases, Type::e4m3, Type::e4m3, Type::f32);
  record_mma<E4E4K32Half, uint32_t>(f, cases, Type::e4m3, Type::e4m3, Type::f16);
  record_mma<E5E5K32Half, uint32_t>(f, cases, Type::e5m2, Type::e5m2, Type::f16);
}

template <class Op>
void integers(File& f, int cases, Type a, Type b) {
  record_mma<Op, uint32_t>(f, cases, a, b, Type::s32);
}

void record_integers(File& f, int cases) {
  integers<S8M8>(f, cases, Type::s8, Type::s8);
  integers<S8S8K16>(f, cases, Type::s8, Type::s8);
  integers<U8S8K16>(f, cases, Type::u8, Type::s8);
  integers<S8S8K32>(f, cases, Type::s8, Type::s8);
  integers<S8U8K32>(f, cases, Type::s8, Type::u8);
  integers<U8S8K32>(f, cases, Type::u8, Type::s8);
  integers<U8U8K32>(f, cases, Type::u8, Type::u8);
  integers<S8S8K32Sat>(f, cases, Type::s8, Type::s8);
  integers<U8S8K32Sat>(f, cases, Type::u8, Type::s8);
  integers<S4M8>(f, cases, Type::s4, Type::s4);
  integers<S4S4K32>(f, cases, Type::s4, Type::s4);
  integers<S4S4K64>(f, cases, Type::s4, Type::s4);
  integers<U4S4K64>(f, cases, Type::u4, Type::s4);
  integers<S4U4K64>(f, cases, Type::s4, Type::u4);
  integers<S4S4K64Sat>(f, cases, Type::s4, Type::s4);
  integers<AndK128>(f, cases, Type::b1, Type::b1);
  integers<AndK256>(f, cases, Type::b1, Type::b1);
  integers<XorK256>(f, cases, Type::b1, Type::b1);
}

void record_f64(File& f, int cases) {
  record_mma<F64M8, uint64_t>(f, cases, Type::f64, Type::f64, Type::f64);
  record_mma<F64K4, uint64_t>(f, cases, Type::f64, Type::f64, Type::f64);
  record_mma<F64K8, uint64_t>(f, std::min(cases, 2), Type::f64, Type::f64, Type::f64);
  record_mma<F64K16, uint64_t>(f, cases, Type::f64, Type::f64, Type::f64);
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) return 2;
  const std::string kind = words[1];
  File file(words[2]);
  const int cases = std::atoi(words[3]);
  if (kind == "float") record_floats(file, cases);
  if (kind == "fp8") record_fp8(file, cases);
  if (kind == "integer") record_integers(file, std::min(cases, 2));
  if (kind == "f64") record_f64(file, cases);
  return 0;
}
