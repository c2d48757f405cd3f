#include "polyweft/database.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <set>

#include "db/database_fixture.h"

namespace polyweft {
namespace {

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

TEST_F(DatabaseTest, what_nobody_had_time_to_prove_is_served_where_nothing_is_proven) {
  auto database = open();
  TuningRecord unchecked = numbered_record(3), proven = unchecked;
  unchecked.measurement.timing.median_ns = 100;
  unchecked.certificate.verdict = Verdict::not_checked;
  proven.measurement.timing.median_ns = 900;
  ASSERT_TRUE(database->insert(unchecked).ok());
  EXPECT_EQ(database->best(unchecked.key, unchecked.canonical_text)->value().measurement.timing.median_ns, 100);
  ASSERT_TRUE(database->insert(proven).ok());
  EXPECT_EQ(database->best(unchecked.key, unchecked.canonical_text)->value().measurement.timing.median_ns, 900);
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
  ASSERT_TRUE(database
                  ->add_measurements(task.key, task.canonical_text, task.program_text,
                                     {{"trace a", task.measurement}, {"trace b", failed}})
                  .ok());
  auto rows = database->measurements(task.key);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].first, "trace a");
  EXPECT_EQ((*rows)[1].second.status, RunStatus::hang);
  EXPECT_EQ((*rows)[1].second.detail, failed.detail);
  EXPECT_EQ(database->stats()->failures, 1);
}

TEST_F(DatabaseTest, samples_and_what_they_were_taken_beside_come_back) {
  const TuningRecord task = numbered_record(1);
  Measurement first = task.measurement, second = task.measurement;
  first.timing.ratio = 0;
  first.timing.samples_ns = {3, 1.5F, 2};
  second.nest_hash = "another";
  second.beside = first.nest_hash;
  second.timing.ratio = 0.9;
  second.timing.ratio_lo = 0.8;
  second.timing.ratio_hi = 1e9;
  second.timing.samples_ns = {1, 2};
  second.timing.beside_ns = {1.25F, 2.5F};
  ASSERT_TRUE(open()
                  ->add_measurements(task.key, task.canonical_text, task.program_text,
                                     {{"trace a", first}, {"trace b", second}})
                  .ok());
  auto rows = open()->measurements(task.key);
  ASSERT_TRUE(rows.ok() && rows->size() == 2);
  const Measurement &a = (*rows)[0].second, &b = (*rows)[1].second;
  EXPECT_EQ(a.beside, "");
  EXPECT_EQ(a.timing.samples_ns, first.timing.samples_ns);
  EXPECT_TRUE(a.timing.beside_ns.empty());
  EXPECT_EQ(b.beside, first.nest_hash);
  EXPECT_EQ(b.timing.ratio, 0.9);
  EXPECT_EQ(b.timing.ratio_lo, 0.8);
  EXPECT_EQ(b.timing.ratio_hi, 1e9);
  EXPECT_EQ(b.timing.samples_ns, second.timing.samples_ns);
  EXPECT_EQ(b.timing.beside_ns, second.timing.beside_ns);
  EXPECT_TRUE(open()->integrity()->empty());
  for (const char* change : {"beside = 'other'", "ratio_lo = 0.85", "ratio_hi = 1", "samples_ns = beside_ns",
                             "beside_ns = x'00'", "digest = zeroblob(16)"}) {
    SCOPED_TRACE(change);
    const std::string copy = path_.string() + ".copy";
    std::filesystem::copy_file(path_, copy, std::filesystem::copy_options::overwrite_existing);
    execute(std::string("UPDATE pairs SET ") + change + " WHERE measurement = 2");
    EXPECT_EQ(*open()->integrity(), std::vector<std::string>{"pairs of measurement #2 do not match their digest"});
    rows = open()->measurements(task.key);
    ASSERT_TRUE(rows.ok() && rows->size() == 2);
    EXPECT_EQ((*rows)[1].second.beside, "") << "what is damaged is beside nothing";
    std::filesystem::copy_file(copy, path_, std::filesystem::copy_options::overwrite_existing);
  }
}

