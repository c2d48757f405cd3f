// Tuner::tune by its events and reports: search, look-up, continuing, a schedule by hand, nothing measured.
#include "polyweft/tuner.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace polyweft {
namespace {

class TunerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-tuner-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Tuner tuner() {
    TunerOptions options;
    options.database = folder_ / "a.db";
    options.may_miss_database = true;
    options.helper_directory = PW_BINARY_DIR "/src/tools";
    return Tuner(find_target("host").value(), options);
  }
  static Program program() {
    return parse_program(
               "program p(M = 40, N = 48, K = 24)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] "
               "A[i, k] * B[k, j]\n")
        .value();
  }
  TuneOptions trials(int count) {
    TuneOptions options;
    options.trials = count;
    options.budget = TuneOptions::kNoLimit;
    options.progress = [this](const TuneProgress& p) {
      if (p.event == TuneEvent::doing) return doing_.push_back(p.what);
      events_.push_back(p.event);
      last_ = p;
    };
    return options;
  }
  static constexpr double kFlops = 2. * 40 * 48 * 24;
  std::filesystem::path folder_;
  std::vector<TuneEvent> events_;
  std::vector<std::string> doing_;
  TuneProgress last_;
};

TEST_F(TunerTest, a_search_ends_with_done_and_a_look_up_is_a_hit) {
  const auto found = tuner().tune(program(), trials(3));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(events_.front(), TuneEvent::start);
  EXPECT_EQ(std::count(events_.begin(), events_.end(), TuneEvent::trial), 3);
  EXPECT_GE(std::count(events_.begin(), events_.end(), TuneEvent::best), 1);
  EXPECT_EQ(std::count(events_.begin(), events_.end(), TuneEvent::hit), 0);
  EXPECT_EQ(std::count(events_.begin(), events_.end(), TuneEvent::done), 1);
  EXPECT_EQ(events_.back(), TuneEvent::done);
  EXPECT_EQ(last_.what, "trials");
  EXPECT_EQ(std::count(doing_.begin(), doing_.end(), "ranking schedules"), 1);
  EXPECT_EQ(doing_.front(), "checking the program");
  EXPECT_EQ(last_.ns, found->record.measurement.timing.median_ns);
  EXPECT_EQ(found->flops, kFlops);
  EXPECT_EQ(found->effort.trials, 3);
  EXPECT_GT(found->reference_ns, 0);
  EXPECT_EQ(found->served, found->record.id);
  events_.clear();
  const auto hit = tuner().tune(program(), trials(2));
  ASSERT_TRUE(hit);
  EXPECT_EQ(events_, (std::vector<TuneEvent>{TuneEvent::hit, TuneEvent::done}));
  EXPECT_TRUE(hit->hit);
  EXPECT_EQ(hit->flops, found->flops) << "one record, one rate";
  EXPECT_EQ(hit->record.measurement.timing.median_ns, found->record.measurement.timing.median_ns);
  EXPECT_EQ(hit->peak_gflops, 0) << "nothing is measured";
  EXPECT_EQ(hit->effort.trials, 3);
}

// Naive loops take longer than a twentieth of the budget, whatever the machine.
TEST_F(TunerTest, a_base_nest_that_takes_a_good_part_of_the_budget_is_not_run) {
  const char* texts[] = {
      "(N = 1100)\nin A: f32[N, N]\nin B: f32[N, N]\nout C[i: N, j: N] = sum[k: N] A[i, k] * B[k, j]\n",
      "()\nin A: f32[1100, 1100]\nin B: f32[1100, 1100]\nout C[i: 1100, j: 1100] = sum[k: 1100] A[i, k] * "
      "B[k, j]\n",
      "(N = 1100)\nin A: f64[N, N]\nout partial L[i: N, j: 0..i]: f64 = (A[i, j] - sum[k: 0..j] L[i, k] * L[j, k]) / "
      "L[j, j]\nout partial L[i: N, i]: f64 = sqrt(abs(A[i, i] - sum[k: 0..i] L[i, k] * L[i, k]) + 1.0)\n"};
  for (const char* text : texts) {
    TuneOptions options = trials(3);
    options.budget = std::chrono::milliseconds(4000);
    const auto found = tuner().tune(parse_program(std::string("program large") + text).value(), options);
    ASSERT_TRUE(found) << found.error().message << text;
    EXPECT_EQ(found->reference_ns, 0) << text;
    EXPECT_EQ(found->record.certificate.verdict, Verdict::proven) << text;
    EXPECT_GT(found->measured, 0) << text;
    EXPECT_EQ(found->failed, 0) << "all agree with the first: " << text;
  }
}

