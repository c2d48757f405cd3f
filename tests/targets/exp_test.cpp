// exp in vectors has the bits of the algorithm that all else computes with, into the subnormals and past the ends of
// its range.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <functional>

#include "ir/values/scalar_math.h"
#include "support/rng.h"
#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

constexpr int64_t kExpRows = 8192;

LoopNest exponentials(const std::string& type, int64_t lanes, int64_t bytes) {
  const std::string l = std::to_string(lanes), r = std::to_string(kExpRows),
                    shape = type + "[" + r + ", " + l + "] argument align " + std::to_string(bytes);
  return parsed("nest 1 exponentials class strict\nloops i, v\nbuffer X: " + shape + "\nbuffer Y: " + shape +
                " output\narguments X, Y\nbody {\n  for i in 0 .. " + r + " {\n    for v in 0 .. " + l + " vector " +
                l + " {\n      compute 0(i, v) store: Y[i, v] <- exp(X[i, v])\n    }\n  }\n}\n");
}

template <class T>
void expect_exponentials(const std::string& type, ElementType element, int64_t lanes,
                         const std::function<T(int64_t)>& argument) {
  TensorData x = make_tensor(element, {kExpRows, lanes}), y = make_tensor(element, {kExpRows, lanes});
  auto* xs = reinterpret_cast<T*>(x.bytes.data());
  const auto* ys = reinterpret_cast<const T*>(y.bytes.data());
  for (int64_t k = 0; k < kExpRows * lanes; ++k) xs[k] = argument(k);
  for (const Target& target : runnable_targets()) {
    const Loaded kernel = load(exponentials(type, lanes, sizeof(T)), target);
    Argument ax(x), ay(y);
    ASSERT_EQ(reinterpret_cast<Kernel2>(kernel.code->address("exponentials"))(ax.get(), ay.get()), 0);
    int wrong = 0;
    for (int64_t k = 0; k < kExpRows * lanes && wrong < 5; ++k) {
      const T own = static_cast<T>(ir::own_function(Op::exp, element, static_cast<double>(xs[k]), 0));
      if (std::bit_cast<std::array<char, sizeof(T)>>(own) == std::bit_cast<std::array<char, sizeof(T)>>(ys[k]) ||
          (std::isnan(own) && std::isnan(ys[k])))
        continue;
      ++wrong;
      ADD_FAILURE() << target.name << " " << type << " " << lanes << " lanes: exp(" << xs[k] << ") gave " << ys[k]
                    << ", is " << own;
    }
  }
}

TEST(Exp, in_vectors_has_the_bits_of_its_algorithm) {
  for (int64_t lanes : {4, 8, 16}) {
    const uint64_t step = (uint64_t{1} << 32) / static_cast<uint64_t>(kExpRows * lanes);
    expect_exponentials<float>("f32", ElementType::f32, lanes, [&](int64_t k) {
      return std::bit_cast<float>(static_cast<uint32_t>(static_cast<uint64_t>(k) * step + 77));
    });
    expect_exponentials<float>("f32", ElementType::f32, lanes, [&](int64_t k) {
      return static_cast<float>(-106 + 196 * static_cast<double>(k) / static_cast<double>(kExpRows * lanes));
    });
  }
  Rng rng(5);
  for (int64_t lanes : {2, 4, 8}) {
    expect_exponentials<double>("f64", ElementType::f64, lanes,
                                [&](int64_t) { return -750 + 1465 * static_cast<double>(rng() >> 11) * 0x1p-53; });
    expect_exponentials<double>("f64", ElementType::f64, lanes, [&](int64_t) { return std::bit_cast<double>(rng()); });
  }
}

// A result below the normal numbers costs 250 cycles a vector; masked scores of -inf, whose exponential is 0, must not.
TEST(Exp, leaves_out_lanes_that_vanish) {
  auto text = targets::assembly_text(exponentials("f32", 16, 4), *find_target("x86-64-v4"));
  ASSERT_TRUE(text.ok());
  const size_t at = text->find("vscalefps");
  ASSERT_NE(at, std::string::npos);
  EXPECT_NE(text->substr(at, text->find('\n', at) - at).find("{z}"), std::string::npos) << text->substr(at, 80);
}

}  // namespace
}  // namespace polyweft::targets_test
