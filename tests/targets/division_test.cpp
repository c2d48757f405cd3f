// Vectors divided by one number have the bits of the division, whatever the code does instead of dividing.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "support/rng.h"
#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

constexpr int64_t kDivisions = 20'000;

/// `divisor` as loop nests write it: of a row, or one number. So many rows are written out.
LoopNest quotients(const std::string& type, int64_t lanes, const std::string& cls, const std::string& divisor = "d[i]",
                   int64_t rows = 1) {
  const std::string l = std::to_string(lanes), r = std::to_string(kDivisions), bytes = std::to_string(64 / lanes);
  return parsed("nest 1 quotients class " + cls + "\nloops i, u, v\nbuffer X: " + type + "[" + r + ", " + l +
                "] argument align " + bytes + "\nbuffer d: " + type + "[" + r + "] argument align " + bytes +
                "\nbuffer Y: " + type + "[" + r + ", " + l + "] argument align " + bytes +
                " output\narguments X, d, Y\nbody {\n  for i in 0 .. " + r + " step " + std::to_string(rows) +
                " {\n    for u in 0 .. " + std::to_string(rows) + " unroll {\n      for v in 0 .. " + l + " vector " +
                l + " {\n        compute 0(i + u, v) store: Y[i + u, v] <- (X[i + u, v] / " + divisor +
                ")\n      }\n    }\n  }\n}\n");
}

/// Any bits; or, more often, a number whose exponent lets the fast way be taken, with few or many leading ones in its
/// fraction.
template <class T, class Bits>
T number(Rng& rng) {
  constexpr int kMantissa = sizeof(T) == 4 ? 23 : 52;
  constexpr Bits kBias = sizeof(T) == 4 ? 127 : 1023;
  auto bits = static_cast<Bits>(rng());
  if (rng.below(8) == 0) return std::bit_cast<T>(bits);
  Bits fraction = bits & ((Bits{1} << kMantissa) - 1);
  if (rng.below(4) == 0)
    fraction = (rng.below(2) == 0 ? Bits{0} - static_cast<Bits>(rng.below(4)) : static_cast<Bits>(rng.below(4))) &
               ((Bits{1} << kMantissa) - 1);
  const auto exponent = static_cast<Bits>(kBias - 20 + static_cast<Bits>(rng.below(41)));
  return std::bit_cast<T>(
      static_cast<Bits>((rng.below(2) << (8 * sizeof(T) - 1)) | (exponent << kMantissa) | fraction));
}

template <class T>
bool is_same(T a, T b, bool zeros_differ) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::memcmp(&a, &b, sizeof a) == 0 || (!zeros_differ && a == 0 && b == 0);
}

template <class T, class Bits>
void expect_quotients(const std::string& type, ElementType element, const std::string& cls) {
  constexpr int64_t kLanes = 64 / sizeof(T);
  Rng rng(11);
  TensorData x = make_tensor(element, {kDivisions, kLanes}), d = make_tensor(element, {kDivisions}),
             y = make_tensor(element, {kDivisions, kLanes});
  auto* xs = reinterpret_cast<T*>(x.bytes.data());
  auto* ds = reinterpret_cast<T*>(d.bytes.data());
  for (int64_t k = 0; k < kDivisions * kLanes; ++k) xs[k] = number<T, Bits>(rng);
  for (int64_t k = 0; k < kDivisions; ++k) {
    ds[k] = number<T, Bits>(rng);
    if (rng.below(2) == 0)  // rows without special values
      for (int64_t v = 0; v < kLanes; ++v)
        while (!(std::abs(xs[k * kLanes + v]) < 1e9 && std::abs(xs[k * kLanes + v]) > 1e-9))
          xs[k * kLanes + v] = number<T, Bits>(rng);
  }
  for (const Target& target : runnable_targets()) {
    const Loaded kernel = load(quotients(type, kLanes, cls), target);
    Argument ax(x), ad(d), ay(y);
    ASSERT_EQ(reinterpret_cast<Kernel3>(kernel.code->address("quotients"))(ax.get(), ad.get(), ay.get()), 0);
    const auto* ys = reinterpret_cast<const T*>(y.bytes.data());
    int wrong = 0;
    for (int64_t k = 0; k < kDivisions * kLanes && wrong < 5; ++k) {
      const T a = xs[k], b = ds[k / kLanes], exact = a / b;
      if (is_same(ys[k], exact, cls == "strict")) continue;
      ++wrong;
      ADD_FAILURE() << target.name << " " << cls << ": " << a << " / " << b << " gave " << ys[k] << ", is " << exact;
    }
  }
}

TEST(Division, by_one_number_has_the_bits_of_the_division) {
  for (const char* cls : {"strict", "reassoc"}) {
    expect_quotients<float, uint32_t>("f32", ElementType::f32, cls);
    expect_quotients<double, uint64_t>("f64", ElementType::f64, cls);
  }
}

