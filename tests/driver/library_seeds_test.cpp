// The library and users' folders in searches: templates beside the rules', seeds, what is left out and why.
#include "driver/library_seeds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "driver/trace_library.h"
#include "polyweft/cost_model.h"

namespace polyweft {
namespace {

const char* const kLines =
    "program lines(R = 90, C = 70, D = 50)\nin left: f32[R, D]\nin right: f32[D, C]\nout both[r: R, c: C] = sum[d: D] "
    "left[r, d] * right[d, c]\n";
const char* const kOwnTrace =
    "trace 1\n  tile C [j: 32, i: 3]\n  permute C [i.1, j.1, k, i, j]\n  accumulate C at j.1 reg\n  unroll C i\n  "
    "vectorize C j 8\n";
const char* const kOwnProgram =
    "#| program p(M = 96, N = 64, K = 32)\n#| in A: f32[M, K]\n#| in B: f32[K, N]\n#| out C[i: M, j: N] = sum[k: K] "
    "A[i, "
    "k] * B[k, j]\n";

class LibrarySeedsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-seeds-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    options_.trials = 14;
    options_.budget = TuneOptions::kNoLimit;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  Result<LibrarySeeds> seeds(const std::string& target, const char* program = kLines) const {
    const Target machine = find_target(target).value();
    const Task task = make_task(parse_program(program).value(), options_, machine).value();
    return library_seeds(task, {machine, schedules::Isl{}, options_});
  }
  /// The traces of all trials.
  std::string tried() {
    std::string out;
    options_.progress = [&](const TuneProgress& p) {
      if (p.event == TuneEvent::trial) out += p.trace;
    };
    TunerOptions tuner;
    tuner.helper_directory = PW_BINARY_DIR "/src/tools";
    const auto report = Tuner(find_target("host").value(), tuner).tune(parse_program(kLines).value(), options_);
    EXPECT_TRUE(report) << report.error().message;
    if (report) report_ = *report;
    return out;
  }
  std::filesystem::path folder_;
  TuneOptions options_;
  TuneReport report_;
};

TEST_F(LibrarySeedsTest, are_nests_of_their_templates_the_best_predicted_first) {
  ASSERT_FALSE(library_folder(find_target("host")->machine).empty());
  for (const std::string target : {"x86-64-v4", "x86-64-v3"}) {
    const auto found = seeds(target);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_TRUE(found->warnings.empty());
    ASSERT_FALSE(found->templates.empty());
    EXPECT_LE(found->templates.size(), kMostSeedTemplates);
    ASSERT_FALSE(found->seeds.empty());
    EXPECT_LE(found->seeds.size(), kMostSeeds);
    std::set<std::string> hashes;
    for (const Candidate& seed : found->seeds) {
      const auto nest = instantiate(found->templates.at(seed.sketch), seed.decisions);
      ASSERT_TRUE(nest) << nest.error().message;
      EXPECT_EQ(hash(*nest), seed.nest_hash);
      EXPECT_TRUE(hashes.insert(seed.nest_hash).second);
      EXPECT_GT(seed.predicted_ns, 0);
    }
    EXPECT_TRUE(std::is_sorted(found->seeds.begin(), found->seeds.end(),
                               [](const Candidate& a, const Candidate& b) { return a.predicted_ns < b.predicted_ns; }));
    const std::string trace = found->templates.front().trace.text();
    EXPECT_NE(trace.find(target == "x86-64-v4" ? "vectorize both c 16" : "vectorize both c 8"), std::string::npos)
        << trace;
  }
}

TEST_F(LibrarySeedsTest, of_several_threads_are_parallel) {
  options_.threads = 2;
  const auto found = seeds("x86-64-v4");
  ASSERT_TRUE(found && !found->templates.empty());
  for (const NestTemplate& made : found->templates)
    EXPECT_NE(made.trace.text().find("parallel both "), std::string::npos) << made.trace.text();
}

TEST_F(LibrarySeedsTest, are_measured_in_a_search_that_uses_the_library_and_in_no_other) {
  EXPECT_NE(tried().find("decide tile_"), std::string::npos);
  EXPECT_GT(report_.seeds, 0);
  options_.uses_library = false;
  EXPECT_EQ(tried().find("decide tile_"), std::string::npos);
  EXPECT_EQ(report_.seeds, 0);
}

TEST_F(LibrarySeedsTest, a_folder_of_traces_is_used_the_same_way) {
  options_.uses_library = false;
  options_.seeds = folder_;
  write("mine.trace", std::string("# by hand\n") + kOwnProgram + kOwnTrace);
  write("other.trace",
        "#| program q(N = 9)\n#| in X: f32[N]\n#| out Y[i: N] = X[i] + X[i]\ntrace 1\n  vectorize Y i 8\n");
  write("notes.txt", "not a trace");
  const std::string traces = tried();
  EXPECT_NE(traces.find("permute both [r.1, c.1, d, r, c]"), std::string::npos) << traces;
  EXPECT_EQ(report_.seeds, 1);
  EXPECT_TRUE(report_.warnings.empty());
}

TEST_F(LibrarySeedsTest, a_folder_that_cannot_be_read_ends_the_search) {
  options_.seeds = folder_ / "none";
  auto found = seeds("x86-64-v4");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, "PW0010");
  EXPECT_EQ(found.error().message, "--seeds " + options_.seeds + ": cannot be read: No such file or directory");
  options_.seeds = folder_;
  found = seeds("x86-64-v4");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "--seeds " + options_.seeds + ": has no file NAME.trace");
}

TEST_F(LibrarySeedsTest, a_file_of_no_use_is_a_warning) {
  options_.uses_library = false;
  options_.seeds = folder_;
  write("a.trace", kOwnTrace);
  write("b.trace", "#| program p(N = 4)\n#| in X: f32[N]\n#| out Y[i: N] = Z[i]\ntrace 1\n");
  write("c.trace", std::string(kOwnProgram) + "trace 1\n  tile C [j: ]\n");
  write("d.trace", std::string(kOwnProgram) + "trace 1\n  accumulate C at q reg\n");
  write("e.trace", std::string(kOwnProgram) + kOwnTrace);
  const auto found = seeds("x86-64-v4");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->templates.size(), 1u);
  ASSERT_EQ(found->warnings.size(), 4u);
  const std::string at = folder_.string() + "/";
  EXPECT_EQ(found->warnings[0], at + "a.trace: left out: it holds no program in lines that begin with '#| ' [PW0011]");
  EXPECT_EQ(found->warnings[1].rfind(at + "b.trace: left out: its program, line 3: ", 0), 0u) << found->warnings[1];
  EXPECT_EQ(found->warnings[2].rfind(at + "c.trace: left out: line 6: trace: ", 0), 0u) << found->warnings[2];
  EXPECT_EQ(found->warnings[3].rfind(at + "d.trace: left out: ", 0), 0u) << found->warnings[3];
}

}  // namespace
}  // namespace polyweft
