#include "polyweft/database.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "db/record_fixture.h"

namespace polyweft {
namespace {

std::string text_of(const char* path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class DatabaseTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "polyweft-db-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ / "schedules.db";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::unique_ptr<Database> open() {
    auto database = open_database(path_);
    EXPECT_TRUE(database.ok()) << database.error().message;
    return std::move(database).value();
  }
  void execute(const std::string& sql) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &handle), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << (message ? message : "");
    sqlite3_close(handle);
  }
  std::filesystem::path folder_, path_;
};

TEST_F(DatabaseTest, a_stored_record_comes_back_whole) {
  const TuningRecord stored = numbered_record(1);
  auto id = open()->insert(stored);
  ASSERT_TRUE(id.ok()) << id.error().message;
  auto best = open()->best(stored.key, stored.canonical_text);
  ASSERT_TRUE(best.ok()) << best.error().message;
  ASSERT_TRUE(best->has_value());
  const TuningRecord& r = **best;
  EXPECT_EQ(r.id, *id);
  EXPECT_EQ(r.key, stored.key);
  EXPECT_EQ(r.trace_text, stored.trace_text);
  EXPECT_EQ(r.nest_text, stored.nest_text);
  EXPECT_EQ(r.program_text, stored.program_text);
  EXPECT_EQ(r.certificate, stored.certificate);
  EXPECT_EQ(r.measurement.timing.median_ns, stored.measurement.timing.median_ns);
  EXPECT_EQ(r.measurement.toolchain, stored.measurement.toolchain);
}

TEST_F(DatabaseTest, best_is_the_fastest_proven_correct_record) {
  auto database = open();
  TuningRecord slow = numbered_record(3), fast = slow, unproven = slow, wrong = slow;
  fast.measurement.timing.median_ns = 500;
  unproven.measurement.timing.median_ns = 100;
  unproven.certificate.verdict = Verdict::not_proven;
  wrong.measurement.timing.median_ns = 50;
  wrong.measurement.status = RunStatus::wrong_result;
  for (const auto& r : {slow, unproven, fast, wrong}) ASSERT_TRUE(database->insert(r).ok());
  auto best = database->best(slow.key, slow.canonical_text);
  ASSERT_TRUE(best.ok() && best->has_value());
  EXPECT_EQ((*best)->measurement.timing.median_ns, 500);
}

TEST_F(DatabaseTest, every_field_of_the_key_separates_records) {
  auto database = open();
  const TuningRecord stored = numbered_record(1);
  ASSERT_TRUE(database->insert(stored).ok());
  std::vector<TaskKey> others(5, stored.key);
  others[0].binding[0] = 513;
  others[1].cls = NumericsClass::strict;
  others[2].target = "x86-64/avx2";
  others[3].threads = 2;
  others[4].abi = 2;
  for (const auto& key : others) {
    auto best = database->best(key, stored.canonical_text);
    ASSERT_TRUE(best.ok());
    EXPECT_FALSE(best->has_value());
  }
}

TEST_F(DatabaseTest, a_colliding_key_never_serves_another_program) {
  auto database = open();
  const TuningRecord stored = numbered_record(1);
  ASSERT_TRUE(database->insert(stored).ok());
  auto best = database->best(stored.key, "another canonical text");
  ASSERT_TRUE(best.ok());
  EXPECT_FALSE(best->has_value());
}

TEST_F(DatabaseTest, a_miss_names_the_nearest_record_and_what_differs) {
  auto database = open();
  TuningRecord near = numbered_record(1), far = numbered_record(1);
  near.key.binding = {500, 1, 64};
  far.key.binding = {8, 1, 64};
  auto near_id = database->insert(near);
  ASSERT_TRUE(database->insert(far).ok());
  auto nearest = database->nearest(numbered_record(1).key);
  ASSERT_TRUE(nearest.ok() && nearest->has_value());
  EXPECT_EQ((*nearest)->id, *near_id);
  EXPECT_EQ((*nearest)->differs_in, "binding");
}

TEST_F(DatabaseTest, measurements_keep_failures_and_come_back_in_order) {
  auto database = open();
  const TuningRecord task = numbered_record(1);
  Measurement failed = task.measurement;
  failed.status = RunStatus::hang;
  failed.detail = "no answer for 3 s";
  ASSERT_TRUE(database->add_measurements(task.key, task.canonical_text, task.program_text, {{"trace a", task.measurement}, {"trace b", failed}}).ok());
  auto rows = database->measurements(task.key);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].first, "trace a");
  EXPECT_EQ((*rows)[1].second.status, RunStatus::hang);
  EXPECT_EQ((*rows)[1].second.detail, failed.detail);
  EXPECT_EQ(database->stats()->failures, 1);
}

TEST_F(DatabaseTest, a_damaged_row_is_an_error_and_never_a_record) {
  const TuningRecord stored = numbered_record(1);
  ASSERT_TRUE(open()->insert(stored).ok());
  execute("UPDATE record SET nest = replace(nest, 'text', 'tixt')");
  auto database = open();
  auto best = database->best(stored.key, stored.canonical_text);
  ASSERT_FALSE(best.ok());
  EXPECT_EQ(best.error().code, "PW0708");
  auto problems = database->integrity();
  ASSERT_TRUE(problems.ok());
  ASSERT_EQ(problems->size(), 1u);
  EXPECT_EQ(problems->front(), "record #1 does not match its digest");
}

