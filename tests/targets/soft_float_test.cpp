// What baseline chips lack, against the C library: fused multiply-add in f32, f64 and f16, rounding to integers, half
// precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "ir/values/scalar.h"
#include "targets/kernels.h"
#include "targets/registry.h"

namespace polyweft::targets_test {
namespace {

std::string fused(const std::string& type, int64_t cells, int64_t align, const std::string& mark) {
  const std::string shape = type + "[" + std::to_string(cells) + "] argument align " + std::to_string(align);
  return "nest 1 fused class strict\nloops i, v\nbuffer A: " + shape + "\nbuffer B: " + shape + "\nbuffer C: " + shape +
         "\nbuffer Y: " + shape + " output\narguments A, B, C, Y\nbody {\n  for i in 0 .. " +
         std::to_string(cells / 4) + " {\n    for v in 0 .. 4 " + mark +
         " {\n      compute 0(4*i + v) store: Y[4*i + v] <- fma(A[4*i + v], B[4*i + v], C[4*i + v])\n    }\n  }\n}\n";
}

template <class Bits, class Float>
Float any_float(std::mt19937_64& random, int mantissa_bits) {
  Bits bits = static_cast<Bits>(random());
  // Few set bits make ties and exact sums; few exponents make cancellation.
  if (random() % 2 == 0) bits &= static_cast<Bits>(random()) & static_cast<Bits>(random());
  const Bits fraction = (Bits{1} << mantissa_bits) - 1;
  if (random() % 4 == 0) bits &= ~fraction;
  if (random() % 8 == 0) bits |= fraction;
  Float out;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

// c near -(a * b), so that what is left is in the bits that a product of doubles loses.
template <class Float>
void make_hard(std::vector<Float>& a, std::vector<Float>& b, std::vector<Float>& c, std::mt19937_64& random) {
  for (size_t k = 0; k < a.size(); ++k) {
    if (random() % 2 == 0) continue;
    a[k] = std::ldexp(static_cast<Float>(1) + static_cast<Float>(random() % 1'000'003) / 1'000'003,
                      static_cast<int>(random() % 200) - 100);
    b[k] = std::ldexp(static_cast<Float>(1) + static_cast<Float>(random() % 999'983) / 999'983,
                      static_cast<int>(random() % 200) - 100);
    c[k] = -a[k] * b[k];
    if (random() % 2 == 0) c[k] = std::ldexp(c[k], static_cast<int>(random() % 260) - 130);
    if (random() % 3 == 0) c[k] = std::nextafter(c[k], static_cast<Float>(0));
  }
}

template <class Bits, class Float>
void expect_fma(const char* type, int mantissa_bits, const char* mark) {
  constexpr int64_t kCells = 40'000;
  std::mt19937_64 random(11);
  std::vector<std::vector<Float>> in(3, std::vector<Float>(kCells));
  for (auto& values : in)
    for (auto& x : values) x = any_float<Bits, Float>(random, mantissa_bits);
  make_hard(in[0], in[1], in[2], random);
  const ElementType element = sizeof(Float) == 4 ? ElementType::f32 : ElementType::f64;
  std::vector<TensorData> arguments(4, make_tensor(element, {kCells}));
  for (size_t a = 0; a < 3; ++a) std::memcpy(arguments[a].bytes.data(), in[a].data(), kCells * sizeof(Float));
  for (const Target& target : runnable_targets()) {
    const Loaded kernel = load(parsed(fused(type, kCells, sizeof(Float), mark)), target);
    ASSERT_EQ(call(kernel.code->address("fused"), arguments), 0);
    std::vector<Float> got(kCells);
    std::memcpy(got.data(), arguments[3].bytes.data(), kCells * sizeof(Float));
    for (size_t k = 0; k < kCells; ++k) {
      const Float expected = std::fma(in[0][k], in[1][k], in[2][k]);
      const bool same = (std::isnan(expected) && std::isnan(got[k])) ||
                        (expected == got[k] && std::signbit(expected) == std::signbit(got[k]));
      ASSERT_TRUE(same) << target.name << " " << k << ": fma(" << std::hexfloat << in[0][k] << ", " << in[1][k] << ", "
                        << in[2][k] << ") = " << expected << ", not " << got[k];
    }
  }
}

TEST(SoftFloat, fma_is_correctly_rounded) {
  for (const char* mark : {"", "vector 4"}) {
    expect_fma<uint32_t, float>("f32", 23, mark);
    expect_fma<uint64_t, double>("f64", 52, mark);
  }
}

// All 65,536 halves, and the floats around and between them.
const char* const kHalves = R"(nest 1 halves class strict
loops i, v
buffer H: f16[65536] argument align 2
buffer X: f32[65536] argument align 4
buffer Y: f32[65536] argument align 4 output
buffer Z: f16[65536] argument align 2 output
arguments H, X, Y, Z
body {
  for i in 0 .. 4096 {
    for v in 0 .. 16 vector 16 {
      compute 0(16*i + v) store: Y[16*i + v] <- convert:f32(H[16*i + v])
      compute 0(16*i + v) store: Z[16*i + v] <- convert:f16(X[16*i + v])
    }
  }
}
)";

TEST(SoftFloat, halves_convert_as_the_type_says) {
  std::vector<TensorData> expected = {make_tensor(ElementType::f16, {65536}), make_tensor(ElementType::f32, {65536}),
                                      make_tensor(ElementType::f32, {65536}), make_tensor(ElementType::f16, {65536})};
  for (uint32_t k = 0; k < 65536; ++k) {
    const auto half = static_cast<uint16_t>(k);
    std::memcpy(expected[0].bytes.data() + 2 * size_t{k}, &half, 2);
  }
  for (int shift = 0; shift < 3; ++shift) {
    for (int64_t k = 0; k < 65536; ++k) {
      // The half itself, the middle to the next one, and a little beside the middle.
      const double here = expected[0].at(k).f, next = expected[0].at(std::min<int64_t>(k + 1, 65535)).f;
      const double middle = (here + next) / 2;
      expected[1].set(k, {ElementType::f32,
                          shift == 0   ? here
                          : shift == 1 ? middle
                                       : static_cast<double>(std::nextafter(static_cast<float>(middle), 0.0f)),
                          0});
    }
    for (int64_t k = 0; k < 65536; ++k) {
      expected[2].set(k, {ElementType::f32, expected[0].at(k).f, 0});
      expected[3].set(k, {ElementType::f16,
                          static_cast<double>(static_cast<_Float16>(static_cast<float>(expected[1].at(k).f))), 0});
    }
    for (const Target& target : runnable_targets()) {
      std::vector<TensorData> got = expected;
      const Loaded kernel = load(parsed(kHalves), target);
      ASSERT_EQ(call(kernel.code->address("halves"), got), 0);
      for (size_t a = 2; a < 4; ++a)
        ASSERT_EQ(difference(got[a], expected[a]), "") << target.name << ", output " << a - 2 << ", shift " << shift;
    }
  }
}

/// A bf16 from a float's bits, by integers: to nearest, ties to even.
uint16_t bf16_of(uint32_t bits) {
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  const uint32_t rest = bits & 0xffff;
  return static_cast<uint16_t>((bits >> 16) + (rest > 0x8000 || (rest == 0x8000 && (bits >> 16 & 1))));
}

// Every bf16 with what lies near it and near the middle to the next one; subnormal numbers, which the chip's own
// conversion takes for zero, among them.
TEST(SoftFloat, bf16_is_rounded_as_the_type_says_by_vectors_of_every_width) {
  std::vector<uint32_t> floats;
  for (uint32_t high = 0; high < 65536; ++high)
    for (uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) floats.push_back(high << 16 | low);
  const auto count = static_cast<int64_t>(floats.size());
  for (int width : {1, 4, 8, 16, 32, 64}) {
    const std::string n = std::to_string(count), w = std::to_string(width), at = "[" + w + "*i + v]";
    const LoopNest nest =
        parsed("nest 1 round class strict\nloops i, v\nbuffer X: f32[" + n + "] argument align 4\nbuffer Y: bf16[" + n +
               "] argument align 2 output\narguments X, Y\nbody {\n  for i in 0 .. " + std::to_string(count / width) +
               " {\n    for v in 0 .. " + w + (width > 1 ? " vector " + w : "") + " {\n      compute 0(" + w +
               "*i + v) store: Y" + at + " <- convert:bf16(X" + at + ")\n    }\n  }\n}\n");
    for (const Target& target : runnable_targets()) {
      std::vector<TensorData> got = {make_tensor(ElementType::f32, {count}), make_tensor(ElementType::bf16, {count})};
      std::memcpy(got[0].bytes.data(), floats.data(), got[0].bytes.size());
      const Loaded kernel = load(nest, target);
      ASSERT_EQ(call(kernel.code->address("round"), got), 0);
      for (int64_t k = 0; k < count; ++k) {
        uint16_t bits = 0;
        std::memcpy(&bits, got[1].bytes.data() + 2 * k, 2);
        ASSERT_EQ(bits, bf16_of(floats[static_cast<size_t>(k)]))
            << target.name << " width " << width << " of " << floats[static_cast<size_t>(k)];
      }
    }
  }
}

struct HalfCase {
  Op op;
  const char* text;
  size_t arguments;
};
const HalfCase kHalfCases[] = {{Op::add, "(A[16*i + v] + B[16*i + v])", 2},
                               {Op::sub, "(A[16*i + v] - B[16*i + v])", 2},
                               {Op::mul, "(A[16*i + v] * B[16*i + v])", 2},
                               {Op::div, "(A[16*i + v] / B[16*i + v])", 2},
                               {Op::min, "min(A[16*i + v], B[16*i + v])", 2},
                               {Op::max, "max(A[16*i + v], B[16*i + v])", 2},
                               {Op::sqrt, "sqrt(A[16*i + v])", 1},
                               {Op::floor, "floor(A[16*i + v])", 1},
                               {Op::exp, "exp(A[16*i + v])", 1},
                               {Op::fma, "fma(A[16*i + v], B[16*i + v], A[16*i + v])", 3}};

// Each half with 65,536 partners in all: rounded as the language says by every target, those that compute in halves
// among them.
TEST(SoftFloat, arithmetic_of_halves_rounds_each_result_once) {
  std::mt19937_64 random(3);
  for (const HalfCase& c : kHalfCases) {
    const std::string text = std::string(
                                 "nest 1 halves class strict\nloops i, v\nbuffer A: f16[65536] argument align "
                                 "2\nbuffer B: f16[65536] argument align 2\n") +
                             "buffer Z: f16[65536] argument align 2 output\narguments A, B, Z\nbody {\n  for i in 0 .. "
                             "4096 {\n    for v in 0 .. 16 vector 16 {\n" +
                             "      compute 0(16*i + v) store: Z[16*i + v] <- " + c.text + "\n    }\n  }\n}\n";
    std::vector<TensorData> expected(3, make_tensor(ElementType::f16, {65536}));
    for (uint32_t k = 0; k < 65536; ++k) {
      const auto half = static_cast<uint16_t>(k);
      auto other = static_cast<uint16_t>(random());
      if (k % 4 == 0)
        other = static_cast<uint16_t>((half & 0x7c00) | (other & 0x83ff));  // the same exponent: cancellation, ties
      std::memcpy(expected[0].bytes.data() + 2 * size_t{k}, &half, 2);
      std::memcpy(expected[1].bytes.data() + 2 * size_t{k}, &other, 2);
    }
    for (int64_t k = 0; k < 65536; ++k) {
      const Literal args[3] = {expected[0].at(k), expected[1].at(k), expected[0].at(k)};
      expected[2].set(
          k, ir::apply(c.op, ElementType::f16, std::span<const Literal>(args, c.arguments), ir::MathLibrary::own));
    }
    for (const Target& target : runnable_targets()) {
      std::vector<TensorData> got = expected;
      const Loaded kernel = load(parsed(text), target);
      ASSERT_EQ(call(kernel.code->address("halves"), got), 0);
      ASSERT_EQ(difference(got[2], expected[2]), "") << target.name << ": " << c.text;
    }
  }
}

// A CPU with AVX512-FP16 does so in its own registers.
TEST(SoftFloat, a_sum_of_halves_needs_no_conversion_where_the_chip_adds_them) {
  Target target = *find_target("x86-64-v4");
  const LoopNest nest = parsed(
      "nest 1 halves class strict\nloops i, v\nbuffer A: f16[64] argument align 2\nbuffer Z: f16[64] argument align 2 "
      "output\narguments A, Z\nbody {\n"
      "  for i in 0 .. 2 {\n    for v in 0 .. 32 vector 32 {\n      compute 0(32*i + v) store: Z[32*i + v] <- (A[32*i "
      "+ v] + A[32*i + v])\n    }\n  }\n}\n");
  auto plain = targets::assembly_text(nest, target);
  target.features.push_back("avx512fp16");
  std::sort(target.features.begin(), target.features.end());
  ASSERT_EQ(targets::backend_of(target.architecture)->derive(target), "");
  auto native = targets::assembly_text(nest, target);
  ASSERT_TRUE(plain && native);
  EXPECT_NE(plain->find("vcvtph2ps"), std::string::npos);
  EXPECT_EQ(native->find("vcvtph2ps"), std::string::npos);
  EXPECT_NE(native->find("vaddph"), std::string::npos);
}

const char* const kRounding = R"(nest 1 rounding class strict
loops i, v
buffer X: f32[20000] argument align 4
buffer D: f64[20000] argument align 8
buffer Y: f32[20000] argument align 4 output
buffer Z: f64[20000] argument align 8 output
arguments X, D, Y, Z
body {
  for i in 0 .. 5000 {
    for v in 0 .. 4 vector 4 {
      compute 0(4*i + v) store: Y[4*i + v] <- (OP)(X[4*i + v])
      compute 0(4*i + v) store: Z[4*i + v] <- (OP)(D[4*i + v])
    }
  }
}
)";

TEST(SoftFloat, floor_ceil_and_round_are_those_of_the_c_library) {
  struct Case {
    const char* op;
    double (*reference)(double);
  };
  const Case cases[] = {{"floor", std::floor}, {"ceil", std::ceil}, {"round", std::nearbyint}};
  std::mt19937_64 random(5);
  std::vector<TensorData> in = {make_tensor(ElementType::f32, {20000}), make_tensor(ElementType::f64, {20000}),
                                make_tensor(ElementType::f32, {20000}), make_tensor(ElementType::f64, {20000})};
  for (int64_t k = 0; k < 20000; ++k) {
    const double sign = random() % 2 ? 1 : -1;
    const double value =
        k < 200 ? sign * static_cast<double>(k) / 4
                : sign * std::ldexp(static_cast<double>(random() % 4096) / 4, static_cast<int>(random() % 60) - 12);
    in[0].set(k, {ElementType::f32, static_cast<double>(static_cast<float>(value)), 0});
    in[1].set(k, {ElementType::f64, value, 0});
  }
  const double special[] = {
      0.0,    -0.0,   INFINITY, -INFINITY, NAN, 0.49999999999999994, -0.49999999999999994, 4503599627370495.5,
      1e-310, -1e-310};
  for (size_t k = 0; k < std::size(special); ++k) in[1].set(static_cast<int64_t>(k), {ElementType::f64, special[k], 0});
  for (const Case& c : cases) {
    std::string text = kRounding;
    for (size_t at; (at = text.find("(OP)")) != std::string::npos;) text.replace(at, 4, c.op);
    std::vector<TensorData> expected = in;
    for (int64_t k = 0; k < 20000; ++k)
      for (size_t a : {size_t{0}, size_t{1}}) expected[a + 2].set(k, {in[a].type, c.reference(in[a].at(k).f), 0});
    for (const Target& target : runnable_targets()) {
      std::vector<TensorData> got = expected;
      const Loaded kernel = load(parsed(text), target);
      ASSERT_EQ(call(kernel.code->address("rounding"), got), 0);
      for (size_t a = 2; a < 4; ++a) ASSERT_EQ(difference(got[a], expected[a]), "") << c.op << " on " << target.name;
    }
  }
}

}  // namespace
}  // namespace polyweft::targets_test
