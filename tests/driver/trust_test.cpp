// What may be served: records that this host, or this process, has proven.
#include "driver/trust.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "support/helper_path.h"

namespace polyweft {
namespace {

constexpr const char* kRows =
    "program rows(M = 6, K = 24)\nin A: i32[M, K] values -99..99\nin B: i32[K] values -99..99\nout C[i: M] = sum[k: "
    "K](A[i, k] * B[k])\n";

class TrustTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-trust-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    program_ = *parse_program(kRows);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  TunerOptions options(const std::string& database, const std::string& host = "host") {
    TunerOptions out;
    if (!database.empty()) out.database = folder_ / database;
    out.secret = folder_ / host / "secret";
    out.notice = [this](const std::string& text) { notices_.push_back(text); };
    return out;
  }
  Tuner tuner(const std::string& database, const std::string& host = "host") {
    return Tuner(*find_target("host"), options(database, host));
  }
  TuningRecord searched(Tuner& by) {
    TuneOptions tune;
    tune.trials = 1;
    auto report = by.tune(program_, tune);
    PW_CHECK(report.ok());
    return report->record;
  }
  /// Stored as the fastest of its task.
  int64_t forged(TuningRecord record, const std::string& nest) {
    record.nest_text = nest;
    record.measurement.timing.median_ns = fastest_ns_ *= 0.9;
    auto id = (*open_database(folder_ / "s.db"))->insert(record);
    PW_CHECK(id.ok());
    return *id;
  }
  std::filesystem::path folder_;
  Program program_;
  std::vector<std::string> notices_;
  double fastest_ns_ = 10;
};

struct Edit {
  const char *from, *to, *why;
};

// One row each of what an edited nest may be: no nest, no rule kept, a wrong value, an access outside. All are refused
// by a code, none is an internal error.
TEST_F(TrustTest, edited_nests_are_refused_by_code) {
  auto first = tuner("s.db");
  const TuningRecord record = searched(first);
  TaskOptions base;
  base.trace = "trace 1\n";
  const std::string nest = *first.show(program_, base, ShowStage::loops);
  const Edit edits[] = {
      {"k in 0 .. 24", "k in 0 .. 23", "PW0401"},
      {"A[i, k] *", "A[i, k + 100000000] *", "PW04"},
      {"B[k])", "A[i, k])", "PW0402"},
      {"accumulate sum: C[i] <- (A[i, k] * B[k])", "accumulate sum fused: C[i] <- A[i, k]", "PW0415"},
      {"accumulate sum: C", "accumulate sum fused: C", "PW0415"},
      {"0 .. 24 {", "0 .. 24 step 0 {", "PW0411"},
      {"0 .. 24 {", "0 .. 24 vector -1 {", "PW0410"},
      {"0 .. 6 {", "0 .. 6 axis \"\x1b[2J\" {", "PW0410"},
      {"class reassoc", "class strict", "PW0406"},
      {"param K = 24", "param K = 25", "PW04"},
      {"[6, 24] argument align 4 values -99 .. 99", "[6, 24] heap align 4", "PW04"},
      {"tensor 0", "tensor 9", "PW04"},
      {"compute 0(i, k)", "compute 7(i, k)", "PW04"},
      {"nest 1", "nest 2", "PW0410"},
      {"body {", "body { \xff", "PW0410"},
  };
  forged(record, nest);
  auto good = tuner("s.db");
  ASSERT_TRUE(good.compile(program_, {}).ok()) << "the nest is right before it is edited";
  for (const Edit& edit : edits) {
    SCOPED_TRACE(edit.to);
    const size_t at = nest.find(edit.from);
    ASSERT_NE(at, std::string::npos);
    std::string text = nest;
    const int64_t id = forged(record, text.replace(at, std::string(edit.from).size(), edit.to));
    auto fresh = tuner("s.db");
    const auto kernel = fresh.compile(program_, {});
    ASSERT_FALSE(kernel.ok());
    EXPECT_EQ(kernel.error().code, "PW0720");
    EXPECT_EQ(
        kernel.error().message.rfind(
            "record #" + std::to_string(id) + " is not served, its nest is not proven but refuted: " + edit.why, 0),
        0u)
        << kernel.error().message;
    EXPECT_EQ(fresh.tune(program_, {}).error().code, "PW0720");
    EXPECT_EQ(fresh.build(program_, {}, Emit::object, "").error().code, "PW0720");
    ASSERT_TRUE((*fresh.database())->erase(id, Erase::record).ok());
  }
}

TEST_F(TrustTest, a_value_that_was_edited_in_memory_is_proven_again) {
  auto by = tuner("");
  TuningRecord record = searched(by);
  EXPECT_TRUE(by.compile(record).ok());
  EXPECT_TRUE(notices_.empty()) << "what this process has proven itself is not proven again: " << notices_.front();
  auto other = tuner("");
  EXPECT_TRUE(other.compile(record).ok());
  EXPECT_EQ(notices_.size(), 1u) << "another process does not know";
  EXPECT_TRUE(other.compile(record).ok());
  EXPECT_EQ(notices_.size(), 1u) << "once in a process";
  record.key.binding[1] = 23;
  EXPECT_EQ(other.compile(record).error().code, "PW0720");
  record.key.binding = {6};
  EXPECT_EQ(other.compile(record).error().code, "PW0711");
  EXPECT_EQ(notices_.size(), 1u);
}

TEST_F(TrustTest, a_hit_with_an_attestation_asks_no_helper) {
  auto first = tuner("s.db");
  const TuningRecord record = searched(first);
  TunerOptions blind = options("s.db");
  blind.helper_directory = "/nowhere";
  Tuner second(*find_target("host"), blind);
  EXPECT_TRUE(second.compile(program_, {}).ok());
  EXPECT_TRUE(second.compile(record).ok());
  EXPECT_TRUE(second.best(program_, {})->has_value());
  TuneOptions again;
  again.trials = 1;
  EXPECT_TRUE(second.tune(program_, again)->hit);
  EXPECT_TRUE(notices_.empty());
  Tuner stranger(*find_target("host"), [&] {
    blind.secret = folder_ / "other/secret";
    return blind;
  }());
  EXPECT_EQ(stranger.compile(program_, {}).error().code, "PW0606") << "without one the checker must be asked";
}

TEST_F(TrustTest, what_an_older_checker_has_attested_is_proven_again_and_attested_anew) {
  auto by = tuner("s.db");
  const TuningRecord made = searched(by);
  Stored stored(folder_ / "s.db");
  IslClient isl({.helper = helper_program("polyweft-isl")});
  const auto task = *make_task(program_, {}, *find_target("host"));
  const TuningRecord record = **(*stored.open())->record(made.id);
  const auto trust = [&](int checker) {
    return Trust({folder_ / "host/secret", options("").notice, checker}, isl, stored);
  };
  EXPECT_EQ(trust(poly::kCheckerVersion).standing(record), Standing::attested);
  EXPECT_EQ(trust(poly::kCheckerVersion + 1).standing(record), Standing::unknown);
  EXPECT_TRUE(trust(poly::kCheckerVersion + 1).nest_of(task, record).ok());
  EXPECT_EQ(notices_.size(), 1u);
  EXPECT_EQ(trust(poly::kCheckerVersion + 1).standing(record), Standing::attested);
  EXPECT_EQ(trust(poly::kCheckerVersion).standing(record), Standing::unknown);
}

TEST_F(TrustTest, an_altered_row_is_proven_by_each_process_and_not_signed_as_it_stands) {
  auto by = tuner("s.db");
  TuningRecord record = searched(by);
  TuningRecord altered = **(*by.database())->record(record.id);
  altered.measurement.toolchain = "another";
  EXPECT_EQ(by.standing(altered), Standing::altered);
  EXPECT_TRUE(by.compile(altered).ok());
  EXPECT_TRUE(by.prove(altered).ok());
  EXPECT_EQ(by.standing(altered), Standing::altered);
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_NE(
      notices_[0].find(
          "and will be by every process: the row was changed after this host had proven it; see: polyweft db verify"),
      std::string::npos)
      << notices_[0];
}

// Made by a version that attested nothing, and whose keys said nothing of caches: a search begins with it, and who asks
// for it by number gets it.
TEST_F(TrustTest, a_record_of_schema_2_is_proven_once_and_served) {
  std::ifstream in(PW_SOURCE_DIR "/tests/db/schema_2.sql");
  const std::string sql{std::istreambuf_iterator<char>(in), {}};
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open((folder_ / "s.db").c_str(), &handle), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(handle);
  const auto tiny = *parse_program(
      "program tiny(N = 12)\nin  A: i32[N] values -100..100\nin  B: i32[N, N] values -100..100\nout C[i: N] = sum[k: "
      "N](A[k] * B[i, k])\n");
  for (int process = 0; process < 2; ++process) {
    Tuner tuner(*find_target("x86-64-v3"), options("s.db"));
    const auto hit = tuner.best(tiny, {});
    ASSERT_TRUE(hit.ok());
    EXPECT_FALSE(hit->has_value());
    const auto record = (*tuner.database())->record(4);
    ASSERT_TRUE(record.ok() && record->has_value());
    EXPECT_TRUE(tuner.show(**record, ShowStage::loops).ok());
  }
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_NE(notices_[0].find("and attested: this host had not proven it"), std::string::npos) << notices_[0];
}

TEST_F(TrustTest, a_search_that_could_not_store_its_record_does_not_begin) {
  const auto path = folder_ / "no/such/folder/s.db";
  TunerOptions lost = options("");
  lost.database = path;
  Tuner tuner(*find_target("host"), lost);
  int events = 0;
  TuneOptions tune;
  tune.progress = [&](const TuneProgress&) { ++events; };
  const auto report = tuner.tune(program_, tune);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, "PW0724");
  EXPECT_EQ(events, 0);
  EXPECT_EQ(tuner.compile(program_, {}).error().code, "PW0724") << "whoever looks hears the same";
  lost.may_miss_database = true;
  EXPECT_TRUE(Tuner(*find_target("host"), lost).compile(program_, {}).ok()) << "a kernel needs no database";
}

}  // namespace
}  // namespace polyweft
