#include "driver/ratio_chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace polyweft {
namespace {

TEST(RatioChain, ratios_lead_over_those_between) {
  RatioChain chain;
  chain.begin_with("a");
  EXPECT_EQ(chain.ratio_of("a"), 1);
  EXPECT_EQ(chain.ratio_of("b"), 0);
  chain.add("b", "a", 0.5);
  chain.add("c", "b", 0.5);
  EXPECT_DOUBLE_EQ(chain.ratio_of("c"), 0.25);
  EXPECT_EQ(chain.fastest(), "c");
  chain.begin_with("c");
  EXPECT_DOUBLE_EQ(chain.ratio_of("a"), 4);
}

TEST(RatioChain, groups_that_were_never_timed_together_meet_later) {
  RatioChain chain;
  chain.begin_with("a");
  chain.add("y", "x", 2);
  EXPECT_EQ(chain.ratio_of("y"), 0);
  chain.add("x", "a", 3);
  EXPECT_DOUBLE_EQ(chain.ratio_of("y"), 6);
}

TEST(RatioChain, the_largest_group_has_the_fastest) {
  RatioChain chain;
  EXPECT_EQ(chain.fastest(), "");
  chain.add("b", "a", 0.001);
  for (const char* other : {"q", "r", "s"}) chain.add(other, "p", 0.9);
  EXPECT_NE(chain.fastest(), "b");
}

TEST(RatioChain, what_says_nothing_is_left_out) {
  RatioChain chain;
  chain.begin_with("a");
  for (const double ratio : {0.0, -1.0, 1.0 / 0.0, 0.0 / 0.0}) chain.add("b", "a", ratio);
  chain.add("a", "a", 3);
  EXPECT_EQ(chain.ratio_of("b"), 0);
  EXPECT_EQ(chain.ratio_of("a"), 1);
  chain.add("b", "a", 2);
  chain.add("b", "a", 4);
  EXPECT_EQ(chain.ratio_of("b"), 2) << "the first pairs count";
}

/// Where all pairs agree, any way through them gives the true ratio, in whatever order they come.
TEST(RatioChain, of_pairs_that_agree_every_way_is_right) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const size_t nests = 2 + random() % 12;
    std::vector<double> ns;
    for (size_t k = 0; k < nests; ++k) ns.push_back(1 + random() % 1000);
    std::vector<std::pair<size_t, size_t>> pairs;
    for (size_t k = 1; k < nests; ++k) pairs.emplace_back(k, random() % k);
    for (size_t k = 0; k < nests; ++k) pairs.emplace_back(random() % nests, random() % nests);
    std::shuffle(pairs.begin(), pairs.end(), random);
    RatioChain chain;
    chain.begin_with("0");
    for (const auto& [a, b] : pairs) chain.add(std::to_string(a), std::to_string(b), ns[a] / ns[b]);
    for (size_t k = 0; k < nests; ++k) EXPECT_NEAR(chain.ratio_of(std::to_string(k)), ns[k] / ns[0], 1e-9 * ns[k]);
    const std::string fastest = chain.fastest();
    EXPECT_EQ(ns[std::stoul(fastest)], *std::min_element(ns.begin(), ns.end()));
  }
}

}  // namespace
}  // namespace polyweft
