// Numbers of tile units: the order in which sums of bf16 are added, and f32 operands in three parts that lose nothing.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "cpu.h"
#include "ir/values/scalar.h"
#include "random/tile_products.h"

namespace polyweft::tile_test {
namespace {

using targets_test::run_with_tiles;
using targets_test::TileRun;
using targets_test::with_tiles;

float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}
/// Intel's order for one element: two chains of fused additions over 32 values of k, their sum, then the cell. A rest
/// is whole pairs, then one.
float tile_sum(const std::vector<float>& a, const std::vector<float>& b) {
  float sum = 0;
  for (size_t begin = 0, end = 0; begin < a.size(); begin = end) {
    const size_t rest = a.size() - begin;
    end = begin + (rest >= 32 ? 32 : rest > 1 ? rest / 2 * 2 : rest);
    float chain[2] = {0, 0};
    for (size_t k = begin; k < end; ++k) chain[k % 2] = flushed(std::fma(flushed(a[k]), flushed(b[k]), chain[k % 2]));
    sum = flushed(sum + flushed(chain[0] + chain[1]));
  }
  return sum;
}

// Fractions, tiny numbers and infinities: the order of additions is the instruction's, over all steps of k.
TEST(Tiles, bf16_adds_in_its_own_order) {
  const Sizes s{19, 21, 101};
  auto nest = scheduled(product(kUnits[1], s), schedule(kUnits[1], {}));
  ASSERT_TRUE(nest.ok()) << nest.error().message;
  std::vector<TensorData> arguments = arguments_of(*nest);
  for (size_t t = 0; t < 2; ++t)
    for (int64_t k = 0; k < arguments[t].elements(); ++k) {
      const double x =
          static_cast<double>(small_integer(static_cast<uint64_t>(k * 7 + static_cast<int64_t>(t)), ElementType::u8)) /
              97 -
          1.3;
      arguments[t].set(k, ir::float_literal(ElementType::bf16, k % 29 == 0   ? std::ldexp(x, -70)
                                                               : k % 31 == 0 ? std::ldexp(x, -128)
                                                                             : x));
    }
  const TileRun run = run_with_tiles(*nest, with_tiles(), arguments);
  ASSERT_TRUE(run.ended) << run.problem;
  int differ_from_plain = 0;
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j) {
      std::vector<float> a, b;
      float plain = 0;
      for (int64_t k = 0; k < s.k; ++k) {
        a.push_back(static_cast<float>(arguments[0].at(i * s.k + k).f));
        b.push_back(static_cast<float>(arguments[1].at(k * s.n + j).f));
        plain = std::fma(a.back(), b.back(), plain);
      }
      const float wanted = tile_sum(a, b);
      EXPECT_EQ(std::bit_cast<uint32_t>(wanted),
                std::bit_cast<uint32_t>(static_cast<float>(run.arguments[2].at(i * s.n + j).f)))
          << i << " " << j;
      differ_from_plain += wanted != plain;
    }
  EXPECT_GT(differ_from_plain, 0);
}

// f32 times bf16: each f32 is the sum of three bf16, so that no bit of it is lost. Whole numbers that need 24 bits, all
// sizes, then values of every magnitude.
const Unit kParts = {"tdpbf16ps_parts", "f32", "bf16", "f32", 2};

TEST(Tiles, f32_operands_are_cut_in_three) {
  PW_NEEDS("avx512f", "avx512bw");  // its operands are cut by instructions of AVX-512
  for (const Sizes& s : {Sizes{1, 1, 1}, {1, 17, 3}, {17, 31, 67}, {32, 64, 128}, {33, 47, 101}, {5, 80, 255}})
    for (const auto& [rows, columns] : {std::array{1, 4}, {2, 2}, {1, 6}})
      for (bool packs_a : {false, true}) {
        if (columns != 4 && (s.m < 32 || packs_a)) continue;
        Block block;
        block.rows = rows;
        block.columns = columns;
        block.packs_a = packs_a;
        const std::string what = std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k) + " by " +
                                 std::to_string(columns) + (packs_a ? " packed" : "");
        const Program source = product(kParts, s);
        auto nest = scheduled(source, schedule(kParts, block));
        ASSERT_TRUE(nest.ok()) << what << nest.error().message;
        if (s.m < 20 && rows == 1) expect_right(source, *nest);
        const TileRun run = expect_same_bits(*nest, what);
        EXPECT_GT(run.counts.products, 0) << what;
        EXPECT_EQ(run.counts.products % 3, 0) << what;
      }
}

