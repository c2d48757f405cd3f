// The first answer to a program: kept in the object and in the user's file, ended by whoever asked for it, the same
// whoever else is at work.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "polyweft/tuner.h"

namespace polyweft {
namespace {

class FirstAnswer : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-first-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Tuner tuner(const std::string& helpers = PW_BINARY_DIR "/src/tools") const {
    TunerOptions options;
    options.helper_directory = helpers;
    options.secret = folder_ / "secret";
    options.cache = folder_ / "answers.db";
    return Tuner(find_target("host").value(), options);
  }
  static Program program(const std::string& name = "p") {
    return parse_program("program " + name +
                         "(M = 24, N = 40, K = 16)\nin A: f32[M, K]\nin B: f32[K, N]\nlet T[i: M, j: N] = sum[k: K] "
                         "A[i, k] * B[k, j]\nlet S[0, j: N] = T[0, j]\nlet S[i: 1..M, j: N] = S[i-1, j] * 0.5 + T[i, "
                         "j]\nout C[i: M, j: N] = S[i, j]\n")
        .value();
  }
  /// Helpers that are none: whoever needs one fails.
  std::string no_helpers() const { return folder_ / "nowhere"; }
  static std::vector<unsigned char> object(Tuner& tuner, const Program& program) {
    const auto built = tuner.build(program, {}, Emit::object, "");
    return built ? built->bytes : std::vector<unsigned char>();
  }

