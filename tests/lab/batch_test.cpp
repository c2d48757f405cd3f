// Files of candidates and polyweft-runner --batch: what is in a file comes back, whatever is cut off or changed is
// told, and a batch that was ended at any time goes on where it was.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "lab_fixture.h"
#include "support/build_identity.h"
#include "targets/batches/batch_race.h"

namespace polyweft::lab_tests {
namespace {

namespace fs = std::filesystem;
using targets::Batch;
using targets::BatchCandidate;
using targets::BatchEvent;
using targets::BatchRace;
using targets::BatchResults;
using targets::BatchRole;
using targets::BatchRow;

BatchCandidate candidate(const std::string& symbol, BatchRole role = BatchRole::candidate) {
  BatchCandidate out;
  out.nest_hash = "hash of " + symbol;
  out.nest_text = "nest of " + symbol;
  out.trace = "trace of " + symbol;
  out.strategy = "evolve";
  out.predicted_ns = 1'000;
  out.role = role;
  out.kernel = kernel(symbol);
  return out;
}

Batch batch_of(const std::vector<std::string>& symbols) {
  Batch out;
  out.origin = {"matrix", "program matrix", {{"M", 24}, {"N", 20}}, NumericsClass::contract, 2, "host", "print", 9,
                "t"};
  out.build = build_identity();
  out.task = matrix_task();
  for (const std::string& symbol : symbols) out.candidates.push_back(candidate(symbol));
  return out;
}

class BatchFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "polyweft-batch-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    work_ = folder_ / "work";
    results_ = targets::results_path(work_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string bytes_of(const fs::path& path) {
    std::ostringstream out;
    out << std::ifstream(path, std::ios::binary).rdbuf();
    return out.str();
  }
  static void put(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

  /// Exit code; what it said is in said_.
  int measure(const std::string& options = "") {
    const fs::path said = folder_ / "said";
    const std::string command = "'" PW_BINARY_DIR "/src/tools/polyweft-runner' --batch '" + work_.string() + "' " +
                                options + " >'" + said.string() + "' 2>&1";
    const int status = std::system(command.c_str());
    said_ = bytes_of(said);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  BatchResults found() {
    auto batch = targets::read_batch(work_);
    EXPECT_TRUE(batch) << batch.error().message;
    auto results = targets::read_results(results_, *batch);
    EXPECT_TRUE(results && *results) << (results ? "none" : results.error().message);
    return results && *results ? **results : BatchResults{};
  }
  /// By candidate.
  std::vector<RunStatus> statuses() {
    const auto batch = targets::read_batch(work_).value();
    BatchRace race(batch, false);
    for (const BatchRow& row : found().rows) race.tell(row);
    std::vector<RunStatus> out;
    for (uint32_t k = 0; k < batch.candidates.size(); ++k)
      out.push_back(race.told(k) ? race.told(k)->outcome.status : RunStatus::not_run);
    return out;
  }

  fs::path folder_, work_, results_;
  std::string said_;
};

TEST_F(BatchFiles, what_is_written_is_read) {
  Batch batch = batch_of({"reference", "backwards"});
  batch.device = "cuda";
  batch.machine = "sm_90a";
  batch.is_emulated = true;
  batch.candidates[1].role = BatchRole::served;
  batch.candidates[1].problem = "no code";
  batch.candidates[1].kernel = {};
  ASSERT_TRUE(targets::write_batch(work_, batch));
  const auto read = targets::read_batch(work_);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->origin.program_text, "program matrix");
  EXPECT_EQ(read->origin.parameters, batch.origin.parameters);
  EXPECT_EQ(read->origin.cls, NumericsClass::contract);
  EXPECT_EQ(read->origin.threads, 2);
  EXPECT_EQ(read->origin.seed, 9u);
  EXPECT_EQ(read->device, "cuda");
  EXPECT_EQ(read->machine, "sm_90a");
  EXPECT_TRUE(read->is_emulated);
  EXPECT_EQ(read->task.reference.bytes, batch.task.reference.bytes);
  ASSERT_EQ(read->candidates.size(), 2u);
  EXPECT_EQ(read->candidates[0].kernel.bytes, batch.candidates[0].kernel.bytes);
  EXPECT_EQ(read->candidates[0].trace, "trace of reference");
  EXPECT_EQ(read->candidates[1].role, BatchRole::served);
  EXPECT_EQ(read->candidates[1].problem, "no code");
  EXPECT_FALSE(fs::exists(work_.string() + ".part"));
}

TEST_F(BatchFiles, work_that_was_cut_off_or_changed_is_refused) {
  Batch batch = batch_of({"reference"});
  batch.task.reference.bytes.resize(100);
  batch.task.bound = {};
  batch.candidates[0].kernel.bytes.resize(100);
  ASSERT_TRUE(targets::write_batch(work_, batch));
  const std::string whole = bytes_of(work_);
  const auto refused = [&](const std::string& bytes) {
    put(work_, bytes);
    const auto read = targets::read_batch(work_);
    return !read && read.error().code == "PW0614";
  };
  for (size_t size = 0; size < whole.size(); ++size) ASSERT_TRUE(refused(whole.substr(0, size))) << size;
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x20);
    ASSERT_TRUE(refused(changed)) << at;
  }
  EXPECT_TRUE(refused(whole + "x"));
  put(work_, whole);
  EXPECT_TRUE(targets::read_batch(work_));
}

TEST_F(BatchFiles, results_are_whole_up_to_a_row_that_was_cut_off) {
  ASSERT_TRUE(targets::write_batch(work_, batch_of({"reference", "backwards"})));
  const Batch batch = targets::read_batch(work_).value();
  BatchRow first{BatchEvent::trial, 0, BatchRow::kAlone, 0.5, 77, {}}, second{BatchEvent::trial, 1, 0, 0.25, 78, {}};
  first.outcome.status = second.outcome.status = RunStatus::ok;
  first.outcome.timing.median_ns = 12.5;
  second.outcome.status = RunStatus::wrong_result;
  second.outcome.detail = "C[0] is wrong";
  const std::string head = targets::encode_results({batch.id, "a device", "a host", false, {}, 0});
  const std::string one = head + targets::encode_row(first), two = one + targets::encode_row(second);
  for (size_t size = 1; size <= two.size(); ++size) {
    const auto read = targets::decode_results("results", two.substr(0, size), batch);
    if (size < head.size()) {
      ASSERT_FALSE(read) << size;
      continue;
    }
    ASSERT_TRUE(read) << size << " " << read.error().message;
    const size_t rows = size < one.size() ? 0 : size < two.size() ? 1 : 2;
    ASSERT_EQ(read->rows.size(), rows) << size;
    ASSERT_EQ(read->whole_bytes, rows == 0 ? head.size() : rows == 1 ? one.size() : two.size()) << size;
  }
  for (size_t at = 0; at < two.size(); ++at) {
    std::string changed = two;
    changed[at] = static_cast<char>(changed[at] ^ 0x01);
    const auto read = targets::decode_results("results", changed, batch);
    // A length that was changed may make the last row look cut off.
    ASSERT_TRUE(!read || read->rows.size() < 2) << at;
    if (!read) {
      ASSERT_EQ(read.error().code, "PW0615") << at;
    }
  }
  Batch other = batch;
  other.id = "another";
  const auto foreign = targets::decode_results("results", two, other);
  ASSERT_FALSE(foreign);
  EXPECT_NE(foreign.error().message.find("they are of other work"), std::string::npos) << foreign.error().message;
}

TEST_F(BatchFiles, candidates_are_judged_as_in_a_search) {
  Batch batch = batch_of({"times_4", "crash", "wrong_last", "times_8", "writes_behind", "backwards", "aborts"});
  batch.candidates[0].role = BatchRole::first_choice;
  BatchCandidate none = candidate("none");
  none.kernel = {};
  none.problem = "no code is made of it";
  batch.candidates.push_back(none);
  ASSERT_TRUE(targets::write_batch(work_, batch));
  ASSERT_EQ(measure(), 0) << said_;
  EXPECT_EQ(statuses(), (std::vector<RunStatus>{RunStatus::ok, RunStatus::crash, RunStatus::wrong_result,
                                                RunStatus::slower, RunStatus::out_of_bounds, RunStatus::ok,
                                                RunStatus::crash, RunStatus::build_failed}))
      << said_;
  const Batch read = targets::read_batch(work_).value();
  BatchRace race(read, false);
  for (const BatchRow& row : found().rows) race.tell(row);
  EXPECT_FALSE(race.next());
  EXPECT_EQ(race.best(), 5u) << said_;
  ASSERT_EQ(race.finals().size(), 1u);
  EXPECT_EQ(race.finals()[0].beside, 0u);
  EXPECT_LT(race.finals()[0].outcome.timing.ratio_hi, 1);
  const std::string before = bytes_of(results_);
  ASSERT_EQ(measure(), 0) << said_;
  EXPECT_EQ(bytes_of(results_), before) << "all was measured";
}

TEST_F(BatchFiles, a_batch_that_is_killed_goes_on_where_it_was) {
  std::vector<std::string> symbols;
  for (int k = 0; k < 36; ++k) symbols.push_back(k % 3 == 1 ? "times_5" : k % 3 == 2 ? "wrong_last" : "times_4");
  ASSERT_TRUE(targets::write_batch(work_, batch_of(symbols)));
  std::set<std::string> seen;
  int kills = 0;
  size_t rows = 0;
  for (int round = 0; round < 40; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ASSERT_NE(std::freopen("/dev/null", "w", stdout), nullptr);
      execl(PW_BINARY_DIR "/src/tools/polyweft-runner", "polyweft-runner", "--batch", work_.c_str(), nullptr);
      _exit(9);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(25 + 17 * (round % 5)));
    const bool has_ended = waitpid(child, nullptr, WNOHANG) == child;
    if (!has_ended) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
      ++kills;
    }
    const size_t now = fs::exists(results_) && fs::file_size(results_) > 0 ? found().rows.size() : 0;
    ASSERT_GE(now, rows) << "finished trials are lost";
    rows = now;
    if (has_ended) break;
  }
  EXPECT_GT(kills, 0);
  ASSERT_EQ(measure(), 0) << said_;
  for (size_t k = 0; const RunStatus status : statuses()) {
    if (k % 3 == 2)
      EXPECT_TRUE(status == RunStatus::wrong_result || status == RunStatus::crash) << k;
    else
      EXPECT_NE(status, RunStatus::not_run) << k;
    ++k;
  }
}

