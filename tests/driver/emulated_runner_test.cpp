// A runner that says it is an emulator: what a search finds there is expected, not measured, and answers for no
// machine. The runner is this machine's own, told to say so.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "polyweft/tuner.h"

namespace polyweft {
namespace {

constexpr const char* kRunner = PW_BINARY_DIR "/src/tools/polyweft-runner";

class EmulatedRunner : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-emulated-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Tuner tuner(std::vector<std::string> runner = {}) const {
    TunerOptions options;
    options.database = folder_ / "a.db";
    options.helper_directory = PW_BINARY_DIR "/src/tools";
    options.runner = std::move(runner);
    return Tuner(find_target("host").value(), options);
  }
  Tuner emulated_tuner() const { return tuner({kRunner, "--emulated"}); }
  static Program program() {
    return parse_program(
               "program p(M = 40, N = 48, K = 24)\nin A: f32[M, K]\nin B: f32[K, N]\nout C[i: M, j: N] = sum[k: K] "
               "A[i, k] * B[k, j]\n")
        .value();
  }
  static TuneOptions trials(int count) {
    TuneOptions options;
    options.trials = count;
    options.budget = TuneOptions::kNoLimit;
    return options;
  }

  std::filesystem::path folder_;
};

TEST_F(EmulatedRunner, times_are_expected_and_kept_apart) {
  Tuner emulated = emulated_tuner();
  const auto found = emulated.tune(program(), trials(4));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(is_emulated(found->record.key));
  EXPECT_EQ(found->record.certificate.verdict, Verdict::proven);
  const Timing& timing = found->record.measurement.timing;
  EXPECT_GT(timing.median_ns, 0);
  EXPECT_EQ(timing.samples, 0) << "nothing was timed";
  EXPECT_GT(found->reference_ns, timing.median_ns) << "the base nest is expected to be slower";
  EXPECT_EQ(found->peak_gflops, 0);
  const auto again = emulated.tune(program(), trials(4));
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->hit);
  EXPECT_EQ(again->record.id, found->record.id);

  Tuner here = tuner();
  const auto built = here.build(program(), {}, Emit::object, "");
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ(built->origin, "record #" + std::to_string(found->record.id) + ", expected")
      << "better than the model alone";

  const auto measured = here.tune(program(), trials(2));
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_FALSE(measured->hit);
  EXPECT_FALSE(is_emulated(measured->record.key));
  EXPECT_GT(measured->record.measurement.timing.samples, 0);
  EXPECT_EQ(measured->effort.trials, 2)
      << "what the emulator tried is not of this machine; what it found is the first candidate";
  const auto best = here.best(program(), {});
  ASSERT_TRUE(best && *best);
  EXPECT_EQ((*best)->id, measured->record.id) << "a measured record goes before an expected one, whatever their times";
  const auto still = emulated.tune(program(), trials(4));
  ASSERT_TRUE(still);
  EXPECT_EQ(still->record.id, found->record.id);
}

TEST_F(EmulatedRunner, the_fastest_that_is_expected_wins) {
  std::vector<double> best;
  TuneOptions options = trials(6);
  options.progress = [&](const TuneProgress& p) {
    if (p.event == TuneEvent::best) best.push_back(p.ns);
  };
  const auto found = emulated_tuner().tune(program(), options);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_FALSE(best.empty());
  EXPECT_TRUE(std::is_sorted(best.rbegin(), best.rend()));
  EXPECT_EQ(found->record.measurement.timing.median_ns, best.back());
  EXPECT_EQ(found->failed, 0);
}

TEST_F(EmulatedRunner, a_schedule_by_hand_is_compared_and_expected) {
  TuneOptions by_hand = trials(0);
  by_hand.trace = "trace 1\n  tile C [j: 16]\n  permute C [i, j.1, k, j]\n  vectorize C j 16\n";
  const auto stored = emulated_tuner().tune(program(), by_hand);
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_TRUE(is_emulated(stored->record.key));
  EXPECT_EQ(stored->record.measurement.timing.samples, 0);
  EXPECT_EQ(stored->reason, "schedule");
}

TEST_F(EmulatedRunner, a_foreign_record_of_one_is_not_timed_nor_served) {
  const auto found = emulated_tuner().tune(program(), trials(2));
  ASSERT_TRUE(found) << found.error().message;
  std::filesystem::remove(folder_ / "a.db");
  Tuner here = tuner();
  const auto taken = here.adopt(found->record);
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(taken->origin, "imported");
  const auto best = here.best(program(), {});
  ASSERT_TRUE(best);
  EXPECT_FALSE(best->has_value());
}

}  // namespace
}  // namespace polyweft