template <class T, class Bits>
void expect_quotients_by(double divisor, const std::string& type, ElementType element, int64_t rows) {
  constexpr int64_t kLanes = 64 / sizeof(T);
  Rng rng(5);
  TensorData x = make_tensor(element, {kDivisions, kLanes}), d = make_tensor(element, {kDivisions}),
             y = make_tensor(element, {kDivisions, kLanes});
  auto* xs = reinterpret_cast<T*>(x.bytes.data());
  for (int64_t k = 0; k < kDivisions * kLanes; ++k)
    xs[k] = rng.below(4) == 0 ? std::bit_cast<T>(static_cast<Bits>(rng.below(5000)))
                              : number<T, Bits>(rng);  // subnormal ones too
  for (int64_t k = 0; k < kDivisions; k += 3)          // beside the middle of two quotients
    for (int64_t v = 0; v < kLanes; ++v)
      xs[k * kLanes + v] =
          std::nextafter(static_cast<T>(divisor) * (number<T, Bits>(rng) + T(0.5)), static_cast<T>(rng.below(3) - 1.0));
  const auto ordinary = [&] {
    for (;;)
      if (const T value = number<T, Bits>(rng); std::abs(value) > T(1e-9) && std::abs(value) < T(1e9)) return value;
  };
  for (int64_t k = 0; k < kDivisions; ++k)  // four rows of nothing else, and four with zeros and infinities between
    for (int64_t v = 0; v < kLanes && k / 4 % 4 < 2; ++v) {
      T& x = xs[k * kLanes + v];
      x = std::nextafter(static_cast<T>(divisor) * (ordinary() + T(0.5)), static_cast<T>(rng.below(3) - 1.0));
      if (k / 4 % 4 == 1 && rng.below(8) == 0)
        x = rng.below(2) == 0 ? std::copysign(T(0), x) : std::copysign(std::numeric_limits<T>::infinity(), x);
      if (k / 4 % 4 == 1 && rng.below(64) == 0) x = std::numeric_limits<T>::quiet_NaN();
    }
  xs[0] = T(0), xs[1] = T(-0.0), xs[2] = std::numeric_limits<T>::infinity(), xs[3] = -xs[2],
  xs[4] = std::numeric_limits<T>::max();
  for (const Target& target : runnable_targets()) {
    const Loaded kernel =
        load(quotients(type, kLanes, "strict", std::to_string(static_cast<int>(divisor)) + ":" + type, rows), target);
    Argument ax(x), ad(d), ay(y);
    ASSERT_EQ(reinterpret_cast<Kernel3>(kernel.code->address("quotients"))(ax.get(), ad.get(), ay.get()), 0);
    const auto* ys = reinterpret_cast<const T*>(y.bytes.data());
    int wrong = 0;
    for (int64_t k = 0; k < kDivisions * kLanes && wrong < 5; ++k)
      if (!is_same(ys[k], static_cast<T>(xs[k] / static_cast<T>(divisor)), true)) {
        ++wrong;
        ADD_FAILURE() << target.name << ": " << xs[k] << " / " << divisor << " gave " << ys[k];
      }
  }
}

TEST(Division, by_an_odd_number_of_few_bits_has_the_bits_of_the_division_in_class_strict) {
  for (double divisor : {3.0, -5.0, 9.0, 1048575.0, 6.0}) {
    const int64_t rows = divisor == 9 || divisor == 1048575 ? 5 : 1;
    expect_quotients_by<float, uint32_t>(divisor, "f32", ElementType::f32, rows);
    expect_quotients_by<double, uint64_t>(divisor, "f64", ElementType::f64, rows);
  }
}

// A row reads some lanes of what the row before has stored in the same block: its quotients cannot wait.
TEST(Division, rows_that_read_quotients_from_memory) {
  expect_same_bits(
      parsed("nest 1 p class strict\nloops a, b, i, u, v, c, d\nbuffer X: f64[12, 40] argument align 8\nbuffer A: "
             "f64[12, 40] heap align 64\nbuffer Y: f64[12, 40] argument "
             "align 8 output\narguments X, Y\nbody { alloc A {\nfor a in 0 .. 12 { for b in 0 .. 40 { copy A[a, b] <- "
             "X[a, b] } }\nfor i in 1 .. 11 step 5 { for u in 0 .. 5 "
             "unroll "
             "{ for v in 0 .. 8 vector 8 { compute 0(i + u, v) store: A[i + u, v + 8] <- ((A[i + u, v + 8] + A[i + u - "
             "1, v + 9]) / 9:f64) } } }\nfor c in 0 .. 12 { for d in 0 "
             ".. 40 { "
             "copy Y[c, d] <- A[c, d] } }\n} }\n"));
}

// In loops that hand values on from row to row.
TEST(Division, rows_by_an_odd_number_that_depend_on_each_other) {
  const LoopNest nest = parsed(
      "nest 1 p class strict\nloops a, b, i, u, v, c, d\nbuffer X: f64[12, 40] argument align 8\nbuffer A: f64[12, 40] "
      "heap align 64\nbuffer Y: f64[12, 40] argument "
      "align 8 output\narguments X, Y\nbody { alloc A {\nfor a in 0 .. 12 { for b in 0 .. 40 { copy A[a, b] <- X[a, b] "
      "} }\nfor i in 1 .. 12 { for u in 0 .. 5 unroll { "
      "for "
      "v in 0 .. 8 vector 8 { compute 0(i, 8*u + v) store: A[i, 8*u + v] <- (((A[i, 8*u + v] + A[i - 1, 8*u + v]) / "
      "9:f64) + A[i, 8*u + v]) } } }\nfor c in 0 .. 12 { "
      "for d in 0 "
      ".. 40 { copy Y[c, d] <- A[c, d] } }\n} }\n");
  expect_same_bits(nest, 6);
}

}  // namespace
}  // namespace polyweft::targets_test