TEST_F(BatchFiles, a_candidate_that_ends_its_machine_is_passed_over) {
  ASSERT_TRUE(targets::write_batch(work_, batch_of({"times_4", "backwards"})));
  const Batch batch = targets::read_batch(work_).value();
  const BatchRow begun{BatchEvent::started, 0, BatchRow::kAlone, 0, 1, {}};
  BatchResults head;
  head.batch = batch.id;
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  head.host = name;
  put(results_, targets::encode_results(head) + targets::encode_row(begun) + targets::encode_row(begun));
  ASSERT_EQ(measure(), 0) << said_;
  EXPECT_EQ(statuses(), (std::vector<RunStatus>{RunStatus::crash, RunStatus::ok}));
  EXPECT_NE(said_.find("ended each time while this candidate ran"), std::string::npos) << said_;
}

TEST_F(BatchFiles, foreign_and_damaged_files_are_refused_by_name) {
  put(work_, "no frames");
  EXPECT_EQ(measure(), 3);
  EXPECT_NE(said_.find("work: it is no work for a runner [PW0614]"), std::string::npos) << said_;
  Batch batch = batch_of({"times_4"});
  batch.build = "another";
  ASSERT_TRUE(targets::write_batch(work_, batch));
  EXPECT_EQ(measure(), 3);
  EXPECT_NE(said_.find("was made by build another, and this runner is of build"), std::string::npos) << said_;
  batch.build = build_identity();
  ASSERT_TRUE(targets::write_batch(work_, batch));
  put(results_, "nonsense");
  EXPECT_EQ(measure(), 3);
  EXPECT_NE(said_.find("they are none, or damaged at their beginning [PW0615]"), std::string::npos) << said_;
  put(results_, targets::encode_results({targets::read_batch(work_)->id, "a device", "far away", false, {}, 0}));
  EXPECT_EQ(measure(), 3);
  EXPECT_NE(said_.find("they are of a device, and this is the CPU of"), std::string::npos) << said_;
  fs::remove(results_);
  batch.task.reference.features = {"a-feature-of-nobody"};
  ASSERT_TRUE(targets::write_batch(work_, batch));
  EXPECT_EQ(measure(), 3);
  EXPECT_NE(said_.find("a-feature-of-nobody"), std::string::npos) << said_;
  EXPECT_NE(said_.find("[PW0517]"), std::string::npos) << said_;
}

