// The last races of a search under a false runner: first choice, winners, the record that is served.
#include "driver/tune_finals.h"

#include <gtest/gtest.h>

#include <set>

#include "driver/fake_lab.h"

namespace polyweft {
namespace {

/// Winners of a search and the first choice on a track of their own, with times by name and an interval by choice.
class RaceFirstTest : public testing::Test {
 protected:
  struct Runs {
    double ns;
    int64_t record = 0;
    bool builds = true;
  };
  static Winner winner(const std::string& name, const Runs& runs) {
    Winner out;
    out.nest.name = name;
    out.measurement.nest_hash = name;
    out.measurement.timing.median_ns = runs.ns;
    out.record = runs.record;
    return out;
  }
  /// The names in the order in which they would be proven and served.
  std::string order(const std::vector<std::pair<std::string, Runs>>& found,
                    std::optional<std::pair<std::string, Runs>> first) {
    std::vector<Winner> winners;
    std::set<std::string> unbuildable;
    for (const auto& [name, runs] : found) winners.push_back(winner(name, runs));
    for (const auto& [name, runs] : found) note(name, runs, unbuildable);
    if (first) note(first->first, first->second, unbuildable);
    const auto build = [&](const LoopNest& nest) -> Result<LoadableKernel> {
      if (unbuildable.contains(nest.name)) return fail("PW0502", "too long");
      LoadableKernel kernel;
      kernel.id = nest.name;
      return kernel;
    };
    const Track track{lab_, build, elsewhere_};
    auto raced = race_first(track, winners, first ? std::optional(winner(first->first, first->second)) : std::nullopt);
    if (!raced) return raced.error().message;
    const auto told = raced->empty() ? Result<std::string>(std::string()) : told_by_processes(track, raced->front());
    told_ = told ? *told : told.error().message;
    std::string out;
    for (const Winner& each : *raced) out += (out.empty() ? "" : " ") + each.measurement.nest_hash;
    return out;
  }
  /// The lab's kernels at the speeds of another process.
  class OtherProcess final : public Runner {
   public:
    OtherProcess(FakeLab& lab, size_t process) : lab_(lab), process_(process) {}
    Status begin(const RunnerTask&) override { return Ok{}; }
    Status set_incumbent(const LoadableKernel& kernel) override {
      incumbent_ = kernel.id;
      return Ok{};
    }
    Result<RunOutcome> run(const RunRequest& request) override {
      std::swap(lab_.process, process_), std::swap(lab_.incumbent, incumbent_);
      auto out = lab_.run(request);
      std::swap(lab_.process, process_), std::swap(lab_.incumbent, incumbent_);
      return out;
    }

   private:
    FakeLab& lab_;
    size_t process_;
    std::string incumbent_;
  };
  void may_go_elsewhere() {
    processes_ = 0;
    elsewhere_ = [this](const LoadableKernel&) -> Result<std::unique_ptr<Runner>> {
      return std::unique_ptr<Runner>(std::make_unique<OtherProcess>(lab_, ++processes_));
    };
  }
  ElsewhereRunner elsewhere_;
  size_t processes_ = 0;
  std::string told_;
  FakeLab lab_;

