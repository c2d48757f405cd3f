// Sums of integers times constants: the bits of the interpreter, whatever operations the code takes instead.
#include <gtest/gtest.h>

#include <sstream>

#include "support/rng.h"
#include "targets/kernels.h"

namespace polyweft::targets_test {
namespace {

constexpr int kTerms = 7;

/// Y[i, v] <- the sum, of elements of X[i, 0 .. 7 lanes), as many rows as lanes.
LoopNest of_sum(const std::string& type, int64_t bytes, int64_t lanes, const std::string& sum) {
  const std::string l = std::to_string(lanes), b = std::to_string(bytes);
  return parsed("nest 1 s class strict\nloops i, v\nbuffer X: " + type + "[9, " + std::to_string(kTerms * lanes) +
                "] argument align " + b + "\nbuffer Y: " + type + "[9, " + l + "] argument align " + b +
                " output\narguments X, Y\nbody { for i in 0 .. 9 { for v in 0 .. " + l + " vector " + l +
                " { compute 0(i, v) store: Y[i, v] <- " + sum + " } } }\n");
}

/// Sums beside each other, each stored in rows of its own.
LoopNest of_sums(const std::string& type, int64_t bytes, int64_t lanes, const std::vector<std::string>& sums) {
  const std::string l = std::to_string(lanes), b = std::to_string(bytes);
  std::string text = "nest 1 s class strict\nloops i, v\nbuffer X: " + type + "[9, " + std::to_string(kTerms * lanes) +
                     "] argument align " + b + "\n",
              names = "X", body;
  for (size_t k = 0; k < sums.size(); ++k) {
    const std::string name = "Y" + std::to_string(k);
    text += "buffer " + name + ": " + type + "[9, " + l + "] argument align " + b + " output\n";
    names += ", " + name;
    body += "compute " + std::to_string(k) + "(i, v) store: " + name + "[i, v] <- " + sums[k] + " ";
  }
  return parsed(text + "arguments " + names + "\nbody { for i in 0 .. 9 { for v in 0 .. " + l + " vector " + l +
                " { seq { " + body + "} } } }\n");
}

std::string term(int64_t k, int64_t lanes) {
  return k == 0 ? "X[i, v]" : "X[i, v + " + std::to_string(k * lanes) + "]";
}

/// Additions, subtractions, negations and products by constants, some of them large, around elements that may come
/// again.
std::string random_sum(Rng& rng, const std::string& type, int64_t lanes, int depth) {
  const auto constant = [&] {
    const int64_t small = static_cast<int64_t>(rng.below(19)) - 9,
                  large = static_cast<int64_t>(rng.below(60'000)) - 30'000;
    const int64_t value = rng.below(5) == 0 ? large : small;
    return std::to_string(value) + ":" + type;
  };
  if (depth == 0) return rng.below(8) == 0 ? constant() : term(static_cast<int64_t>(rng.below(kTerms)), lanes);
  const auto deeper = [&] {
    return random_sum(rng, type, lanes, depth - 1 - static_cast<int>(rng.below(static_cast<uint64_t>(depth))));
  };
  switch (rng.below(6)) {
    case 0:
    case 1:
      return "(" + random_sum(rng, type, lanes, depth - 1) + " * " + constant() + ")";
    case 2:
      return "(" + random_sum(rng, type, lanes, depth - 1) + " - " + deeper() + ")";
    default:
      return "(" + deeper() + " + " + random_sum(rng, type, lanes, depth - 1) + ")";
  }
}

TEST(IntegerSums, random_sums_have_the_same_bits) {
  struct Case {
    const char* type;
    int64_t bytes;
  };
  Rng rng(5);
  for (int round = 0; round < 12; ++round)
    for (const Case& c : {Case{"i16", 2}, Case{"i32", 4}, Case{"i64", 8}}) {
      const int64_t lanes = rng.below(2) == 0 ? 8 : 32;
      const std::string sum = random_sum(rng, c.type, lanes, 5);
      SCOPED_TRACE(std::string(c.type) + " " + sum);
      expect_same_bits(of_sum(c.type, c.bytes, lanes, sum), 1);
      if (::testing::Test::HasFailure()) return;
    }
}

/// The weights times terms from `first` on.
std::string weighted(const std::vector<int64_t>& weights, int64_t lanes, int64_t first = 0,
                     const std::string& type = "i16") {
  std::string out;
  for (size_t k = 0; k < weights.size(); ++k) {
    const std::string product =
        "(" + term(first + static_cast<int64_t>(k), lanes) + " * " + std::to_string(weights[k]) + ":" + type + ")";
    out = k == 0 ? product : "(" + out + " + " + product + ")";
  }
  return out;
}

TEST(IntegerSums, sums_beside_each_other_have_the_same_bits) {
  Rng rng(6);
  for (int round = 0; round < 16; ++round) {
    const int64_t lanes = rng.below(2) == 0 ? 8 : 32;
    std::vector<std::string> sums;
    std::vector<int64_t> weights;
    for (uint64_t k = 0, count = 2 + rng.below(4); k < count; ++k)
      weights.push_back(static_cast<int64_t>(rng.below(11)) - 3);
    for (int64_t first = 0; first < 3 && first + static_cast<int64_t>(weights.size()) <= kTerms; ++first)
      sums.push_back(weighted(weights, lanes, first));
    if (sums.size() < 3) sums.push_back(random_sum(rng, "i16", lanes, 4));
    SCOPED_TRACE(sums.front());
    expect_same_bits(of_sums("i16", 2, lanes, sums), 1);
    if (::testing::Test::HasFailure()) return;
  }
}

int64_t operations(const LoopNest& nest, const Target& target) {
  const auto text = targets::assembly_text(nest, target);
  EXPECT_TRUE(text) << text.error().message;
  int64_t out = 0;
  std::istringstream lines(text ? *text : "");
  for (std::string line; std::getline(lines, line);)
    for (const char* name : {"vpaddw", "vpsubw", "vpsllw", "vpmullw"})
      out += line.find(name) != std::string::npos ? 1 : 0;
  return out;
}

TEST(IntegerSums, operations_of_weights_that_stencils_have) {
  const Target v4 = *find_target("x86-64-v4");
  const auto count = [&](const std::vector<int64_t>& weights) {
    return operations(of_sum("i16", 2, 32, weighted(weights, 32)), v4);
  };
  EXPECT_EQ(count({1, 2, 3, 4, 5}), 8);  // 10 by products
  EXPECT_EQ(count({1, 4, 6, 4, 1}), 6);  // two sums of one factor each
  EXPECT_EQ(count({-1, 0, 1}), 1);
  EXPECT_EQ(count({1, -2, 1}), 3);
  EXPECT_EQ(count({3, 3, 3}), 4);
}

TEST(IntegerSums, the_next_row_is_this_one_and_three_operations) {
  const Target v4 = *find_target("x86-64-v4");
  const std::vector<int64_t> weights = {1, 2, 3, 4, 5};
  EXPECT_EQ(operations(of_sums("i16", 2, 32, {weighted(weights, 32), weighted(weights, 32, 1)}), v4),
            11);  // the first one before its last addition, and five times the new term
  EXPECT_EQ(operations(of_sums("i16", 2, 32, {weighted({1, 1, 1}, 32), weighted({1, 1, 1}, 32, 3)}), v4), 4);
}

}  // namespace
}  // namespace polyweft::targets_test
