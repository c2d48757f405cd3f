// The loop of a search under a false runner, a false clock and a true database: what limits count, what is measured once and never again.
#include "driver/tune_loop.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "driver/first_choices.h"
#include "driver/spaces.h"
#include "driver/tune_finals.h"
#include "driver/tune_session.h"
#include "schedules/sketches/sketches.h"
#include "schedules/steps.h"

namespace polyweft {
namespace {

/// Every run takes a second; kernels are told apart by their id, the hash of their nest.
class FakeLab final : public Runner {
 public:
  Status begin(const RunnerTask&) override { return Ok{}; }
  Status set_incumbent(const LoadableKernel& kernel) override {
    incumbent = kernel.id;
    return Ok{};
  }
  Result<RunOutcome> run(const RunRequest& request) override {
    now_s += 1;
    runs.push_back(request.candidate.id);
    RunOutcome out;
    out.status = status_of.contains(request.candidate.id) ? status_of[request.candidate.id] : RunStatus::ok;
    out.reference_ns = 1e6;
    out.timing.median_ns = out.timing.min_ns = ns_of(request.candidate.id);
    out.timing.samples = 9;
    if (request.pair_with_incumbent) {
      out.timing.ratio = ns_of(request.candidate.id) / ns_of(incumbent);
      out.timing.ratio_lo = 0.999 * out.timing.ratio;
      out.timing.ratio_hi = 1.001 * out.timing.ratio;
    }
    return out;
  }
  double ns_of(const std::string& id) const { return mood * (1000 + static_cast<double>(std::hash<std::string>()(id) % 1000)); }

  std::vector<std::string> runs;
  std::map<std::string, RunStatus> status_of;
  std::string incumbent;
  double now_s = 0;
  double mood = 1;  ///< the machine of this hour
};

class TuneLoopTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-loop-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    const Target target = find_target("x86-64-v3").value();
    const auto program = parse_program("program p(M = 32, N = 32, K = 32)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * B[k, j]\n");
    task_ = make_task(program.value(), {}, target).value();
    schedules::TargetFacts facts;
    facts.vector_bytes = 32;
    facts.vector_registers = 16;
    facts.cache_bytes = target.cache_bytes;
    templates_ = schedules::sketch_templates(task_.program, task_.key.cls, facts, schedules::Isl{}).value();
    model_ = analytic_model({});
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  struct Ended {
    std::string reason;
    SearchEffort effort;
    std::vector<Winner> winners;
    int measured = 0;
  };
  /// A process of its own: a search that the database alone connects with those before.
  Ended search(TuneOptions options) {
    auto database = open_database(folder_ / "a.db").value();
    auto strategy = evolve(search_spaces(templates_, *model_), {.seed = options.seed});
    lab_.now_s = 0;
    TuneWorld world;
    world.build = [](const LoopNest& nest) {
      LoadableKernel kernel;
      kernel.id = hash(nest);
      return Result<LoadableKernel>(std::move(kernel));
    };
    world.runner = &lab_;
    world.database = database.get();
    world.elapsed_s = [this] { return lab_.now_s; };
    world.unix_time = [] { return int64_t{1}; };
    world.seeds = seeds_;
    world.plan.before = database->effort(task_.key).value();
    TuneLoop loop(task_, templates_, *strategy, options, world);
    const auto served = database->best(task_.key, task_.canonical_text).value();
    if (served && !options.refresh) EXPECT_TRUE(loop.resume(*served).ok());
    EXPECT_TRUE(loop.run().ok());
    if (!loop.winners().empty() && loop.winners().front().record == 0) store(*database, loop.winners().front());
    return {loop.reason(), loop.effort(), loop.winners(), loop.measured()};
  }
  void store(Database& database, const Winner& winner) {
    TuningRecord record;
    record.key = task_.key;
    record.canonical_text = task_.canonical_text;
    record.program_text = task_.source_text;
    record.program_name = "p";
    record.trace_text = winner.trace;
    record.nest_text = print(winner.nest);
    record.certificate.verdict = Verdict::proven;
    record.measurement = winner.measurement;
    ASSERT_TRUE(database.insert(record).ok());
  }
  static TuneOptions trials(int count) {
    TuneOptions options;
    options.trials = count;
    options.budget = TuneOptions::kNoLimit;
    return options;
  }
  static TuneOptions seconds(int count) {
    TuneOptions options;
    options.budget = std::chrono::seconds(count);
    return options;
  }