TEST_F(DatabaseTest, a_foreign_file_is_refused_and_left_alone) {
  execute("CREATE TABLE recipes (id INTEGER)");
  auto database = open_database(path_);
  ASSERT_FALSE(database.ok());
  EXPECT_EQ(database.error().code, "PW0701");
  EXPECT_EQ(database.error().message, "database " + path_.string() + ": not a Polyweft database: it has no program");
}

TEST_F(DatabaseTest, a_file_with_a_trigger_is_refused) {
  open();
  execute("CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END");
  auto database = open_database(path_);
  ASSERT_FALSE(database.ok());
  EXPECT_EQ(database.error().code, "PW0701");
}

TEST_F(DatabaseTest, a_file_of_schema_1_is_rewritten_and_loses_nothing) {
  execute(text_of(PW_SOURCE_DIR "/tests/db/schema_1.sql"));
  auto database = open();
  TuningRecord first = numbered_record(1), second = numbered_record(2);
  auto found = database->best(first.key, first.canonical_text);
  ASSERT_TRUE(found.ok() && found->has_value());
  first.id = (*found)->id;
  EXPECT_EQ((*found)->trace_text, first.trace_text);
  EXPECT_EQ((*found)->nest_text, first.nest_text);
  EXPECT_EQ((*found)->measurement.timing.ratio, first.measurement.timing.ratio);
  EXPECT_EQ((*found)->certificate.check_ms, first.certificate.check_ms);
  auto proven = database->best(second.key, second.canonical_text);
  ASSERT_TRUE(proven.ok() && proven->has_value());
  EXPECT_EQ((*proven)->measurement.timing.median_ns, second.measurement.timing.median_ns) << "the faster one of the file is not proven";
  EXPECT_EQ(database->list(10, 0)->size(), 3u);
  EXPECT_EQ(database->measurements(first.key)->size(), 2u);
  EXPECT_EQ(database->stats()->schema, 3);
  EXPECT_TRUE(database->integrity()->empty());
  EXPECT_TRUE(database->insert(numbered_record(3)).ok());
  database.reset();
  EXPECT_TRUE(open()->integrity()->empty()) << "the second opening finds schema 3";
}

TEST_F(DatabaseTest, a_file_that_calls_itself_schema_1_and_is_not_is_left_alone) {
  execute("CREATE TABLE recipes (id INTEGER); PRAGMA user_version = 1");
  EXPECT_FALSE(open_database(path_).ok());
  execute(text_of(PW_SOURCE_DIR "/tests/db/schema_1.sql") + "CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END; DROP TABLE recipes;");
  auto database = open_database(path_);
  ASSERT_FALSE(database.ok());
  EXPECT_EQ(database.error().code, "PW0701");
  execute("UPDATE record SET origin = 'local'; DROP TRIGGER t");
  EXPECT_EQ(open()->list(10, 0)->size(), 3u);
}

TEST_F(DatabaseTest, a_newer_schema_is_refused) {
  open();
  execute("PRAGMA user_version = 99");
  auto database = open_database(path_);
  ASSERT_FALSE(database.ok());
  EXPECT_EQ(database.error().code, "PW0702");
}

TEST_F(DatabaseTest, a_file_that_is_no_database_is_refused) {
  std::ofstream(path_) << std::string(5000, 'x');
  auto database = open_database(path_);
  ASSERT_FALSE(database.ok());
  EXPECT_EQ(database.error().code, "PW0706");
}

// Writes records numbered from `first` and reports each number after its commit.
[[noreturn]] void write_for_ever(const std::string& path, int acknowledge, int first) {
  auto database = open_database(path);
  if (!database) _exit(3);
  for (int number = first;; ++number) {
    if (!(*database)->insert(numbered_record(number))) _exit(4);
    if (write(acknowledge, &number, sizeof number) != sizeof number) _exit(5);
    if (number % 4 == 0) usleep(1500);  // keeps the file small; most kills still fall into a commit
  }
}

struct Writer {
  pid_t pid = 0;
  int acknowledged = -1;
};
Writer start_writer(const std::string& path, int first) {
  int ends[2];
  PW_CHECK(pipe(ends) == 0);
  const pid_t pid = fork();
  if (pid == 0) write_for_ever(path, ends[1], first);
  close(ends[1]);
  return {pid, ends[0]};
}

TEST_F(DatabaseTest, a_hundred_kills_of_three_writers_lose_no_acknowledged_row) {
  std::set<int> acknowledged;
  int next_block = 0;
  const auto start = [&] { return start_writer(path_, 1 + 100'000 * next_block++); };
  std::vector<Writer> writers = {start(), start(), start()};
  const auto reap = [&](Writer& writer) {
    kill(writer.pid, SIGKILL);
    int status = 0;
    waitpid(writer.pid, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "a writer ended by itself with " << WEXITSTATUS(status);
    for (int number = 0; read(writer.acknowledged, &number, sizeof number) == sizeof number;) acknowledged.insert(number);
    close(writer.acknowledged);
  };
  for (int kills = 0; kills < 100; ++kills) {
    int number = 0;
    Writer& victim = writers[static_cast<size_t>(kills) % writers.size()];
    if (read(victim.acknowledged, &number, sizeof number) == sizeof number) acknowledged.insert(number);
    reap(victim);
    victim = start();
  }
  for (auto& writer : writers) reap(writer);
  auto database = open();
  EXPECT_TRUE(database->integrity()->empty());
  for (int number : acknowledged) {
    const TuningRecord expected = numbered_record(number);
    auto best = database->best(expected.key, expected.canonical_text);
    ASSERT_TRUE(best.ok() && best->has_value()) << "record " << number << " was acknowledged and is lost";
  }
  EXPECT_GE(acknowledged.size(), 100u);
}

}  // namespace
}  // namespace polyweft
