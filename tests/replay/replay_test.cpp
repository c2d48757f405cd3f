#include "replay/replay.h"

#include <gtest/gtest.h>

#include <set>

#include "replay/judge.h"

namespace polyweft::replay {
namespace {

RecordedCandidate recorded(uint32_t structure, std::vector<int64_t> decisions, double ratio,
                           std::optional<int> first_choice = {}) {
  return {structure, std::move(decisions), 1000 * ratio, RunStatus::ok, ratio, 0, first_choice};
}

/// Two rules' sketches with one decision each, and two structures that were derived of the first.
RecordedSpace small_space() {
  const std::vector<Choice> open = {{"m", {1, 2, 4, 8}}};
  std::vector<RecordedCandidate> candidates = {
      recorded(0, {1}, 1.5),     // 0
      recorded(0, {4}, 1.0, 1),  // 1
      recorded(1, {2}, 2.0, 0),  // 2
      recorded(2, {}, 0.8),      // 3, of 1
      recorded(3, {}, 0.5),      // 4, of 3
      recorded(1, {8}, 0)        // 5
  };
  candidates[5].status = RunStatus::wrong_result;
  return {"small",
          {{0, true, open}, {1, true, open}, {0, false, {}}, {0, false, {}}},
          candidates,
          {{1, 3, EdgeKind::mutated}, {3, 4, EdgeKind::mutated}, {1, 0, EdgeKind::decision}}};
}

TEST(RecordedSpace, what_was_not_recorded_is_the_nearest_that_was) {
  const RecordedSpace space = small_space();
  EXPECT_EQ(space.nearest(0, {1}), 0u);
  EXPECT_EQ(space.nearest(0, {4}), 1u);
  EXPECT_EQ(space.nearest(0, {8}), 1u);
  EXPECT_EQ(space.nearest(0, {2}), 0u) << "as near to both: the first";
  EXPECT_EQ(space.nearest(1, {1}), 2u);
  EXPECT_EQ(space.nearest(3, {}), 4u);
}

TEST(RecordedSpace, relatives_are_children_and_parents_of_the_structure) {
  const RecordedSpace space = small_space();
  EXPECT_EQ(space.derived_of(1, EdgeKind::mutated), std::vector<uint32_t>{3});
  EXPECT_EQ(space.derived_of(3, EdgeKind::mutated), (std::vector<uint32_t>{1, 4}));
  EXPECT_EQ(space.derived_of(0, EdgeKind::mutated), std::vector<uint32_t>{3}) << "as the same steps with other sizes";
  EXPECT_TRUE(space.derived_of(2, EdgeKind::mutated).empty());
  EXPECT_TRUE(space.derived_of(3, EdgeKind::crossed).empty());
}

TEST(RecordedSpace, the_best_is_the_fastest_that_is_right) {
  EXPECT_EQ(small_space().best_ratio(), 0.5);
}

TEST(Replay, derives_each_candidate_once) {
  const RecordedSpace space = small_space();
  Replay replay(space);
  const auto first = replay.first_choices();
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(number_of(first[0]), 2u);
  const auto child = replay.mutated(first[1], 7);
  ASSERT_TRUE(child.has_value());
  const auto score = child->space.score(child->decisions);
  ASSERT_TRUE(score.has_value());
  EXPECT_EQ(score->predicted_ns, 800);
  EXPECT_FALSE(replay.mutated(first[1], 7).has_value()) << "it was scored before";
  EXPECT_FALSE(replay.mutated(first[0], 7).has_value()) << "it has no relatives";
}

/// Proposes these numbers, one a batch.
class Scripted final : public Strategy {
 public:
  Scripted(Replay& replay, std::vector<uint32_t> order) : replay_(replay), order_(std::move(order)) {}
  std::vector<Candidate> ask(size_t) override {
    if (at_ == order_.size()) return {};
    return {replay_.candidate(order_[at_++])};
  }
  void tell(const std::vector<Observation>&) override {}
  int64_t scored() const override { return 0; }
  std::string name() const override { return "scripted"; }

 private:
  Replay& replay_;
  std::vector<uint32_t> order_;
  size_t at_ = 0;
};

TEST(Replay, tells_what_was_recorded_and_drops_what_is_far_slower_than_the_best) {
  const RecordedSpace space = small_space();
  const auto told = search(
      space,
      [](Replay& replay, uint64_t) {
        return std::make_unique<Scripted>(replay, std::vector<uint32_t>{5, 3, 0, 4});
      },
      1, 8);
  EXPECT_EQ(best_ratios(space, told), (std::vector<double>{2.0, 1.0, 1.0, 0.8, 0.8, 0.5}));
  std::vector<RunStatus> statuses;
  for (const Observation& o : told) statuses.push_back(o.status);
  EXPECT_EQ(statuses, (std::vector<RunStatus>{RunStatus::ok, RunStatus::ok, RunStatus::wrong_result, RunStatus::ok,
                                              RunStatus::slower, RunStatus::ok}));
  EXPECT_EQ(told[2].ratio, 0);
  EXPECT_EQ(told[4].ratio, 1.5);
}

TEST(Replay, random_order_tries_everything_that_can_be_reached_once) {
  const RecordedSpace space = small_space();
  Replay replay(space);
  const auto strategy = random_order(replay, 3);
  std::set<std::string> seen;
  for (const Candidate& first : replay.first_choices()) {
    seen.insert(first.nest_hash);
    strategy->tell({{first, RunStatus::ok, 1}});
  }
  for (auto batch = strategy->ask(1); !batch.empty(); batch = strategy->ask(1)) {
    EXPECT_TRUE(seen.insert(batch[0].nest_hash).second) << batch[0].nest_hash;
    strategy->tell({{batch[0], RunStatus::ok, 1}});
  }
  EXPECT_EQ(seen, (std::set<std::string>{"0", "1", "2", "3", "4", "5"}));
}

TEST(Judge, quantiles_are_values) {
  EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile({4, 1, 2, 3}, 0.5), 2);
  EXPECT_EQ(quantile({4, 1, 2, 3}, 0.9), 4);
  EXPECT_EQ(quantile({7}, 0.9), 7);
}

TEST(Judge, evolve_finds_the_best_of_a_small_space) {
  const Regrets all = regrets(small_space(), strategies().front().make);
  EXPECT_EQ(quantile(all[1], 1), 0) << "six candidates, 16 trials";
  EXPECT_EQ(all[1].size(), kSeeds);
}

}  // namespace
}  // namespace polyweft::replay