  std::filesystem::path folder_;
};

TEST_F(FirstAnswer, a_later_process_takes_it_from_the_file_and_makes_the_same_code) {
  Tuner first = tuner();
  const auto code = object(first, program());
  ASSERT_FALSE(code.empty());
  Tuner later = tuner(no_helpers());
  EXPECT_EQ(object(later, program()), code) << "it asks nobody";
  EXPECT_FALSE(later.build(program("other"), {}, Emit::object, "")) << "of another program nothing is known";
}

TEST_F(FirstAnswer, the_same_object_asks_once) {
  Tuner once = tuner();
  const auto code = object(once, program());
  const size_t questions = once.timings().size();
  EXPECT_GT(questions, 3u);
  double before_ms = 0, after_ms = 0;
  for (const StageTime& stage : once.timings())
    if (stage.stage.rfind("isl", 0) == 0 || stage.stage == "ranking by the model") before_ms += stage.processor_ms;
  EXPECT_EQ(object(once, program()), code);
  for (const StageTime& stage : once.timings())
    if (stage.stage.rfind("isl", 0) == 0 || stage.stage == "ranking by the model") after_ms += stage.processor_ms;
  EXPECT_EQ(after_ms, before_ms);
}

TEST_F(FirstAnswer, helpers_that_were_ended_have_used_time_as_others_have) {
  TunerOptions options;
  options.helper_directory = PW_BINARY_DIR "/src/tools";
  options.isl_deadline = std::chrono::milliseconds(1);
  Tuner hasty(find_target("host").value(), options);
  for (const char* name : {"one", "other"}) {  // some hundred milliseconds each
    std::string text = std::string("program ") + name + "(T = 4, N = 20)\nin A: f64[N, N, N]\n" +
                       "let U[0, i: N, j: N, k: N] = A[i, j, k]\n";
    for (int colour = 0; colour < 8; ++colour) {
      const auto is = [&](const char* index, int bit) {
        return std::string(index) + " % 2 == " + std::to_string(colour >> bit & 1);
      };
      text += "let U[t: 1..T+1, i: 1..N-1, j: 1..N-1, k: 1..N-1] where " + is("i", 0) + " and " + is("j", 1) + " and " +
              is("k", 2) + " = U[t-1, i-1, j, k] + U[t-1, i+1, j, k] + U[t-1, i, j, k-1]\n";
    }
    text +=
        "let U[t: 1..T+1, i: N, j: N, k: N] where i == 0 or i == N-1 or j == 0 or j == N-1 or k == 0 or k == N-1 "
        "= U[t-1, i, j, k]\nout R[i: N, j: N, k: N] = U[T, i, j, k]\n";
    const auto slow = parse_program(text);
    ASSERT_TRUE(slow.ok()) << slow.error().message;
    EXPECT_FALSE(hasty.check(*slow).errors.empty());
  }
  for (const StageTime& stage : hasty.timings()) EXPECT_GE(stage.processor_ms, 0) << stage.stage;
}

TEST_F(FirstAnswer, programs_that_differ_in_names_get_their_own_symbols) {
  Tuner one = tuner();
  const auto object_of = [&](const std::string& name) {
    const auto bytes = object(one, program(name));
    return std::string(bytes.begin(), bytes.end());
  };
  const std::string first = object_of("one_name"), second = object_of("other_name");
  EXPECT_NE(first.find("one_name"), std::string::npos);
  EXPECT_NE(second.find("other_name"), std::string::npos);
  EXPECT_EQ(second.find("one_name"), std::string::npos);
}

TEST_F(FirstAnswer, another_secret_or_an_altered_file_makes_it_anew) {
  Tuner first = tuner();
  const auto code = object(first, program());
  std::fstream file(folder_ / "answers.db", std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(0, std::ios::end);
  for (std::streamoff at = 4096 + 64; at < file.tellg(); at += 251) {
    file.seekp(at);
    file.put('\x5a');
    file.seekg(0, std::ios::end);
  }
  file.close();
  Tuner cannot = tuner(no_helpers());
  EXPECT_FALSE(cannot.build(program(), {}, Emit::object, ""));
  Tuner again = tuner();
  EXPECT_EQ(object(again, program()), code);
  std::filesystem::remove(folder_ / "secret");
  Tuner stranger = tuner(no_helpers());
  EXPECT_FALSE(stranger.build(program(), {}, Emit::object, ""));
}

// Wherever somebody asks it to stop, the call ends, and the next one is whole.
TEST_F(FirstAnswer, who_stops_it_anywhere_gets_an_error_and_no_half_answer) {
  Tuner reference = tuner();
  const auto code = object(reference, program());
  std::filesystem::remove(folder_ / "answers.db");
  int stopped = 0;
  for (int asks = 1; asks <= 40; asks = 2 * asks + 1) {
    Tuner one = tuner();
    TaskOptions options;
    int asked = 0;
    options.cancelled = [&] { return ++asked >= asks; };
    const auto cut_off = one.build(program(), options, Emit::object, "");
    stopped += !cut_off;
    if (!cut_off) EXPECT_EQ(cut_off.error().code, "PW0839") << cut_off.error().message;
    EXPECT_EQ(object(one, program()), code) << "after " << asks;
    std::filesystem::remove(folder_ / "answers.db");
  }
  EXPECT_GT(stopped, 2);
}

TEST_F(FirstAnswer, a_search_that_is_stopped_anywhere_keeps_what_is_proven_or_says_that_there_is_nothing) {
  int kept = 0;
  for (int asks = 1; asks <= 300; asks = asks * 3 + 1) {
    TunerOptions with;
    with.helper_directory = PW_BINARY_DIR "/src/tools";
    with.database = folder_ / ("d" + std::to_string(asks) + ".db");
    Tuner one(find_target("host").value(), with);
    TuneOptions options;
    options.budget = TuneOptions::kNoLimit;
    options.trials = 12;
    int asked = 0;
    options.cancelled = [&] { return ++asked >= asks; };
    const auto report = one.tune(program(), options);
    if (!report) {
      EXPECT_EQ(report.error().code, "PW0839") << report.error().message;
      EXPECT_EQ(report.error().message.rfind("nothing was measured", 0), 0u) << report.error().message;
      continue;
    }
    ++kept;
    const auto served = one.best(program(), {});
    ASSERT_TRUE(served);
    const bool is_proven = report->record.certificate.verdict == Verdict::proven;
    EXPECT_EQ(served->has_value(), is_proven) << "what there was no time to prove is not served";
    EXPECT_TRUE(report->interrupted || report->reason == "trials") << report->reason;
  }
  EXPECT_GT(kept, 0);
}

TEST_F(FirstAnswer, a_deadline_of_nothing_ends_at_once) {
  Tuner one = tuner();
  TaskOptions options;
  options.deadline = std::chrono::milliseconds(1);
  const auto built = one.build(program(), options, Emit::object, "");
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, "PW0839");
}

}  // namespace
}  // namespace polyweft
