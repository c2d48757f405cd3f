// Turns of searches that share a budget, on simulated searches: each has a floor and comes near it by a power of its
// effort.
#include "driver/shared_budget.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace polyweft {
namespace {

struct SimulatedSearch {
  double floor_ns = 1e6, excess = 1, power = 0.5, calls = 1, ends_at_s = 1e9, overhead_s = 0;

  double best_ns(double spent_s) const {
    return floor_ns * (1 + excess * std::pow(1 + std::min(spent_s, ends_at_s), -power));
  }
};

/// Spent on each.
std::vector<double> played(const std::vector<SimulatedSearch>& searches, double budget_s, int* turns_taken = nullptr) {
  std::vector<double> calls, spent(searches.size(), 0);
  for (const SimulatedSearch& each : searches) calls.push_back(each.calls);
  SharedBudget turns(calls, budget_s);
  int taken = 0;
  while (const auto turn = turns.next()) {
    if (++taken > 100'000) {
      ADD_FAILURE() << "turns without end";
      break;
    }
    const SimulatedSearch& search = searches[turn->program];
    double& at = spent[turn->program];
    EXPECT_TRUE(turn->until_s > at || at == 0) << "a turn of nothing";
    const double end = std::min(turn->until_s, search.ends_at_s);
    for (int k = 1; k <= 8; ++k) {
      const double now = at + (end - at) * k / 8;
      turns.saw(turn->program, {now, search.best_ns(now)});
    }
    at = end;
    turns.ended(turn->program, {at, search.best_ns(at)}, search.floor_ns, end < turn->until_s);
    turns.spend(search.overhead_s);
  }
  if (turns_taken) *turns_taken = taken;
  return spent;
}

double total_ns(const std::vector<SimulatedSearch>& searches, const std::vector<double>& spent) {
  double out = 0;
  for (size_t k = 0; k < searches.size(); ++k) out += searches[k].calls * searches[k].best_ns(spent[k]);
  return out;
}

TEST(SharedBudget, each_gets_a_turn_and_the_budget_holds) {
  const auto spent = played(std::vector<SimulatedSearch>(7), 70);
  for (const double each : spent) EXPECT_GT(each, 3);
  EXPECT_LE(std::accumulate(spent.begin(), spent.end(), 0.0), 70.001);
  EXPECT_GE(std::accumulate(spent.begin(), spent.end(), 0.0), 69.999);
}

TEST(SharedBudget, who_runs_often_gets_more) {
  std::vector<SimulatedSearch> searches(4);
  searches[2].calls = 50;
  const auto spent = played(searches, 100);
  for (const size_t other : {0, 1, 3}) EXPECT_GT(spent[2], 3 * spent[other]);
}

TEST(SharedBudget, who_is_at_the_roofline_or_ended_gets_no_more) {
  std::vector<SimulatedSearch> searches(3);
  searches[0].excess = 0;
  searches[1].ends_at_s = 2;
  int turns = 0;
  const auto spent = played(searches, 90, &turns);
  EXPECT_NEAR(spent[0], 12, 1e-9);
  EXPECT_NEAR(spent[1], 2, 1e-9);
  EXPECT_GT(spent[2], 70);
  EXPECT_LT(turns, 12);
}

TEST(SharedBudget, searches_that_all_end_leave_the_rest) {
  std::vector<SimulatedSearch> searches(3);
  for (SimulatedSearch& each : searches) each.ends_at_s = 1.5;
  EXPECT_NEAR(total_ns(searches, played(searches, 1000)), 3 * searches[0].best_ns(1.5), 1);
}

TEST(SharedBudget, what_turns_cost_besides_counts) {
  std::vector<SimulatedSearch> searches(3);
  for (SimulatedSearch& each : searches) each.overhead_s = 5;
  int turns = 0;
  const auto spent = played(searches, 60, &turns);
  EXPECT_LE(std::accumulate(spent.begin(), spent.end(), 0.0) + 5 * (turns - 1), 60.001);
}

// Against equal shares, the sum of all calls' times above their floors.
TEST(SharedBudget, better_than_equal_shares) {
  std::mt19937 rng(20261126);
  std::uniform_real_distribution<double> unit(0, 1);
  double ratios = 0;
  int better = 0;
  constexpr int kRuns = 200;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<SimulatedSearch> searches(3 + static_cast<size_t>(unit(rng) * 20));
    double floors = 0;
    for (SimulatedSearch& each : searches) {
      each.floor_ns = 1e3 * std::pow(10, 4 * unit(rng));
      each.excess = 4 * unit(rng);
      each.power = 0.1 + 0.9 * unit(rng);
      each.calls = unit(rng) < 0.7 ? 1 : 16;
      floors += each.calls * each.floor_ns;
    }
    const double budget_s = 10 * static_cast<double>(searches.size());
    const double shared = total_ns(searches, played(searches, budget_s)) - floors;
    const double equal = total_ns(searches, std::vector<double>(searches.size(), 10)) - floors;
    ratios += std::log(shared / equal);
    better += shared < equal;
    EXPECT_LT(shared, 1.25 * equal);
  }
  EXPECT_GE(better, kRuns * 95 / 100);
  EXPECT_LT(std::exp(ratios / kRuns), 0.8);
}

}  // namespace
}  // namespace polyweft