 private:
  void note(const std::string& name, const Runs& runs, std::set<std::string>& unbuildable) {
    lab_.fixed_ns[name] = runs.ns;
    if (!runs.builds) unbuildable.insert(name);
  }
};

TEST_F(RaceFirstTest, the_first_choice_loses_its_place_only_to_what_is_faster_beyond_doubt) {
  const std::pair<std::string, Runs> first{"first", {1000}};
  lab_.noise = 0.02;
  EXPECT_EQ(order({{"a", {900}}, {"b", {950}}}, first), "a first b")
      << "clearly faster; where it is not proven, the first choice is next";
  EXPECT_EQ(order({{"a", {990}}, {"b", {1100}}}, first), "first a b") << "ahead by less than the interval";
  EXPECT_EQ(order({{"a", {1200}}}, first), "first a") << "slower, whatever the search's pairs said";
  EXPECT_EQ(order({{"a", {1200}}, {"b", {900}}}, first), "b first a")
      << "luck put another one before the one that is faster";
  EXPECT_EQ(order({{"a", {900}}, {"b", {700}}, {"c", {800}}}, first), "b first a c") << "the fastest by the same pairs";
  EXPECT_EQ(order({}, first), "first");
  lab_.noise = 0.2;
  EXPECT_EQ(order({{"a", {900}}}, first), "first a") << "too noisy to say";
}

TEST_F(RaceFirstTest, exact_times_decide_at_once) {
  lab_.is_exact = true;
  EXPECT_EQ(order({{"a", {251e3}}, {"b", {292e3}}, {"c", {322e3}}}, {{"first", {505e3}}}), "a first b c");
  EXPECT_EQ(lab_.runs.size(), 4u) << "each once: other layouts say nothing else";
  EXPECT_EQ(order({{"a", {1000.0}}}, {{"first", {1001.0}}}), "a first");
  EXPECT_EQ(order({{"a", {1000.0}}}, {{"first", {1000.0}}}), "first a");
}

TEST_F(RaceFirstTest, a_first_choice_that_takes_long_leaves_pairs_enough) {
  EXPECT_EQ(order({{"a", {130e6}}, {"b", {900e6}}}, {{"first", {1.2e9}}}), "a first b")
      << "pairs of 1.3 s, and the winner's own time says nothing of that";
  EXPECT_EQ(order({{"a", {200e6}}}, {{"first", {240e6}}}), "a first");
  EXPECT_EQ(order({{"a", {1.5e9}}}, {{"first", {1.2e9}}}), "first a");
}

TEST_F(RaceFirstTest, who_is_faster_in_one_layout_only_is_not_faster) {
  const std::pair<std::string, Runs> first{"first", {1000}};
  for (const auto& [luck, wins] : std::vector<std::pair<std::vector<double>, bool>>{{{1, 1, 1}, true},
                                                                                    {{1, 1.2, 1}, false},
                                                                                    {{1, 1, 1.2}, false},
                                                                                    {{1.2, 1, 1}, false},
                                                                                    {{0.8, 1.05, 1.05}, true}}) {
    lab_.runs.clear();
    lab_.luck["a"] = luck;
    EXPECT_EQ(order({{"a", {900}}}, first), wins ? "a first" : "first a");
    lab_.runs.clear();
    EXPECT_EQ(order({{"a", {900}}, {"b", {950}}}, first), wins ? "a first b" : "b first a")
        << "the next one that holds";
  }
}

TEST_F(RaceFirstTest, long_calls_are_raced_in_two_more_processes_and_what_differs_is_told) {
  const std::pair<std::string, Runs> first{"first", {2e6}};
  const std::string text =
      "a call takes 1.8 ms in one process and 2.34 ms in another: where memory lies, or who else uses the core, is "
      "worth that much here";
  struct Case {
    std::vector<double> places;  ///< of a, by process
    const char *order, *told;
  };
  for (const Case& c :
       {Case{{1, 1, 1}, "a first", ""}, Case{{1, 1.05, 1}, "a first", ""}, Case{{1, 1.3, 1}, "first a", ""},
        Case{{1, 1, 1.3}, "first a", ""}, Case{{0.7, 1, 1}, "a first", ""}}) {
    may_go_elsewhere();
    lab_.in_process["a"] = c.places;
    EXPECT_EQ(order({{"a", {1.8e6}}}, first), c.order);
    EXPECT_EQ(told_, c.told);
    EXPECT_GE(processes_, 2u);
    EXPECT_LE(processes_, 4u) << "two of a winner that lost its place, two of who took it";
  }
  may_go_elsewhere();
  lab_.in_process = {{"a", {1, 1, 1.3}}, {"first", {1, 1, 1.3}}};
  EXPECT_EQ(order({{"a", {1.8e6}}}, first), "a first") << "both are slower there";
  EXPECT_EQ(told_, text);
  may_go_elsewhere();
  EXPECT_EQ(order({{"a", {1.8e6}}}, std::nullopt), "a") << "not raced";
  EXPECT_EQ(told_, text);
  EXPECT_EQ(processes_, 2u);
}

TEST_F(RaceFirstTest, short_calls_and_exact_ones_stay_in_their_process) {
  may_go_elsewhere();
  EXPECT_EQ(order({{"a", {900e3}}}, {{"first", {990e3}}}), "a first");
  EXPECT_EQ(order({{"a", {0.9e9}}}, {{"first", {1.2e9}}}), "a first");
  EXPECT_EQ(processes_, 0u);
  EXPECT_EQ(told_, "");
}

TEST_F(RaceFirstTest, it_is_there_once_and_only_where_it_runs) {
  const std::pair<std::string, Runs> first{"first", {1000}};
  EXPECT_EQ(order({{"first", {1000}}, {"a", {1500}}}, first), "first a");
  EXPECT_TRUE(lab_.runs.empty()) << "it has won already";
  EXPECT_EQ(order({{"a", {900}}, {"first", {1000}}}, first), "a first");
  EXPECT_EQ(order({{"a", {1500}}, {"first", {1000}}}, first), "first a");
  EXPECT_EQ(order({{"a", {1500}}}, std::nullopt), "a");
  EXPECT_EQ(order({{"a", {1500}}}, {{"first", {1000, 0, false}}}), "a");
  EXPECT_EQ(order({{"a", {1500, 0, false}}, {"b", {900}}}, first), "b first a");
  for (const RunStatus status : {RunStatus::crash, RunStatus::wrong_result, RunStatus::slower}) {
    lab_.status_of["first"] = status;
    EXPECT_EQ(order({{"a", {1500}}}, first), "a") << name_of(status);
  }
}

TEST_F(RaceFirstTest, of_long_calls_only_the_fastest_is_raced_and_the_median_of_few_pairs_counts) {
  lab_.noise = 10;  // three pairs have no interval
  EXPECT_EQ(order({{"a", {4e8}}, {"b", {2.9e8}}}, {{"first", {3e8}}}), "first a b");
  EXPECT_EQ(order({{"a", {2.9e8}}, {"b", {4e8}}}, {{"first", {3e8}}}), "a first b");
  EXPECT_EQ(std::count(lab_.runs.begin(), lab_.runs.end(), "b"), 0);
}

TEST(ToldBeside, medians_of_two_hours_agree_with_their_pairs) {
  const auto timing = [](double ns) {
    Timing t;
    t.median_ns = ns;
    t.min_ns = 0.9 * ns;
    return t;
  };
  struct Case {
    double served, now, ratio, told;
  };
  for (const Case& c : {Case{1000, 800, 0.9, 800},
                        {1000, 1500, 0.9, 900},
                        {1000, 800, 1.2, 1200},
                        {1000, 1500, 1.2, 1500},
                        {1000, 1500, 0, 1500},
                        {0, 1500, 0.5, 1500}}) {
    const Timing told = told_beside(timing(c.served), timing(c.now), c.ratio);
    EXPECT_DOUBLE_EQ(told.median_ns, c.told) << c.now << " " << c.ratio;
    EXPECT_DOUBLE_EQ(told.min_ns, 0.9 * c.told);
  }
}

}  // namespace
}  // namespace polyweft
