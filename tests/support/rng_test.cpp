#include "support/rng.h"

#include <gtest/gtest.h>

#include <set>

namespace polyweft {
namespace {

TEST(Rng, splitmix64_matches_the_published_sequence) {
  uint64_t state = 1234567;
  EXPECT_EQ(splitmix64(state), 6457827717110365317u);
  EXPECT_EQ(splitmix64(state), 3203168211198807973u);
  EXPECT_EQ(splitmix64(state), 9817491932198370423u);
}

TEST(Rng, same_seed_same_sequence_and_other_seed_another) {
  Rng a(7), b(7), c(8);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a(), b());
  EXPECT_NE(a(), c());
}

TEST(Rng, below_stays_below_and_reaches_everything) {
  Rng rng(1);
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(rng.below(7));
  EXPECT_EQ(seen.size(), 7u);
  EXPECT_EQ(*seen.rbegin(), 6u);
}

TEST(Rng, between_includes_both_ends_and_the_whole_range) {
  Rng rng(2);
  std::set<int64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(rng.between(-1, 1));
  EXPECT_EQ(seen, (std::set<int64_t>{-1, 0, 1}));
  EXPECT_EQ(rng.between(5, 5), 5);
  rng.between(INT64_MIN, INT64_MAX);
}

TEST(Rng, uniform_lies_in_the_unit_interval_with_mean_one_half) {
  Rng rng(3);
  double sum = 0;
  for (int i = 0; i < 100000; ++i) {
    const double u = rng.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
  }
  EXPECT_NEAR(sum / 100000, 0.5, 0.01);
}

TEST(Rng, forks_do_not_depend_on_order_and_differ) {
  const Rng root(9);
  Rng a = root.fork("a"), b = root.fork("b"), a_again = root.fork("a");
  const uint64_t first = a();
  EXPECT_EQ(first, a_again());
  EXPECT_NE(first, b());
  EXPECT_NE(root.fork(1)(), root.fork(2)());
}

}  // namespace
}  // namespace polyweft