TEST_F(BatchFiles, an_emulators_times_are_not_taken) {
  Batch batch = batch_of({"times_8", "wrong_last", "times_4"});
  batch.candidates[2].predicted_ns = 2'000;
  batch.is_emulated = true;
  ASSERT_TRUE(targets::write_batch(work_, batch));
  ASSERT_EQ(measure(), 0) << said_;
  const BatchResults results = found();
  EXPECT_TRUE(results.is_emulated);
  const Batch read = targets::read_batch(work_).value();
  BatchRace race(read, true);
  for (const BatchRow& row : results.rows) race.tell(row);
  EXPECT_EQ(race.best(), 0u) << "that of the least expected time";
  EXPECT_EQ(race.told(0)->outcome.timing.median_ns, 1'000);
  EXPECT_EQ(race.told(1)->outcome.status, RunStatus::wrong_result);
}

/// Outcomes as a runner would give them, by kernels of known times.
class Races : public testing::Test {
 protected:
  static RunOutcome outcome(double ns, double beside_ns) {
    RunOutcome out;
    out.status = RunStatus::ok;
    out.timing.median_ns = ns;
    if (beside_ns > 0) out.timing.ratio = out.timing.ratio_lo = out.timing.ratio_hi = ns / beside_ns;
    return out;
  }
  /// The winner; `luck` is added to the times in a step.
  template <class Luck>
  static std::optional<uint32_t> winner(const Batch& batch, const std::vector<double>& ns, const Luck& luck) {
    BatchRace race(batch, false);
    int steps = 0;
    while (const auto step = race.next()) {
      EXPECT_LT(++steps, 1'000);
      const double beside = step->beside == BatchRow::kAlone ? 0 : ns[step->beside];
      race.tell({step->event, step->candidate, step->beside, 0, 0, outcome(ns[step->candidate] + luck(*step), beside)});
    }
    return race.best();
  }
};

TEST_F(Races, the_fastest_wins) {
  EXPECT_EQ(winner(batch_of({"a", "b", "c", "d"}), {400, 300, 350, 200}, [](const auto&) { return 0.0; }), 3u);
}

TEST_F(Races, who_wins_once_by_luck_does_not) {
  const auto lucky_trial = [](const targets::BatchStep& step) {
    return step.candidate == 2 && step.event == BatchEvent::trial ? -300.0 : 0.0;
  };
  EXPECT_EQ(winner(batch_of({"a", "b", "c"}), {400, 300, 350}, lucky_trial), 1u);
}

TEST_F(Races, the_first_choice_keeps_its_place_unless_every_race_says_otherwise) {
  Batch batch = batch_of({"a", "b"});
  batch.candidates[0].role = BatchRole::first_choice;
  int races = 0;
  const auto last_race_is_lost = [&](const targets::BatchStep& step) {
    return step.event == BatchEvent::race && ++races == 3 ? 200.0 : 0.0;
  };
  EXPECT_EQ(winner(batch, {400, 300}, last_race_is_lost), 0u);
  EXPECT_EQ(winner(batch, {400, 300}, [](const auto&) { return 0.0; }), 1u);
}

}  // namespace
}  // namespace polyweft::lab_tests