TEST(Tiles, parts_are_loaded_once_for_a_row_of_products) {
  PW_NEEDS("avx512f", "avx512bw");  // its operands are cut by instructions of AVX-512
  Block block;
  block.rows = 1;
  block.columns = 4;
  auto nest = scheduled(product(kParts, {16, 64, 160}), schedule(kParts, block));
  ASSERT_TRUE(nest.ok()) << nest.error().message;
  const TileRun run = expect_same_bits(*nest, "1x4");
  EXPECT_EQ(run.counts.products, 5 * 4 * 3);
  EXPECT_EQ(run.counts.loads, 5 * (3 + 4));
}

TEST(Tiles, parts_lose_nothing) {
  PW_NEEDS("avx512f", "avx512bw");  // its operands are cut by instructions of AVX-512
  const Sizes s{19, 70, 101};
  Block block;
  block.rows = 1;
  block.columns = 4;
  auto nest = scheduled(product(kParts, s), schedule(kParts, block));
  ASSERT_TRUE(nest.ok()) << nest.error().message;
  std::vector<TensorData> arguments = arguments_of(*nest);
  const double kInfinity = std::numeric_limits<double>::infinity();
  for (int64_t k = 0; k < arguments[0].elements(); ++k) {
    double x = static_cast<double>(static_cast<float>(std::sin(static_cast<double>(k) + 0.1)));
    if (k % 29 == 0) x = static_cast<double>(static_cast<float>(std::ldexp(x, -90)));
    const int64_t row = k / s.k;
    if (row == 3 && k % s.k == 50) x = kInfinity;
    if (row == 4 && k % s.k == 7) x = std::numeric_limits<double>::quiet_NaN();
    if (row == 5 && k % s.k == 100) x = -kInfinity;
    if (row == 6 && k % s.k == 33) x = static_cast<double>(std::numeric_limits<float>::max());
    if (row == 7 && k % 2 == 0)
      x = static_cast<double>(static_cast<float>(std::ldexp(x, -120)));  // its rests have no whole significand
    arguments[0].set(k, ir::float_literal(ElementType::f32, x));
  }
  for (int64_t k = 0; k < arguments[1].elements(); ++k)
    arguments[1].set(
        k, ir::float_literal(
               ElementType::bf16,
               static_cast<double>(small_integer(static_cast<uint64_t>(k), ElementType::bf16)) / 16 + 0.03125));
  const TileRun run = run_with_tiles(*nest, with_tiles(), arguments);
  ASSERT_TRUE(run.ended) << run.problem;
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j) {
      double wanted = 0, size = 0;
      for (int64_t k = 0; k < s.k; ++k) {
        const double term = arguments[0].at(i * s.k + k).f * arguments[1].at(k * s.n + j).f;
        wanted += term, size += std::fabs(term);
      }
      const double got = run.arguments[2].at(i * s.n + j).f;
      if (std::isnan(wanted)) {
        EXPECT_TRUE(std::isnan(got)) << i << " " << j;
      } else if (std::isinf(wanted)) {
        EXPECT_EQ(got, wanted) << i << " " << j;
      } else if (size < 1e38) {
        EXPECT_LE(std::fabs(got - wanted), (16 + 1 + 3 * 4) * 0x1p-24 * size)
            << i << " " << j;  // roundings that a term passes
      }
    }
}

}  // namespace
}  // namespace polyweft::tile_test