TEST_F(TunerTest, many_steps_of_time_are_rehearsed_with_few) {
  const Program steps =
      parse_program(
          "program steps(T = 640000)\nin X: f32[3000]\nlet A[0, i: 3000] = X[i]\nlet A[t: 1..T+1, 0] = "
          "X[0]\nlet A[t: 1..T+1, 2999] = X[2999]\nlet A[t: 1..T+1, i: 1..2999] = 0.33 * (A[t-1, "
          "i-1] + A[t-1, i] + A[t-1, i+1])\nout R[i: 3000] = A[T, i]\n")
          .value();
  TuneOptions options = trials(0);
  options.budget = std::chrono::milliseconds(36000);
  const auto found = tuner().tune(steps, options);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->record.certificate.verdict, Verdict::proven);
  EXPECT_EQ(found->record.key.binding, std::vector<int64_t>{640000});
  Tuner again = tuner();
  const auto database = again.database();
  ASSERT_TRUE(database);
  const auto records = (*database)->list({});
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 2u) << "and one of the same program with fewer steps";
  for (const TuningRecord& record : *records) EXPECT_EQ(record.key.program, found->record.key.program);
}

TEST_F(TunerTest, a_record_of_other_sizes_is_adapted) {
  TuneOptions options = trials(6);
  options.uses_library = false;
  ASSERT_TRUE(tuner().tune(program(), options));
  options = trials(8);
  options.uses_library = false;
  options.parameters = {{"M", 64}, {"N", 80}};
  const auto found = tuner().tune(program(), options);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->seeds, 1) << "a template of the record's trace, with open sizes";
  EXPECT_EQ(found->failed, 0);
}

TEST_F(TunerTest, a_larger_limit_goes_on) {
  ASSERT_TRUE(tuner().tune(program(), trials(2)));
  double before = 0;
  TuneOptions more = trials(5);
  more.progress = [&](const TuneProgress& p) {
    if (p.plan) before = static_cast<double>(p.plan->before.trials);
  };
  const auto found = tuner().tune(program(), more);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->hit);
  EXPECT_EQ(before, 2);
  EXPECT_EQ(found->measured + found->failed, 3);
  EXPECT_EQ(found->effort.trials, 5);
}

TEST_F(TunerTest, never_measuring_gives_the_record_or_a_proven_choice_that_is_not_stored) {
  TuneOptions never;
  never.budget = {};
  const auto choice = tuner().tune(program(), never);
  ASSERT_TRUE(choice) << choice.error().message;
  EXPECT_EQ(choice->reason, "nothing measured");
  EXPECT_EQ(choice->record.id, 0);
  EXPECT_EQ(choice->record.certificate.verdict, Verdict::proven);
  EXPECT_EQ(choice->record.measurement.status, RunStatus::not_run);
  EXPECT_EQ(choice->record.measurement.timing.median_ns, 0);
  EXPECT_TRUE(tuner().compile(choice->record));
  EXPECT_FALSE(tuner().best(program(), {})->has_value());
  ASSERT_TRUE(tuner().tune(program(), trials(1)));
  const auto record = tuner().tune(program(), never);
  ASSERT_TRUE(record);
  EXPECT_TRUE(record->hit);
}

TEST_F(TunerTest, a_schedule_by_hand_is_proven_measured_and_stored_and_the_faster_record_served) {
  TuneOptions by_hand = trials(0);
  by_hand.trace = "trace 1\n";  // the base order
  const auto slow = tuner().tune(program(), by_hand);
  ASSERT_TRUE(slow) << slow.error().message;
  EXPECT_EQ(slow->reason, "schedule");
  EXPECT_EQ(slow->measured, 1);
  EXPECT_EQ(slow->record.certificate.verdict, Verdict::proven);
  EXPECT_EQ(slow->record.measurement.strategy, "by hand");
  EXPECT_EQ(events_, std::vector<TuneEvent>{TuneEvent::done});
  EXPECT_EQ((*tuner().best(program(), {}))->id, slow->record.id);
  const auto found = tuner().tune(program(), trials(4));
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->hit) << "a schedule by hand is no search";
  EXPECT_NE(found->record.id, slow->record.id);
  const auto again = tuner().tune(program(), by_hand);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->served, found->record.id);
  EXPECT_EQ((*tuner().best(program(), {}))->id, found->record.id);
  by_hand.trace = "trace 1\n  parallel C k\n";
  const auto refused = tuner().tune(program(), by_hand);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code.rfind("PW03", 0), 0u) << refused.error().code;
}

}  // namespace
}  // namespace polyweft
