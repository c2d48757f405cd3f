// The loop of a search under a false runner, a false clock and a true database: what limits count, what is measured
// once and never again.
#include "driver/tune_loop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "driver/derivation.h"
#include "driver/fake_lab.h"
#include "driver/first_choices.h"
#include "driver/seeds.h"
#include "driver/spaces.h"
#include "driver/tune_session.h"
#include "schedules/sketches/sketches.h"
#include "schedules/steps.h"
#include "support/rng.h"
#include "support/stats.h"
#include "support/stop.h"

namespace polyweft {
namespace {

class TuneLoopTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-loop-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    const Target target = find_target("x86-64-v3").value();
    const auto program = parse_program(
        "program p(M = 32, N = 32, K = 32)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] A[i, k] * "
        "B[k, j]\n");
    task_ = make_task(program.value(), {}, target).value();
    templates_ = schedules::sketch_templates(task_.program, task_.key.cls, target.machine, schedules::Isl{}).value();
    model_ = analytic_model(target.machine);
    lab_.hides_repetitions = true;
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
    lab_.now_s = planning_s_;
    TuneWorld world;
    world.build = [this](const LoopNest& nest) -> Result<LoadableKernel> {
      if (was_stopped_ = ++builds_ > most_builds_; was_stopped_) return stopped("code generation");
      LoadableKernel kernel;
      kernel.id = hash(nest);
      return kernel;
    };
    world.runner = &lab_;
    world.database = database.get();
    world.elapsed_s = [this] { return lab_.now_s; };
    world.unix_time = [] { return int64_t{1}; };
    world.seeds = seeds_;
    world.expected_ns = expected_ns_;
    world.plan.before = database->effort(task_.key).value();
    if (goes_on_without_record_)
      world.candidate_of = [&](const std::string& trace) { return seed_of(trace, templates_, *model_); };
    const SketchSet sketches(templates_);
    TuneLoop loop(task_, sketches, *strategy, options, world);
    const auto served = database->best(task_.key, task_.canonical_text).value();
    if (served && !options.refresh) {
      EXPECT_TRUE(loop.resume(*served).ok());
    }
    EXPECT_TRUE(loop.run().ok());
    const bool is_kept = !is_killed_ && !loop.winners().empty() && loop.winners().front().record == 0;
    if (is_kept) store(*database, loop.winners().front());
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
  int builds_ = 0, most_builds_ = 1'000'000;  ///< the next one is stopped, and with it the search
  bool was_stopped_ = false;
  double planning_s_ = 0;   ///< what a search spends before its first trial
  bool is_killed_ = false;  ///< before it stores a record
  bool goes_on_without_record_ = false;
  std::function<Result<double>(const LoopNest&)> expected_ns_;
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
  const std::vector<Candidate> ranked = first_choices(templates_, *model_, kAllRanked);
  const std::vector<Candidate> ways = finalists(ranked, templates_);
  ASSERT_GE(ways.size(), 2u);
  EXPECT_EQ(ways.front().nest_hash, first_choices(templates_, *model_, 6).front().nest_hash);
  for (const Candidate& wanted : ways) {
    const auto cycles = [&](const LoopNest& nest) -> Result<CodeCost> {
      return CodeCost{hash(nest) == wanted.nest_hash ? 1e-6 : 1e15};
    };
    EXPECT_EQ(ordered_by_code(ranked, templates_, *model_, cycles).front().nest_hash, wanted.nest_hash);
    const auto is_another = [&](const LoopNest& nest) {
      return std::any_of(ways.begin(), ways.end(), [&](const Candidate& c) {
        return c.nest_hash == hash(nest) && c.nest_hash != wanted.nest_hash;
      });
    };
    const auto fails_in_this_way = [&](const LoopNest& nest) -> Result<CodeCost> {
      return is_another(nest) ? Result<CodeCost>(CodeCost{1000.0}) : fail("PW0502", "too long");
    };
    const auto ordered = ordered_by_code(ranked, templates_, *model_, fails_in_this_way);
    EXPECT_EQ(ordered.size(), ways.size());
    EXPECT_EQ(ordered.back().nest_hash, wanted.nest_hash);
  }
}

TEST(Finalists, bands_of_three_sketches_are_tried_and_one_of_every_other_way) {
  NestTemplate band, other;
  band.bands.emplace_back();
  other.trace.steps.emplace_back(UnrollStep{});
  const std::vector<NestTemplate> templates = {band, band, band, band, other, other};
  const std::vector<Candidate> ranked = {{0, {1}, 100, "a"}, {0, {2}, 101, "b"}, {4, {}, 102, "c"}, {1, {}, 110, "d"},
                                         {5, {}, 111, "e"},  {2, {}, 250, "f"},  {3, {}, 260, "g"}};
  std::string chosen;
  for (const Candidate& c : finalists(ranked, templates)) chosen += c.nest_hash;
  EXPECT_EQ(chosen, "acd") << "f is predicted to be more than twice as slow as a";
}

TEST_F(TuneLoopTest, another_of_the_same_way_stands_for_one_without_code) {
  const std::vector<Candidate> ranked = first_choices(templates_, *model_, kAllRanked);
  const std::vector<Candidate> ways = finalists(ranked, templates_);
  int replaced = 0;
  for (const Candidate& refused : ways) {
    const auto cycles = [&](const LoopNest& nest) -> Result<CodeCost> {
      return hash(nest) == refused.nest_hash ? fail("PW0506", "spills") : Result<CodeCost>(CodeCost{1000.0});
    };
    const auto ordered = ordered_by_code(ranked, templates_, *model_, cycles);
    ASSERT_EQ(ordered.size(), ways.size());
    const bool is_there = std::any_of(ordered.begin(), ordered.end(),
                                      [&](const Candidate& c) { return c.nest_hash == refused.nest_hash; });
    replaced += !is_there;
    if (is_there) EXPECT_EQ(ordered.back().nest_hash, refused.nest_hash) << "the only one of its way";
  }
  EXPECT_GE(replaced, 1);
}

TEST_F(TuneLoopTest, what_is_served_untuned_and_the_floor_are_measured_first) {
  seeds_ = finalists(first_choices(templates_, *model_, kAllRanked), templates_);
  ASSERT_GE(seeds_.size(), 2u);
  EXPECT_EQ(seeds_.front().nest_hash, first_choices(templates_, *model_, 6).front().nest_hash);
  EXPECT_TRUE(std::any_of(seeds_.begin(), seeds_.end(),
                          [&](const Candidate& c) { return templates_[c.sketch].auto_vectorized; }));
  const Ended ended = search(trials(static_cast<int>(seeds_.size())));
  ASSERT_EQ(lab_.runs.size(), seeds_.size());
  for (size_t k = 0; k < seeds_.size(); ++k) EXPECT_EQ(lab_.runs[k], seeds_[k].nest_hash);
  double least = 1e300;
  for (const std::string& run : lab_.runs) least = std::min(least, lab_.ns_of(run));
  EXPECT_EQ(ended.winners.front().measurement.timing.median_ns, least);
  const Ended more = search(trials(20));
  EXPECT_EQ(more.measured, 20 - static_cast<int>(seeds_.size())) << "seeds are not measured twice";
}

TEST_F(TuneLoopTest, planning_that_eats_the_budget_leaves_time_for_one_trial) {
  seeds_ = first_choices(templates_, *model_, 10);
  ASSERT_EQ(seeds_.size(), 10u);
  planning_s_ = 17;
  const Ended ended = search(seconds(10));
  EXPECT_EQ(ended.reason, "budget");
  EXPECT_EQ(lab_.runs.size(), 1u);
  std::filesystem::remove(folder_ / "a.db");
  lab_.runs.clear();
  EXPECT_EQ(search(trials(2)).effort.trials, 2) << "who counts trials gets so many";
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

TEST_F(TuneLoopTest, what_was_stopped_while_it_was_compiled_has_not_failed) {
  search(trials(4));
  const std::vector<std::string> four = lab_.runs;
  std::filesystem::remove(folder_ / "a.db");
  lab_.runs.clear();
  builds_ = 0, most_builds_ = 3;
  TuneOptions options = trials(9);
  options.cancelled = [this] { return was_stopped_; };
  const Ended ended = search(options);
  EXPECT_EQ(ended.reason, "interrupted");
  EXPECT_EQ(ended.effort.trials, 3);
  for (const auto& [trace, measurement] : open_database(folder_ / "a.db").value()->measurements(task_.key).value())
    EXPECT_EQ(measurement.status, RunStatus::ok) << measurement.detail;
  most_builds_ = 1'000'000;
  lab_.runs.clear();
  search(trials(9));
  EXPECT_EQ(std::count(lab_.runs.begin(), lab_.runs.end(), four.back()), 1) << "it is tried";
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

TEST_F(TuneLoopTest, what_was_killed_before_its_record_measures_nothing_twice) {
  is_killed_ = goes_on_without_record_ = true;
  search(trials(12));
  const std::vector<std::string> before = lab_.runs;
  const auto fastest = *std::min_element(before.begin(), before.end(),
                                         [&](const auto& a, const auto& b) { return lab_.ns_of(a) < lab_.ns_of(b); });
  lab_.runs.clear();
  lab_.drift = 3;
  const Ended more = search(trials(20));
  EXPECT_EQ(more.measured, 8);
  ASSERT_EQ(lab_.runs.size(), 9u);
  EXPECT_EQ(lab_.runs.front(), fastest) << "the best of before is met again";
  for (size_t k = 1; k < lab_.runs.size(); ++k)
    EXPECT_EQ(std::count(before.begin(), before.end(), lab_.runs[k]), 0) << lab_.runs[k];
}

TEST_F(TuneLoopTest, what_wins_meets_the_incumbent_again_and_the_second_race_counts) {
  seeds_ = first_choices(templates_, *model_, 3);
  ASSERT_EQ(seeds_.size(), 3u);
  lab_.hides_repetitions = false;
  lab_.fixed_ns = {{seeds_[0].nest_hash, 1000}, {seeds_[1].nest_hash, 1050}, {seeds_[2].nest_hash, 900}};
  lab_.luck[seeds_[1].nest_hash] = {0.5, 1};  // a neighbour was there in the first race
  const Ended ended = search(trials(3));
  EXPECT_EQ(lab_.runs, (std::vector<std::string>{seeds_[0].nest_hash, seeds_[1].nest_hash, seeds_[1].nest_hash,
                                                 seeds_[2].nest_hash, seeds_[2].nest_hash}));
  ASSERT_EQ(ended.winners.size(), 3u);
  EXPECT_EQ(ended.winners[0].measurement.nest_hash, seeds_[2].nest_hash);
  EXPECT_EQ(ended.winners[1].measurement.nest_hash, seeds_[0].nest_hash);
  EXPECT_EQ(ended.winners[2].measurement.nest_hash, seeds_[1].nest_hash);
  EXPECT_DOUBLE_EQ(ended.winners[0].measurement.timing.ratio, 0.9);
  EXPECT_EQ(ended.winners[0].measurement.beside, seeds_[0].nest_hash);
  EXPECT_DOUBLE_EQ(ended.winners[2].measurement.timing.ratio, 1.05);
}

/// What it proposes is told to it; it remembers.
class ListedCandidates final : public Strategy {
 public:
  explicit ListedCandidates(std::vector<Candidate> candidates) : left_(std::move(candidates)) {}
  std::vector<Candidate> ask(size_t n) override {
    std::vector<Candidate> out(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(std::min(n, left_.size())));
    left_.erase(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(out.size()));
    return out;
  }
  void tell(const std::vector<Observation>& observations) override {
    told.insert(told.end(), observations.begin(), observations.end());
  }
  int64_t scored() const override { return 0; }
  std::string name() const override { return "listed"; }
  std::vector<Observation> told;

 private:
  std::vector<Candidate> left_;
};

TEST_F(TuneLoopTest, observations_are_ratios_to_the_first_kernel_whatever_the_hour) {
  const std::vector<Candidate> candidates = first_choices(templates_, *model_, 12);
  ASSERT_GE(candidates.size(), 8u);
  ListedCandidates strategy(candidates);
  lab_.status_of[candidates[3].nest_hash] = RunStatus::crash;
  lab_.status_of[candidates[4].nest_hash] = RunStatus::slower;
  TuneWorld world;
  int built = 0;
  std::map<std::string, double> ns;
  for (const Candidate& c : candidates) ns[c.nest_hash] = lab_.ns_of(c.nest_hash);
  world.build = [&](const LoopNest& nest) {
    lab_.drift = 1 + 0.4 * (++built % 2);  // a clock step between any two
    LoadableKernel kernel;
    kernel.id = hash(nest);
    return Result<LoadableKernel>(std::move(kernel));
  };
  world.runner = &lab_;
  world.elapsed_s = [this] { return lab_.now_s; };
  world.unix_time = [] { return int64_t{1}; };
  const TuneOptions options = trials(static_cast<int>(candidates.size()));
  const SketchSet sketches(templates_);
  TuneLoop loop(task_, sketches, strategy, options, world);
  ASSERT_TRUE(loop.run().ok());
  ASSERT_EQ(strategy.told.size(), candidates.size());
  for (size_t k = 0; k < candidates.size(); ++k) {
    const Observation& told = strategy.told[k];
    if (k == 3)
      EXPECT_EQ(told.ratio, 0) << "a failure has no time";
    else
      EXPECT_NEAR(told.ratio, ns[told.candidate.nest_hash] / ns[candidates[0].nest_hash], 1e-9) << k;
  }
}

/// A machine whose clock steps between two speeds, 1.4 apart, at any time, with some jitter and interruptions. Races
/// are the runner's own.
class SteppingLab final : public Runner {
 public:
  SteppingLab(std::map<std::string, double> ns, uint64_t seed) : ns_(std::move(ns)), rng_(seed) {}
  Status begin(const RunnerTask&) override { return Ok{}; }
  Status set_incumbent(const LoadableKernel& kernel) override {
    incumbent_ = kernel.id;
    return Ok{};
  }
  Result<RunOutcome> run(const RunRequest& request) override {
    RunOutcome out;
    out.status = RunStatus::ok;
    PairRace race;
    const double ns = ns_.at(request.candidate.id);
    if (!request.pair_with_incumbent) {
      out.timing.median_ns = out.timing.min_ns = timed(ns);
      return out;
    }
    for (bool candidate_first = true; race.look() == RaceVerdict::undecided; candidate_first = !candidate_first)
      for (size_t k = race.wanted(); k > 0; --k) {
        const double first = timed(candidate_first ? ns : ns_.at(incumbent_));
        const double second = timed(candidate_first ? ns_.at(incumbent_) : ns);
        race.add(candidate_first ? first : second, candidate_first ? second : first);
      }
    out.timing.median_ns = median(race.candidate_samples());
    const Interval ratio = race.ratio();
    out.timing.ratio = ratio.estimate, out.timing.ratio_lo = ratio.lo, out.timing.ratio_hi = ratio.hi;
    return out;
  }

 private:
  double timed(double ns) {
    if (rng_.chance(0.02)) is_slow_ = !is_slow_;
    return ns * (is_slow_ ? 1.4 : 1) * (1 + 0.01 * -std::log(1 - rng_.uniform())) * (rng_.chance(0.005) ? 20 : 1);
  }
  std::map<std::string, double> ns_;
  std::string incumbent_;
  Rng rng_;
  bool is_slow_ = false;
};

TEST_F(TuneLoopTest, where_the_clock_steps_three_percent_are_taken_and_none_are_not) {
  const std::vector<Candidate> two = first_choices(templates_, *model_, 2);
  ASSERT_EQ(two.size(), 2u);
  const auto taken = [&](double ratio) {
    int out = 0;
    for (uint64_t seed = 1; seed <= 400; ++seed) {
      SteppingLab lab({{two[0].nest_hash, 1e5}, {two[1].nest_hash, ratio * 1e5}}, seed);
      ListedCandidates strategy(two);
      TuneWorld world;
      world.build = [](const LoopNest& nest) {
        LoadableKernel kernel;
        kernel.id = hash(nest);
        return Result<LoadableKernel>(std::move(kernel));
      };
      world.runner = &lab;
      world.elapsed_s = [] { return 0.0; };
      world.unix_time = [] { return int64_t{1}; };
      const TuneOptions options = trials(2);
      const SketchSet sketches(templates_);
      TuneLoop loop(task_, sketches, strategy, options, world);
      EXPECT_TRUE(loop.run().ok());
      out += loop.winners().front().measurement.nest_hash == two[1].nest_hash;
    }
    return out;
  };
  EXPECT_GE(taken(0.97), 380) << "of 400";
  EXPECT_LE(taken(1), 4) << "of 400";
}

TEST_F(TuneLoopTest, an_hour_in_which_the_machine_is_slow_hides_no_winner) {
  search(trials(2));
  lab_.drift = 5;
  const Ended more = search(trials(200));
  double best = 1e9;
  for (const auto& id : lab_.runs) best = std::min(best, lab_.ns_of(id));
  ASSERT_FALSE(more.winners.empty());
  EXPECT_EQ(more.winners.front().measurement.timing.median_ns, best);
}

TEST_F(TuneLoopTest, of_exact_times_the_best_row_wins_whatever_was_stored) {
  lab_.is_exact = goes_on_without_record_ = true;
  lab_.hides_repetitions = false;
  const Ended first = search(trials(6));
  EXPECT_EQ(lab_.runs.size(), 6u) << "nobody is met twice";
  const auto least = [&] {
    double out = 1e300;
    for (const auto& id : lab_.runs) out = std::min(out, lab_.ns_of(id));
    return out;
  };
  EXPECT_EQ(first.winners.front().measurement.timing.median_ns, least());
  ASSERT_GE(first.winners.size(), 2u);
  std::filesystem::remove(folder_ / "a.db");
  lab_.runs.clear();
  is_killed_ = true;
  const Ended killed = search(trials(6));
  store(*open_database(folder_ / "a.db").value(), killed.winners.back());  // as a version without exact times did
  const Ended more = search(trials(7));
  EXPECT_EQ(more.winners.front().measurement.timing.median_ns, least());
}

TEST_F(TuneLoopTest, what_an_emulators_clock_dropped_is_run_again) {
  expected_ns_ = [this](const LoopNest& nest) { return Result<double>(lab_.ns_of(hash(nest))); };
  seeds_ = first_choices(templates_, *model_, 3);
  ASSERT_EQ(seeds_.size(), 3u);
  lab_.fixed_ns = {{seeds_[0].nest_hash, 900}, {seeds_[1].nest_hash, 6.5}, {seeds_[2].nest_hash, 7}};
  lab_.status_of[seeds_[1].nest_hash] = RunStatus::slower;
  is_killed_ = true;
  search(trials(3));
  lab_.runs.clear();
  lab_.status_of[seeds_[1].nest_hash] = RunStatus::ok;
  lab_.status_of[seeds_[2].nest_hash] = RunStatus::timed_out;
  const Ended more = search(trials(6));
  EXPECT_EQ(more.winners.front().measurement.nest_hash, seeds_[1].nest_hash) << "the best expected that is right";
  EXPECT_EQ(more.winners.front().measurement.timing.median_ns, 6.5);
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
      {{2, 3, 0, ""}, with(none, 3), true},
      {{2, 3, 0, ""}, with(none, 20), false},
      {{18, 400, 0, ""}, with(minute, 0), false},
      {{60, 1, 0, ""}, with(minute, 0), true},
      {{60, 1, 0, ""}, with(minute, 20), true},
      {{2, 30, 0, ""}, with(minute, 20), true},
      {{0, 0, 0, ""}, with({}, 0), true},
      {{0, 0, 0, ""}, with(minute, 0), false},
      {{1, 1, 0.9, ""}, with(minute, 0, 0.8), true},
      {{1, 1, 0.9, ""}, with(minute, 0, 0.95), false},
      {{1, 7, 0, toolchain()}, with(minute, 0), true},
      {{1, 7, 0, "polyweft 0.0.1"}, with(minute, 0), false},
  };
  for (size_t i = 0; i < cases.size(); ++i)
    EXPECT_EQ(is_answered(cases[i].spent, cases[i].options), cases[i].is_answered) << "case " << i;
}

}  // namespace
}  // namespace polyweft