  std::filesystem::path folder_;
  Task task_;
  std::vector<NestTemplate> templates_;
  std::unique_ptr<CostModel> model_;
  std::vector<Candidate> seeds_;
  FakeLab lab_;
};

TEST_F(TuneLoopTest, three_trials_are_no_answer_to_twenty) {
  EXPECT_EQ(search(trials(3)).effort.trials, 3);
  EXPECT_EQ(lab_.runs.size(), 3u);
  const Ended more = search(trials(20));
  EXPECT_EQ(more.effort.trials, 20);
  EXPECT_EQ(more.measured, 17);
  EXPECT_EQ(more.reason, "trials");
  EXPECT_EQ(lab_.runs.size(), 3u + 1 + 17) << "the record is timed again, nothing else";
  EXPECT_EQ(std::set<std::string>(lab_.runs.begin(), lab_.runs.end()).size(), 20u);
}

TEST_F(TuneLoopTest, the_code_decides_which_way_to_make_code_comes_first) {
  const std::vector<Candidate> ways = finalists(first_choices(templates_, *model_, kAllRanked), templates_);
  ASSERT_GE(ways.size(), 2u);
  EXPECT_EQ(ways.front().nest_hash, first_choices(templates_, *model_, 6).front().nest_hash);
  for (const Candidate& wanted : ways) {
    const auto cycles = [&](const LoopNest& nest) -> Result<double> { return hash(nest) == wanted.nest_hash ? 1e-6 : 1e15; };
    EXPECT_EQ(ordered_by_code(ways, templates_, *model_, cycles).front().nest_hash, wanted.nest_hash);
    const auto fails = [&](const LoopNest& nest) -> Result<double> {
      if (hash(nest) == wanted.nest_hash) return fail("PW0502", "too long");
      return 1000.0;
    };
    const auto ordered = ordered_by_code(ways, templates_, *model_, fails);
    EXPECT_EQ(ordered.size(), ways.size());
    EXPECT_EQ(ordered.back().nest_hash, wanted.nest_hash);
  }
}

TEST_F(TuneLoopTest, what_is_served_untuned_and_the_floor_are_measured_first) {
  seeds_ = finalists(first_choices(templates_, *model_, kAllRanked), templates_);
  ASSERT_GE(seeds_.size(), 2u);
  EXPECT_EQ(seeds_.front().nest_hash, first_choices(templates_, *model_, 6).front().nest_hash);
  EXPECT_TRUE(std::any_of(seeds_.begin(), seeds_.end(), [&](const Candidate& c) { return templates_[c.sketch].auto_vectorized; }));
  const Ended ended = search(trials(static_cast<int>(seeds_.size())));
  ASSERT_EQ(lab_.runs.size(), seeds_.size());
  for (size_t k = 0; k < seeds_.size(); ++k) EXPECT_EQ(lab_.runs[k], seeds_[k].nest_hash);
  double least = 1e300;
  for (const std::string& run : lab_.runs) least = std::min(least, lab_.ns_of(run));
  EXPECT_EQ(ended.winners.front().measurement.timing.median_ns, least);
  const Ended more = search(trials(20));
  EXPECT_EQ(more.measured, 20 - static_cast<int>(seeds_.size())) << "seeds are not measured twice";
}

TEST_F(TuneLoopTest, a_search_in_pieces_measures_what_one_piece_measures) {
  for (const int limit : {1, 2, 5, 9, 14, 30}) search(trials(limit));
  const std::set<std::string> in_pieces(lab_.runs.begin(), lab_.runs.end());
  EXPECT_EQ(in_pieces.size(), 30u);
  EXPECT_EQ(lab_.runs.size(), 30u + 5) << "five times the record";
}

TEST_F(TuneLoopTest, eighteen_interrupted_seconds_are_no_answer_to_sixty) {
  TuneOptions options = seconds(60);
  options.cancelled = [this] { return lab_.now_s >= 18; };
  const Ended first = search(options);
  EXPECT_EQ(first.reason, "interrupted");
  EXPECT_EQ(first.effort.wall_s, 18);
  const Ended rest = search(seconds(60));
  EXPECT_EQ(rest.reason, "budget");
  EXPECT_EQ(rest.effort.wall_s, 60);
  EXPECT_EQ(lab_.now_s, 42);
  EXPECT_EQ(rest.effort.trials, 18 + 41) << "one second went to the record";
  EXPECT_TRUE(is_answered(rest.effort, seconds(60)));
}

TEST_F(TuneLoopTest, failures_are_remembered_and_not_run_again_even_from_the_beginning) {
  search(trials(4));
  const std::vector<std::string> ids = lab_.runs;
  for (const auto& id : ids) lab_.status_of[id] = RunStatus::crash;
  std::filesystem::remove(folder_ / "a.db");
  lab_.runs.clear();
  search(trials(4));
  EXPECT_EQ(lab_.runs, ids);
  lab_.runs.clear();
  TuneOptions again = trials(8);
  again.refresh = true;
  EXPECT_EQ(search(again).measured, 8) << "failures of before are no trials of now";
  for (const auto& id : ids) EXPECT_EQ(std::count(lab_.runs.begin(), lab_.runs.end(), id), 0);
}

TEST_F(TuneLoopTest, from_the_beginning_everything_that_was_right_is_measured_again) {
  search(trials(6));
  const std::vector<std::string> first = lab_.runs;
  lab_.runs.clear();
  TuneOptions again = trials(6);
  again.refresh = true;
  EXPECT_EQ(search(again).measured, 6);
  EXPECT_EQ(lab_.runs, first);
}

TEST_F(TuneLoopTest, an_hour_in_which_the_machine_is_slow_hides_no_winner) {
  search(trials(2));
  lab_.mood = 5;
  const Ended more = search(trials(200));
  double best = 1e9;
  for (const auto& id : lab_.runs) best = std::min(best, lab_.ns_of(id));
  ASSERT_FALSE(more.winners.empty());
  EXPECT_EQ(more.winners.front().measurement.timing.median_ns, best);
}

TEST_F(TuneLoopTest, a_record_that_is_no_longer_right_is_no_start) {
  const Ended first = search(trials(3));
  lab_.status_of[first.winners.front().measurement.nest_hash] = RunStatus::wrong_result;
  const Ended more = search(trials(6));
  for (const Winner& winner : more.winners) {
    EXPECT_EQ(winner.record, 0);
    EXPECT_NE(winner.measurement.nest_hash, first.winners.front().measurement.nest_hash);
  }
}

TEST(IsAnswered, where_a_limit_is_reached_or_nothing_is_left) {
  const auto with = [](std::chrono::milliseconds budget, int trials, double until = 0) {
    TuneOptions options;
    options.budget = budget;
    options.trials = trials;
    options.until = until;
    return options;
  };
  const auto none = TuneOptions::kNoLimit;
  const std::chrono::seconds minute(60);
  struct Case {
    SearchEffort spent;
    TuneOptions options;
    bool is_answered;
  };
  const std::vector<Case> cases = {
      {{2, 3, 0, ""}, with(none, 3), true},       {{2, 3, 0, ""}, with(none, 20), false},
      {{18, 400, 0, ""}, with(minute, 0), false}, {{60, 1, 0, ""}, with(minute, 0), true},
      {{60, 1, 0, ""}, with(minute, 20), true},   {{2, 30, 0, ""}, with(minute, 20), true},
      {{0, 0, 0, ""}, with({}, 0), true},         {{0, 0, 0, ""}, with(minute, 0), false},
      {{1, 1, 0.9, ""}, with(minute, 0, 0.8), true}, {{1, 1, 0.9, ""}, with(minute, 0, 0.95), false},
      {{1, 7, 0, toolchain()}, with(minute, 0), true}, {{1, 7, 0, "polyweft 0.0.1"}, with(minute, 0), false},
  };
  for (size_t i = 0; i < cases.size(); ++i) EXPECT_EQ(is_answered(cases[i].spent, cases[i].options), cases[i].is_answered) << "case " << i;
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
  for (const Case& c : {Case{1000, 800, 0.9, 800}, {1000, 1500, 0.9, 900}, {1000, 800, 1.2, 1200}, {1000, 1500, 1.2, 1500}, {1000, 1500, 0, 1500}, {0, 1500, 0.5, 1500}}) {
    const Timing told = told_beside(timing(c.served), timing(c.now), c.ratio);
    EXPECT_DOUBLE_EQ(told.median_ns, c.told) << c.now << " " << c.ratio;
    EXPECT_DOUBLE_EQ(told.min_ns, 0.9 * c.told);
  }
}

}  // namespace
}  // namespace polyweft
