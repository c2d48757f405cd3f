#include "support/stats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "support/rng.h"

namespace polyweft {
namespace {

TEST(Stats, median_of_odd_and_even_counts) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({7}), 7);
}

TEST(Stats, too_few_samples_give_no_interval) {
  EXPECT_EQ(median_interval({1, 2, 3}, 0.95).lo, 0);
  EXPECT_TRUE(std::isinf(median_interval({1, 2, 3}, 0.95).hi));
}

// Ranks from the table of the sign test: n = 10 at 95 %: 2nd and 9th; n = 20: 6th and 15th.
TEST(Stats, interval_ranks_agree_with_the_published_table) {
  std::vector<double> ten, twenty;
  for (int i = 1; i <= 10; ++i) ten.push_back(i);
  for (int i = 1; i <= 20; ++i) twenty.push_back(i);
  EXPECT_EQ(median_interval(ten, 0.95), (Interval{2, 5.5, 9}));
  EXPECT_EQ(median_interval(twenty, 0.95), (Interval{6, 10.5, 15}));
}

TEST(Stats, the_interval_covers_the_true_median_as_often_as_it_says) {
  Rng rng(5);
  int covered = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<double> samples;
    for (int i = 0; i < 25; ++i) samples.push_back(-std::log(1 - rng.uniform()));  // exponential: median ln 2
    const Interval interval = median_interval(samples, 0.95);
    covered += interval.lo <= std::log(2.0) && std::log(2.0) <= interval.hi;
  }
  EXPECT_GE(covered, 1900);
}

// A simulated device: what a kernel of true time `t` takes at the moment `now`.
using Device = std::function<double(Rng&, double t, double now)>;

double jitter(Rng& rng) {
  return 1 + 0.02 * (-std::log(1 - rng.uniform()));
}

double quiet(Rng& rng, double t, double) {
  return t * jitter(rng);
}
double drifting(Rng& rng, double t, double now) {
  return t * (1 + now / 400) * jitter(rng);
}
double bimodal(Rng& rng, double t, double now) {
  return t * (std::fmod(now, 170) < 60 ? 2.7 : 1.0) * jitter(rng);
}
double heating(Rng& rng, double t, double now) {
  return t * (now < 50 ? 1 : std::min(1.6, 1 + (now - 50) / 100)) * jitter(rng);
}
double interrupted(Rng& rng, double t, double) {
  return t * jitter(rng) * (rng.chance(0.01) ? 30 : 1);
}
double coarse(Rng& rng, double t, double) {
  return std::max(1.0, std::round(t * 40 * jitter(rng))) / 40;
}  // a clock of 1/40 of the run

struct Outcome {
  RaceVerdict verdict;
  size_t pairs;
};

Outcome race(const Device& device, double ratio, Rng& rng) {
  PairRace race;
  double now = 400 * rng.uniform();
  const auto timed = [&](double t) {
    const double took = device(rng, t, now);
    now += took;
    return took;
  };
  for (bool candidate_first = true;; candidate_first = !candidate_first) {
    for (size_t i = race.wanted(); i > 0; --i) {
      const double first = timed(candidate_first ? ratio : 1.0), second = timed(candidate_first ? 1.0 : ratio);
      race.add(candidate_first ? first : second, candidate_first ? second : first);
    }
    const RaceVerdict verdict = race.look();
    if (verdict != RaceVerdict::undecided) return {verdict, race.pairs()};
  }
}

struct DeviceCase {
  const char* name;
  Device device;
};
const DeviceCase kDevices[] = {{"quiet", quiet},     {"drifting", drifting},       {"bimodal", bimodal},
                               {"heating", heating}, {"interrupted", interrupted}, {"coarse", coarse}};

TEST(PairRace, picks_the_faster_kernel_on_every_simulated_device) {
  for (const auto& c : kDevices)
    for (const double ratio : {0.8, 0.9, 0.95, 1.05, 1.1, 1.2}) {
      Rng rng = Rng(21).fork(c.name);
      int right = 0, wrong = 0;
      size_t pairs = 0;
      for (int round = 0; round < 200; ++round) {
        const Outcome outcome = race(c.device, ratio, rng);
        const auto truth = ratio < 1 ? RaceVerdict::faster : RaceVerdict::slower;
        right += outcome.verdict == truth;
        wrong += outcome.verdict == (ratio < 1 ? RaceVerdict::slower : RaceVerdict::faster);
        pairs += outcome.pairs;
      }
      EXPECT_GE(right, 190) << c.name << " ratio " << ratio;
      EXPECT_EQ(wrong, 0) << c.name << " ratio " << ratio;
      EXPECT_LE(pairs, 200u * 80u) << c.name << " ratio " << ratio << ": over 40 % of 200 fixed pairs";
    }
}

TEST(PairRace, equal_kernels_are_hardly_ever_called_different) {
  for (const auto& c : kDevices) {
    Rng rng = Rng(22).fork(c.name);
    int false_verdicts = 0;
    for (int round = 0; round < 400; ++round) {
      const auto verdict = race(c.device, 1.0, rng).verdict;
      false_verdicts += verdict == RaceVerdict::faster || verdict == RaceVerdict::slower;
    }
    EXPECT_LE(false_verdicts, 20) << c.name;
  }
}

TEST(PairRace, a_much_slower_candidate_is_hopeless_after_three_pairs) {
  PairRace race;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(race.hopeless());
    race.add(1.4, 1.0);
  }
  EXPECT_TRUE(race.hopeless());
}

TEST(PairRace, steady_samples_tell_the_hopeless_by_one_pair_two_or_three) {
  const auto pairs_until_hopeless = [](const std::vector<double>& candidate) {
    PairRace race({.is_steady = true});
    for (const double ns : candidate) {
      race.add(ns, 1.0);
      if (race.hopeless()) break;
    }
    return race.hopeless() ? race.pairs() : 0;
  };
  EXPECT_EQ(pairs_until_hopeless({2.1, 2.1, 2.1}), 1u);
  EXPECT_EQ(pairs_until_hopeless({1.6, 1.3, 1.3}), 2u);
  EXPECT_EQ(pairs_until_hopeless({1.1, 1.1, 1.1}), 3u);
  EXPECT_EQ(pairs_until_hopeless({1.3, 1.04, 1.3}), 0u);
  EXPECT_EQ(pairs_until_hopeless({0.99, 1.3, 1.0}), 0u);
}

TEST(PairRace, four_steady_pairs_about_even_are_enough) {
  const auto is_even = [](bool is_steady, const std::vector<double>& candidate) {
    PairRace race({.is_steady = is_steady});
    for (const double ns : candidate) race.add(ns, 1.0);
    return race.is_about_even();
  };
  EXPECT_TRUE(is_even(true, {0.99, 1.01, 1.0, 0.99}));
  EXPECT_FALSE(is_even(true, {0.99, 1.01, 1.0}));
  EXPECT_FALSE(is_even(true, {0.97, 0.97, 1.4, 0.97}));
  EXPECT_FALSE(is_even(false, {0.99, 1.01, 1.0, 0.99}));
}

TEST(PairRace, one_slow_start_is_not_hopeless) {
  PairRace race;
  race.add(5, 1);
  race.add(1, 1);
  race.add(1, 1);
  EXPECT_FALSE(race.hopeless());
}

TEST(PairRace, closing_an_undecided_race_says_too_noisy) {
  PairRace race;
  race.add(1, 2);
  EXPECT_EQ(race.look(), RaceVerdict::undecided);
  EXPECT_EQ(race.close(), RaceVerdict::too_noisy);
}

}  // namespace
}  // namespace polyweft