TEST_F(DatabaseTest, erased_measurements_take_their_samples_along) {
  TuningRecord record = numbered_record(1);
  record.measurement.beside = "another";
  record.measurement.timing.samples_ns = {1};
  auto database = open();
  const int64_t id = *database->insert(record);
  ASSERT_TRUE(
      database
          ->add_measurements(record.key, record.canonical_text, record.program_text, {{"trace b", record.measurement}})
          .ok());
  ASSERT_TRUE(database->erase(id, Erase::record_and_measurements).ok());
  EXPECT_TRUE(database->measurements(record.key)->empty());
  EXPECT_TRUE(database->integrity()->empty());
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

struct Change {
  const char* sql;
  const char* problem;
};
// Of each a digest may fit: what two rows say of one thing must agree all the same.
TEST_F(DatabaseTest, integrity_finds_a_change_of_every_column_that_is_said_twice) {
  const Change changes[] = {
      {"UPDATE record SET key = zeroblob(16)", "record #1 has another task's key"},
      {"UPDATE record SET program = 2 WHERE id = 1", "record #1 has another task's key"},
      {"UPDATE record SET key = (SELECT key FROM record WHERE id = 2) WHERE id = 1",
       "record #1 has another task's key"},
      {"UPDATE certificate SET verdict = 3 WHERE record = 1",
       "record #1 differs from its trace, measurement or certificate"},
      {"UPDATE record SET check_ms = 99 WHERE id = 1", "record #1 differs from its trace, measurement or certificate"},
      {"DELETE FROM certificate WHERE record = 1", "record #1 differs from its trace, measurement or certificate"},
      {"UPDATE record SET trace = 2 WHERE id = 1", "record #1 differs from its trace, measurement or certificate"},
      {"UPDATE trace SET digest = zeroblob(16) WHERE id = 1", "trace #1 does not match its digest"},
      {"UPDATE binding SET parameters = '0512,1,64' WHERE id = 1", "binding #1 is no list of integers"},
      {"INSERT INTO attestation VALUES (1, x'00', 1, x'00')", "record #1 has an attestation that no host makes"},
  };
  for (const Change& change : changes) {
    SCOPED_TRACE(change.sql);
    std::filesystem::remove(path_);
    for (int number : {1, 2}) ASSERT_TRUE(open()->insert(numbered_record(number)).ok());
    ASSERT_TRUE(open()->integrity()->empty());
    execute(change.sql);
    const auto problems = open()->integrity();
    ASSERT_TRUE(problems.ok());
    EXPECT_NE(std::find(problems->begin(), problems->end(), change.problem), problems->end())
        << (problems->empty() ? "none" : problems->front());
  }
}

TEST_F(DatabaseTest, hosts_that_share_a_file_never_overwrite_each_other) {
  auto database = open();
  ASSERT_TRUE(database->insert(numbered_record(1)).ok());
  const Attestation one{std::string(16, '1'), 1, std::string(32, 'a')},
      other{std::string(16, '2'), 1, std::string(32, 'b')};
  Attestation newer = one;
  newer.checker_version = 2;
  for (const Attestation& each : {one, other, newer}) ASSERT_TRUE(database->attest(1, each).ok());
  EXPECT_EQ(database->attestation(1, one.host)->value(), newer) << "a host replaces its own";
  EXPECT_EQ(database->attestation(1, other.host)->value(), other);
  EXPECT_FALSE(database->attest(2, one).ok()) << "there is no record 2";
}

TEST_F(DatabaseTest, an_erased_record_leaves_what_was_measured_unless_asked) {
  auto database = open();
  const TuningRecord kept = numbered_record(1), gone = numbered_record(2);
  for (const auto& record : {kept, gone}) ASSERT_TRUE(database->insert(record).ok());
  ASSERT_TRUE(database->attest(2, {std::string(16, '1'), 1, std::string(32, 'a')}).ok());
  ASSERT_TRUE(database->erase(2, Erase::record).ok());
  EXPECT_FALSE(database->record(2)->has_value());
  EXPECT_EQ(database->measurements(gone.key)->size(), 1u);
  ASSERT_TRUE(database->insert(gone).ok());
  ASSERT_TRUE(database->erase(2, Erase::record_and_measurements).ok());
  EXPECT_TRUE(database->measurements(gone.key)->empty());
  EXPECT_TRUE(database->record(1)->has_value());
  EXPECT_EQ(database->erase(2, Erase::record).error().code, "PW0710");
  EXPECT_TRUE(database->integrity()->empty());
}

TEST_F(DatabaseTest, a_list_takes_what_its_filter_says) {
  auto database = open();
  for (int number = 1; number <= 6; ++number) {
    TuningRecord record = numbered_record(number);
    record.key.cls = number % 2 ? NumericsClass::strict : NumericsClass::reassoc;
    record.key.threads = number;
    record.origin = number == 3 ? "imported" : "local";
    if (number == 4) record.certificate.verdict = Verdict::not_proven;
    if (number == 5) record.key.target = "aarch64/neon";
    ASSERT_TRUE(database->insert(record).ok());
  }
  const auto numbers = [&](const RecordFilter& filter) {
    std::vector<int64_t> out;
    const auto rows = database->list(filter);
    for (const auto& record : *rows) out.push_back(record.id);
    return out;
  };
  using Ids = std::vector<int64_t>;
  EXPECT_EQ(numbers({}), (Ids{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(numbers({.program = "p2"}), Ids{2});
  EXPECT_EQ(numbers({.program = std::string(31, 'a') + "6"}), Ids{6});
  EXPECT_EQ(numbers({.program = "aaaa", .limit = 2, .offset = 1}), (Ids{2, 3}));
  EXPECT_EQ(numbers({.program = "p%"}), Ids{});
  EXPECT_EQ(numbers({.cls = NumericsClass::strict}), (Ids{1, 3, 5}));
  EXPECT_EQ(numbers({.threads = 4}), Ids{4});
  EXPECT_EQ(numbers({.target = "aarch64"}), Ids{5});
  EXPECT_EQ(numbers({.origin = "imported"}), Ids{3});
  EXPECT_EQ(numbers({.verdict = Verdict::not_proven}), Ids{4});
}

TEST_F(DatabaseTest, an_imported_record_is_not_served_until_it_was_measured_here) {
  auto database = open();
  TuningRecord record = numbered_record(1);
  record.origin = "imported";
  ASSERT_TRUE(database->insert(record).ok());
  EXPECT_FALSE(database->best(record.key, record.canonical_text)->has_value());
  record.origin = "adopted";
  ASSERT_TRUE(database->insert(record).ok());
  EXPECT_TRUE(database->best(record.key, record.canonical_text)->has_value());
}

TEST_F(DatabaseTest, a_path_that_is_mistyped_makes_nothing) {
  EXPECT_EQ(open_database(path_, Missing::refuse).error().message,
            "database " + path_.string() + ": there is no such file");
  const auto deep = folder_ / "no/such/folder/schedules.db";
  const auto refused = open_database(deep);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "PW0724");
  EXPECT_EQ(refused.error().message,
            "database " + deep.string() + ": there is no folder " + deep.parent_path().string());
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

// Values that no version writes: a digest that fits them cannot be made, and nothing is indexed by them.
TEST_F(DatabaseTest, values_outside_their_enumeration_are_damage) {
  for (const char* sql : {"UPDATE task SET class = 77", "UPDATE task SET class = -1", "UPDATE record SET verdict = 300",
                          "UPDATE record SET status = 4294967296", "UPDATE task SET threads = 1099511627776",
                          "UPDATE record SET samples = -9000000000"}) {
    SCOPED_TRACE(sql);
    std::filesystem::remove(path_);
    ASSERT_TRUE(open()->insert(numbered_record(1)).ok());
    execute(sql);
    auto database = open();
    EXPECT_FALSE(database->record(1).ok());
    EXPECT_EQ(database->list({})->size(), 1u);
    EXPECT_TRUE(database->stats().ok());
    EXPECT_FALSE(database->integrity()->empty());
  }
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
  EXPECT_EQ((*proven)->measurement.timing.median_ns, second.measurement.timing.median_ns)
      << "the faster one of the file is not proven";
  EXPECT_EQ(database->list({.limit = 10})->size(), 3u);
  EXPECT_EQ(database->measurements(first.key)->size(), 2u);
  EXPECT_EQ(database->stats()->schema, 6);
  EXPECT_TRUE(database->integrity()->empty());
  EXPECT_TRUE(database->insert(numbered_record(3)).ok());
  database.reset();
  EXPECT_TRUE(open()->integrity()->empty()) << "the second opening finds the new schema";
}

TEST_F(DatabaseTest, a_file_of_schema_2_is_rewritten_and_loses_nothing) {
  execute(text_of(PW_SOURCE_DIR "/tests/db/schema_2.sql"));
  auto database = open();
  const TuningRecord first = numbered_record(1);
  auto found = database->best(first.key, first.canonical_text);
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->nest_text, first.nest_text);
  EXPECT_EQ(database->list({.limit = 10})->size(), 4u);
  EXPECT_EQ(database->list({.program = "tiny"})->front().measurement.strategy, "evolve");
  EXPECT_EQ(database->stats()->schema, 6);
  EXPECT_TRUE(database->integrity()->empty());
  const Attestation mine{std::string(16, 'h'), 1, std::string(32, 'm')};
  EXPECT_FALSE(database->attestation(1, mine.host)->has_value()) << "nobody has attested what an older version stored";
  EXPECT_TRUE(database->attest(1, mine).ok());
  database.reset();
  EXPECT_EQ(open()->attestation(1, mine.host)->value(), mine);
}

TEST_F(DatabaseTest, a_file_of_schema_3_gets_attestations) {
  execute(text_of(PW_SOURCE_DIR "/tests/db/schema_3.sql"));
  auto database = open();
  EXPECT_EQ(database->stats()->schema, 6);
  EXPECT_EQ(database->list({})->size(), 4u);
  const TuningRecord tiny = database->list({.program = "tiny"})->front();
  EXPECT_EQ(database->effort(tiny.key)->trials, 40);
  EXPECT_TRUE(database->attest(1, {std::string(16, 'h'), 1, std::string(32, 'm')}).ok());
  EXPECT_TRUE(database->integrity()->empty());
}

// Keys of before do not say what caches hold: nothing asks for them any more, and they are found as what is nearest.
TEST_F(DatabaseTest, rows_of_schema_4_are_seeds) {
  execute(text_of(PW_SOURCE_DIR "/tests/db/schema_4.sql"));
  auto database = open();
  EXPECT_EQ(database->stats()->schema, 6);
  const TuningRecord tiny = database->list({.program = "tiny"})->front();
  EXPECT_EQ(database->attestation(tiny.id, std::string(16, 'h'))->value().mac, std::string(32, 'm'));
  EXPECT_EQ(database->effort(tiny.key)->wall_s, 12.5);
  TaskKey now = tiny.key;
  now.target = "x86-64/512/48K+2048K,avx512f";
  EXPECT_FALSE(database->best(now, tiny.canonical_text)->has_value());
  const auto nearest = database->nearest(now);
  ASSERT_TRUE(nearest.ok() && nearest->has_value());
  EXPECT_EQ((*nearest)->id, tiny.id);
  EXPECT_EQ((*nearest)->differs_in, "target");
  EXPECT_TRUE(database->probed_hosts()->empty());
  EXPECT_TRUE(database->integrity()->empty());
  database.reset();
  EXPECT_TRUE(open()->integrity()->empty());
}

TEST_F(DatabaseTest, rows_of_schema_5_were_timed_beside_nothing) {
  execute(text_of(PW_SOURCE_DIR "/tests/db/schema_5.sql"));
  auto database = open();
  EXPECT_EQ(database->stats()->schema, 6);
  const TuningRecord tiny = database->list({.program = "tiny"})->front();
  const auto rows = database->measurements(tiny.key);
  ASSERT_TRUE(rows.ok());
  EXPECT_FALSE(rows->empty());
  for (const auto& [trace, measurement] : *rows) {
    EXPECT_EQ(measurement.beside, "");
    EXPECT_TRUE(measurement.timing.samples_ns.empty());
  }
  EXPECT_TRUE(database->best(tiny.key, tiny.canonical_text)->has_value());
  EXPECT_TRUE(database->integrity()->empty());
}

TEST_F(DatabaseTest, keeps_the_last_probe_of_each_host) {
  auto database = open();
  const ProbedHost first{std::string(32, '1'), "here", "clock_ghz = 3\n", "polyweft 0.1.0", 1'790'000'000},
      other{std::string(32, '2'), "elsewhere", "clock_ghz = 2\n", "polyweft 0.1.0", 1};
  ProbedHost again = first;
  again.figures = "clock_ghz = 3.5\n";
  for (const ProbedHost& host : {first, other, again}) EXPECT_TRUE(database->set_probed(host).ok());
  EXPECT_EQ(database->probed(first.host)->value().figures, again.figures);
  EXPECT_FALSE(database->probed(std::string(32, '3'))->has_value());
  ASSERT_EQ(database->probed_hosts()->size(), 2u);
  EXPECT_EQ(database->probed_hosts()->front().name, "elsewhere");
  EXPECT_TRUE(database->integrity()->empty());
  execute("UPDATE probe SET figures = 'clock_ghz = 9' WHERE name = 'here'");
  EXPECT_FALSE(database->probed(first.host)->has_value()) << "it is measured again";
  ASSERT_EQ(database->integrity()->size(), 1u);
  EXPECT_EQ(database->integrity()->front(), "the probe of host " + first.host + " does not match its digest");
}

TEST_F(DatabaseTest, a_file_that_calls_itself_schema_1_and_is_not_is_left_alone) {
  execute("CREATE TABLE recipes (id INTEGER); PRAGMA user_version = 1");
  EXPECT_FALSE(open_database(path_).ok());
  execute(text_of(PW_SOURCE_DIR "/tests/db/schema_1.sql") +
          "CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END; DROP TABLE recipes;");
  auto database = open_database(path_);
  ASSERT_FALSE(database.ok());
  EXPECT_EQ(database.error().code, "PW0701");
  execute("UPDATE record SET origin = 'local'; DROP TRIGGER t");
  EXPECT_EQ(open()->list({.limit = 10})->size(), 3u);
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
    for (int number = 0; read(writer.acknowledged, &number, sizeof number) == sizeof number;)
      acknowledged.insert(number);
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
