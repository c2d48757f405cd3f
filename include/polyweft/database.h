// Database: the schedule database behind an interface; one file, many processes, nothing committed is ever lost.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "polyweft/records.h"
#include "polyweft/result.h"

#pragma GCC visibility push(default)
namespace polyweft {

/// What the database has for one target and numerics class.
struct TargetStats {
  std::string fingerprint;
  NumericsClass cls = NumericsClass::reassoc;
  int64_t records = 0, proven = 0, measurements = 0;
  std::map<std::string, int64_t> failures;    ///< measurements that failed, by name of their RunStatus
  std::map<std::string, int64_t> toolchains;  ///< records by the toolchain that measured them
};
struct DatabaseStats {
  int64_t programs = 0, targets = 0, records = 0, measurements = 0, failures = 0, proven = 0, unproven = 0, bytes = 0;
  std::string path, journal;
  int schema = 0;
  std::vector<TargetStats> by_target;  ///< sorted by fingerprint and class
};
/// All calls are safe from several processes; one object belongs to one thread at a time. Errors are PW07xx and name the file and the cure.
class Database {
 public:
  virtual ~Database() = default;
  /// The best proven, correct record of this key; the canonical text must be equal. Median some microseconds.
  virtual Result<std::optional<TuningRecord>> best(const TaskKey& key, const std::string& canonical_text) = 0;
  virtual Result<std::optional<TuningRecord>> record(int64_t id) = 0;
  /// Stores the winner: durable (synchronous=FULL) when it returns. Gives the row number.
  virtual Result<int64_t> insert(const TuningRecord& record) = 0;
  /// Stores measured candidates of a task, and adds to its effort what they took, in one transaction.
  virtual Status add_measurements(const TaskKey& key, const std::string& canonical_text, const std::string& program_text,
                                  const std::vector<std::pair<std::string, Measurement>>& trace_and_measurement, const SearchEffort& spent = {}) = 0;
  /// The sum of what add_measurements() was told. Of tasks of older schemas, which kept none, the measured candidates count as trials.
  virtual Result<SearchEffort> effort(const TaskKey& key) = 0;
  /// All measurements of a task: nothing is measured twice, what failed is not run again.
  virtual Result<std::vector<std::pair<std::string, Measurement>>> measurements(const TaskKey& key) = 0;
  virtual Result<std::optional<NearestRecord>> nearest(const TaskKey& key) = 0;
  virtual Result<std::vector<TuningRecord>> list(int64_t limit, int64_t offset) = 0;
  virtual Result<DatabaseStats> stats() = 0;
  /// Checks row digests and SQLite's integrity; the messages of what is damaged (empty: sound).
  virtual Result<std::vector<std::string>> integrity() = 0;
};
/// Opens or creates. Refuses a newer schema, foreign tables/triggers (PW0701), says the cure for a locked or read-only file.
Result<std::unique_ptr<Database>> open_database(const std::string& path);

}  // namespace polyweft
#pragma GCC visibility pop
