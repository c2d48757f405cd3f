// What searches of a task have spent adds up, over processes and interruptions, and a damaged row says nothing.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>

#include "polyweft/database.h"
#include "record_fixture.h"

namespace polyweft {
namespace {

class EffortTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-effort-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::unique_ptr<Database> open() { return open_database(folder_ / "a.db").value(); }
  void execute(const std::string& sql) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open((folder_ / "a.db").c_str(), &handle), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(handle);
  }
  static Status add(Database& database, const TuningRecord& r, const std::vector<std::string>& traces,
                    const SearchEffort& spent) {
    std::vector<std::pair<std::string, Measurement>> rows;
    for (const auto& trace : traces) {
      rows.emplace_back(trace, r.measurement);
      rows.back().second.nest_hash = "hash of " + trace;
    }
    return database.add_measurements(r.key, r.canonical_text, r.program_text, rows, spent);
  }
  std::filesystem::path folder_;
};

TEST_F(EffortTest, it_adds_up_by_task) {
  const TuningRecord one = numbered_record(1), two = numbered_record(2);
  EXPECT_EQ(*open()->effort(one.key), SearchEffort{});
  ASSERT_TRUE(add(*open(), one, {"a", "b"}, {1.5, 2, 0, ""}));
  ASSERT_TRUE(add(*open(), one, {}, {0.25, 0, 0.5, "polyweft 1"}));
  ASSERT_TRUE(add(*open(), two, {"a"}, {7, 1, 0, ""}));
  ASSERT_TRUE(add(*open(), one, {"c"}, {1, 1, 0.25, ""}));
  EXPECT_EQ(*open()->effort(one.key), (SearchEffort{2.75, 3, 0.5, "polyweft 1"}));
  EXPECT_EQ(*open()->effort(two.key), (SearchEffort{7, 1, 0, ""}));
  TuningRecord other = one;
  other.key.threads = 2;
  EXPECT_EQ(*open()->effort(other.key), SearchEffort{});
  EXPECT_TRUE(open()->integrity()->empty());
}

TEST_F(EffortTest, of_a_task_without_a_row_the_measured_candidates_count) {
  const TuningRecord one = numbered_record(1);
  TuningRecord base = one;
  base.measurement.strategy = "base";
  ASSERT_TRUE(add(*open(), one, {"a", "b", "c"}, {}));
  ASSERT_TRUE(add(*open(), one, {"b"}, {}));
  ASSERT_TRUE(add(*open(), base, {"trace 1"}, {}));
  EXPECT_EQ(*open()->effort(one.key), (SearchEffort{0, 3, 0, ""})) << "three nests, of which one was measured twice";
  ASSERT_TRUE(add(*open(), one, {"d"}, {2, 1, 0, ""}));
  EXPECT_EQ(*open()->effort(one.key), (SearchEffort{2, 4, 0, ""}));
}

TEST_F(EffortTest, of_a_file_of_schema_1_too) {
  std::ifstream in(PW_SOURCE_DIR "/tests/db/schema_1.sql");
  execute({std::istreambuf_iterator<char>(in), {}});
  auto database = open();
  EXPECT_GT(database->effort(numbered_record(1).key)->trials, 0);
  EXPECT_EQ(database->effort(numbered_record(1).key)->wall_s, 0);
}

TEST_F(EffortTest, a_damaged_row_says_nothing_and_is_reported) {
  const TuningRecord one = numbered_record(1);
  ASSERT_TRUE(add(*open(), one, {"a"}, {60, 400, 0, ""}));
  execute("UPDATE effort SET wall_s = 6000.0");
  EXPECT_EQ(*open()->effort(one.key), SearchEffort{});
  EXPECT_EQ(*open()->integrity(), std::vector<std::string>{"effort of task #1 does not match its digest"});
  ASSERT_TRUE(add(*open(), one, {"b"}, {1, 1, 0, ""}));
  EXPECT_EQ(*open()->effort(one.key), (SearchEffort{1, 1, 0, ""}));
}

}  // namespace
}  // namespace polyweft
