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
/// What a host that has proven a record's nest leaves beside it. Who made it can tell whether it fits the record as it
/// stands; to others it says nothing.
struct Attestation {
  std::string host;  ///< 16 bytes that name the host's secret
  int checker_version = 0;
  std::string mac;  ///< 32 bytes: by the host's secret, over the record and the checker's version
  bool operator==(const Attestation&) const = default;
};
/// What was probed of a host's machine for one target.
struct ProbedHost {
  std::string host;     ///< 32 hex digits: by the host's name and its target's description, that nothing probed changes
  std::string name;     ///< of the host, for people
  std::string figures;  ///< a description (polyweft/target.h)
  std::string toolchain;  ///< that measured them
  int64_t unix_time = 0;
};
/// Which records list() gives; what is left out counts for all.
struct RecordFilter {
  std::string program = {};  ///< a name, or the first digits of a key
  std::optional<NumericsClass> cls = std::nullopt;
  std::optional<int> threads = std::nullopt;
  std::string target = {};  ///< the first letters of a fingerprint
  std::string origin = {};
  std::optional<Verdict> verdict = std::nullopt;
  int64_t limit = 100, offset = 0;
};
enum class Erase : uint8_t { record, record_and_measurements };
/// What open_database() does where there is no file.
enum class Missing : uint8_t { create, refuse };
/// All calls are safe from several processes and threads. Errors are PW07xx and name the file and the cure.
class Database {
 public:
  virtual ~Database() = default;
  /// The best proven, correct record of this key, or where none is proven the best whose proof was left for later
  /// (Verdict::not_checked); the canonical text must be equal. Median some microseconds.
  virtual Result<std::optional<TuningRecord>> best(const TaskKey& key, const std::string& canonical_text) = 0;
  virtual Result<std::optional<TuningRecord>> record(int64_t id) = 0;
  /// Stores the winner: durable (synchronous=FULL) when it returns. Gives the row number.
  virtual Result<int64_t> insert(const TuningRecord& record) = 0;
  /// Stores measured candidates of a task, and adds to its effort what they took, in one transaction.
  virtual Status add_measurements(const TaskKey& key, const std::string& canonical_text,
                                  const std::string& program_text,
                                  const std::vector<std::pair<std::string, Measurement>>& trace_and_measurement,
                                  const SearchEffort& spent = {}) = 0;
  /// The sum of what add_measurements() was told. Of tasks of older schemas, which kept none, the measured candidates
  /// count as trials.
  virtual Result<SearchEffort> effort(const TaskKey& key) = 0;
  /// All measurements of a task: nothing is measured twice, what failed is not run again.
  virtual Result<std::vector<std::pair<std::string, Measurement>>> measurements(const TaskKey& key) = 0;
  virtual Result<std::optional<NearestRecord>> nearest(const TaskKey& key) = 0;
  /// By number. Rows as they stand: their digests are not compared, a value that no version of Polyweft writes comes as
  /// one that promises nothing.
  virtual Result<std::vector<TuningRecord>> list(const RecordFilter& filter) = 0;
  /// Removes the record with its certificate and attestations; measurements of its task (nothing is measured twice)
  /// where asked. PW0710 where it is not there.
  virtual Status erase(int64_t id, Erase what) = 0;
  /// What `host` left beside a record.
  virtual Result<std::optional<Attestation>> attestation(int64_t record, const std::string& host) = 0;
  /// Replaces what the same host left, never another's. Waits for a lock one second only: who cannot store it proves
  /// again.
  virtual Status attest(int64_t record, const Attestation& attestation) = 0;
  /// Nothing of a row that does not match its digest: it is measured again.
  virtual Result<std::optional<ProbedHost>> probed(const std::string& host) = 0;
  /// Replaces what there was of the same host.
  virtual Status set_probed(const ProbedHost& host) = 0;
  /// Of all hosts, by their names.
  virtual Result<std::vector<ProbedHost>> probed_hosts() = 0;
  /// PW0704, PW0703 where rows cannot be added: to be asked before hours of work.
  virtual Status is_writable() = 0;
  virtual Result<DatabaseStats> stats() = 0;
  /// Checks SQLite's integrity, row digests, and that rows that repeat each other agree; the messages of what is
  /// damaged (empty: sound).
  virtual Result<std::vector<std::string>> integrity() = 0;
};
/// Opens or creates; never makes a folder (PW0724). Refuses a newer schema, foreign tables/triggers (PW0701), says the
/// cure for a locked file. What cannot be written is opened for reading, on a read-only file system too.
Result<std::unique_ptr<Database>> open_database(const std::string& path, Missing missing = Missing::create);

}  // namespace polyweft
#pragma GCC visibility pop
