// The SQLite database behind polyweft::Database. Statements are prepared once; every public call is one transaction,
// and one is made at a time.
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <sqlite3.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <mutex>

#include "db/connection.h"
#include "db/effort_rows.h"
#include "db/integrity.h"
#include "db/pair_rows.h"
#include "db/probe_rows.h"
#include "db/record_rows.h"
#include "db/row_digest.h"
#include "db/schema.h"
#include "db/statistics.h"
#include "polyweft/database.h"

namespace polyweft {
namespace db {
namespace {

constexpr double kMostSeconds = 1e9;  // of one search, or of all rows of a batch

Error not_served(int64_t record, const std::string& figure) {
  return fail("PW0728",
              "record #" + std::to_string(record) + " is not served: it has " + figure + ", which no clock tells",
              {"remove it: polyweft db delete " + std::to_string(record) + " --measurements"});
}

Error not_stored(const std::string& program, const std::string& figure) {
  return fail("PW0728", "a measurement of " + program + " is not stored: it has " + figure + ", which no clock tells",
              {"times of a call are between 0.001 ns and thirty years"});
}

Error damaged_row(const std::string& path, const std::string& what) {
  return fail("PW0708", "database " + path + ": " + what + " does not match its digest",
              {"it is not served; run: polyweft db verify --database " + path});
}

class SqliteDatabase final : public Database {
 public:
  explicit SqliteDatabase(Connection connection)
      : connection_(std::move(connection)),
        best_(*connection_.handle,
              "SELECT " + record_columns() +
                  " FROM record r JOIN program p ON p.id = r.program WHERE r.key = ? AND r.verdict IN (0, 1) AND "
                  "r.status = 0 "
                  "AND r.origin IN ('local', 'adopted') ORDER BY r.verdict DESC, r.median_ns LIMIT 1"),
        by_id_(*connection_.handle, record_select() + "WHERE r.id = ?"),
        attestation_(*connection_.handle, "SELECT checker, mac FROM attestation WHERE record = ? AND host = ?") {}

  Result<std::optional<TuningRecord>> best(const TaskKey& key, const std::string& canonical_text) override;
  Result<std::optional<TuningRecord>> record(int64_t id) override;
  Result<int64_t> insert(const TuningRecord& record) override;
  Status add_measurements(const TaskKey& key, const std::string& canonical_text, const std::string& program_text,
                          const std::vector<std::pair<std::string, Measurement>>& rows,
                          const SearchEffort& spent) override;
  Result<SearchEffort> effort(const TaskKey& key) override;
  Result<std::vector<std::pair<std::string, Measurement>>> measurements(const TaskKey& key) override;
  Result<std::optional<NearestRecord>> nearest(const TaskKey& key) override;
  Result<std::vector<TuningRecord>> list(const RecordFilter& filter) override;
  Status erase(int64_t id, Erase what) override;
  Result<std::optional<Attestation>> attestation(int64_t record, const std::string& host) override;
  Status attest(int64_t record, const Attestation& attestation) override;
  Result<std::optional<ProbedHost>> probed(const std::string& host) override;
  Status set_probed(const ProbedHost& host) override;
  Result<std::vector<ProbedHost>> probed_hosts() override;
  Status is_writable() override;
  Result<DatabaseStats> stats() override;
  Result<std::vector<std::string>> integrity() override;

 private:
  /// Runs `work` and turns SQLite's exceptions into errors: no exception leaves this folder.
  template <class T, class F>
  Result<T> guarded(const F& work) {
    const std::lock_guard one(calls_);
    try {
      return work();
    } catch (const SQLite::Exception& exception) {
      return sqlite_error(connection_.path, exception);
    }
  }
  SQLite::Database& handle() { return *connection_.handle; }
  Result<std::optional<TuningRecord>> one_row(SQLite::Statement& query, const TaskKey* key);
  Status may_write();
  void execute(const std::string& sql, int64_t value);
  int64_t scalar(const std::string& sql) { return handle().execAndGet(sql).getInt64(); }
  int64_t program_row(const TaskKey& key, const std::string& canonical, const std::string& source,
                      const std::string& name);
  void name_program(int64_t id, const std::string& key, const std::string& name);
  int64_t task_row(const TaskKey& key, int64_t program);
  int64_t trace_row(int64_t task, const std::string& text);
  int64_t measurement_row(int64_t trace, const std::string& text, const Measurement& m);
  int64_t record_row(const TuningRecord& record, const std::array<int64_t, 4>& task_program_trace_measurement);
  int64_t id_of(const std::string& sql, const std::vector<std::string>& texts, const std::vector<int64_t>& integers);

  Connection connection_;
  SQLite::Statement best_, by_id_, attestation_;
  std::recursive_mutex calls_;
};

// Digest check of one record row, whose key stands in it unless it is given; the statement is reset whatever happens,
// else it would hold a read lock.
Result<std::optional<TuningRecord>> SqliteDatabase::one_row(SQLite::Statement& query, const TaskKey* key) {
  if (!query.executeStep()) {
    query.reset();
    return std::optional<TuningRecord>();
  }
  TuningRecord record = key ? record_at(query, *key) : record_at(query);
  const std::string digest = blob_at(query, kDigestColumn);
  query.reset();
  if (digest != record_digest(record)) return damaged_row(connection_.path, "record #" + std::to_string(record.id));
  if (const std::string figure = impossible_figure(record); !figure.empty()) return not_served(record.id, figure);
  return std::optional<TuningRecord>(std::move(record));
}

Result<std::optional<TuningRecord>> SqliteDatabase::best(const TaskKey& key, const std::string& canonical_text) {
  using Found = std::optional<TuningRecord>;
  return guarded<Found>([&]() -> Result<Found> {
    best_.reset();
    const std::string digest = task_digest(key);
    best_.bind(1, digest.data(), static_cast<int>(digest.size()));
    auto found = one_row(best_, &key);
    if (!found || !*found) return found;
    if ((*found)->canonical_text != canonical_text) return Found();  // a colliding key never serves another program
    return found;
  });
}

Result<std::optional<TuningRecord>> SqliteDatabase::record(int64_t id) {
  using Found = std::optional<TuningRecord>;
  return guarded<Found>([&]() -> Result<Found> {
    by_id_.reset();
    by_id_.bind(1, static_cast<int64_t>(id));
    return one_row(by_id_, nullptr);
  });
}

int64_t SqliteDatabase::id_of(const std::string& sql, const std::vector<std::string>& texts,
                              const std::vector<int64_t>& integers) {
  SQLite::Statement query(handle(), sql);
  int position = 1;
  for (const auto& text : texts) query.bind(position++, text);
  for (int64_t integer : integers) query.bind(position++, static_cast<int64_t>(integer));
  return query.executeStep() ? query.getColumn(0).getInt64() : 0;
}

// Measurements come before the record and know no name: the row gets it with the first record.
void SqliteDatabase::name_program(int64_t id, const std::string& key, const std::string& name) {
  SQLite::Statement row(handle(), "SELECT canonical, source FROM program WHERE id = ? AND name = ''");
  row.bind(1, id);
  if (!row.executeStep()) return;
  const std::string digest = program_digest(key, row.getColumn(0).getString(), row.getColumn(1).getString(), name);
  row.reset();
  SQLite::Statement update(handle(), "UPDATE program SET name = ?, digest = ? WHERE id = ?");
  update.bind(1, name);
  update.bind(2, digest.data(), static_cast<int>(digest.size()));
  update.bind(3, id);
  update.exec();
}

int64_t SqliteDatabase::program_row(const TaskKey& key, const std::string& canonical, const std::string& source,
                                    const std::string& name) {
  if (int64_t id = id_of("SELECT id FROM program WHERE key = ?", {key.program}, {})) {
    if (!name.empty()) name_program(id, key.program, name);
    return id;
  }
  SQLite::Statement add(handle(), "INSERT INTO program (key, canonical, source, name, digest) VALUES (?, ?, ?, ?, ?)");
  const std::string digest = program_digest(key.program, canonical, source, name);
  add.bind(1, key.program);
  add.bind(2, canonical);
  add.bind(3, source);
  add.bind(4, name);
  add.bind(5, digest.data(), static_cast<int>(digest.size()));
  add.exec();
  return handle().getLastInsertRowid();
}

int64_t SqliteDatabase::task_row(const TaskKey& key, int64_t program) {
  const std::string values = join(key.binding);
  SQLite::Statement binding(handle(), "INSERT INTO binding (program, parameters) VALUES (?, ?) ON CONFLICT DO NOTHING");
  binding.bind(1, program);
  binding.bind(2, values);
  binding.exec();
  SQLite::Statement target(handle(), "INSERT INTO target (fingerprint) VALUES (?) ON CONFLICT DO NOTHING");
  target.bind(1, key.target);
  target.exec();
  const int64_t binding_id = id_of("SELECT id FROM binding WHERE parameters = ? AND program = ?", {values}, {program});
  const int64_t target_id = id_of("SELECT id FROM target WHERE fingerprint = ?", {key.target}, {});
  SQLite::Statement task(
      handle(),
      "INSERT INTO task (binding, target, class, abi, threads) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING");
  const std::vector<int64_t> columns = {binding_id, target_id, static_cast<int64_t>(key.cls), key.abi, key.threads};
  for (size_t i = 0; i < columns.size(); ++i) task.bind(static_cast<int>(i + 1), columns[i]);
  task.exec();
  return id_of("SELECT id FROM task WHERE binding = ? AND target = ? AND class = ? AND abi = ? AND threads = ?", {},
               columns);
}

int64_t SqliteDatabase::trace_row(int64_t task, const std::string& text) {
  const std::string digest = RowDigest("trace").text(text).finish();
  SQLite::Statement add(handle(), "INSERT INTO trace (task, text, digest) VALUES (?, ?, ?) ON CONFLICT DO NOTHING");
  add.bind(1, task);
  add.bind(2, text);
  add.bind(3, digest.data(), static_cast<int>(digest.size()));
  add.exec();
  return id_of("SELECT id FROM trace WHERE text = ? AND task = ?", {text}, {task});
}

int64_t SqliteDatabase::measurement_row(int64_t trace, const std::string& text, const Measurement& m) {
  SQLite::Statement add(
      handle(),
      "INSERT INTO measurement (trace, nest_hash, status, detail, median_ns, min_ns, ci_rel, samples, ratio, "
      "predicted_ns, "
      "strategy, seed, toolchain, unix_time, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  const std::string digest = measurement_digest(text, m);
  add.bind(1, trace);
  add.bind(2, m.nest_hash);
  add.bind(3, static_cast<int>(m.status));
  add.bind(4, m.detail);
  add.bind(5, m.timing.median_ns);
  add.bind(6, m.timing.min_ns);
  add.bind(7, m.timing.ci_rel);
  add.bind(8, m.timing.samples);
  add.bind(9, m.timing.ratio);
  add.bind(10, m.predicted_ns);
  add.bind(11, m.strategy);
  add.bind(12, static_cast<int64_t>(m.seed));
  add.bind(13, m.toolchain);
  add.bind(14, m.unix_time);
  add.bind(15, digest.data(), static_cast<int>(digest.size()));
  add.exec();
  const int64_t id = handle().getLastInsertRowid();
  add_pairs(handle(), id, m);
  return id;
}

int64_t SqliteDatabase::record_row(const TuningRecord& r,
                                   const std::array<int64_t, 4>& task_program_trace_measurement) {
  SQLite::Statement add(handle(),
                        "INSERT INTO record (key, task, program, trace, measurement, median_ns, origin, verdict, "
                        "checker_version, isl_version, check_ms, "
                        "trace_text, nest_hash, status, detail, min_ns, ci_rel, samples, ratio, predicted_ns, "
                        "strategy, seed, toolchain, unix_time, digest, nest) "
                        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  int position = 0;
  const Measurement& m = r.measurement;
  const std::string key = task_digest(r.key), digest = record_digest(r);
  add.bind(++position, key.data(), static_cast<int>(key.size()));
  for (int64_t id : task_program_trace_measurement) add.bind(++position, id);
  add.bind(++position, m.timing.median_ns);
  add.bind(++position, r.origin);
  add.bind(++position, static_cast<int>(r.certificate.verdict));
  add.bind(++position, r.certificate.checker_version);
  add.bind(++position, r.certificate.isl_version);
  add.bind(++position, r.certificate.check_ms);
  add.bind(++position, r.trace_text);
  add.bind(++position, m.nest_hash);
  add.bind(++position, static_cast<int>(m.status));
  add.bind(++position, m.detail);
  for (double value : {m.timing.min_ns, m.timing.ci_rel}) add.bind(++position, value);
  add.bind(++position, m.timing.samples);
  for (double value : {m.timing.ratio, m.predicted_ns}) add.bind(++position, value);
  add.bind(++position, m.strategy);
  add.bind(++position, static_cast<int64_t>(m.seed));
  add.bind(++position, m.toolchain);
  add.bind(++position, m.unix_time);
  add.bind(++position, digest.data(), static_cast<int>(digest.size()));
  add.bind(++position, r.nest_text);
  add.exec();
  return handle().getLastInsertRowid();
}

Status SqliteDatabase::may_write() {
  const std::lock_guard one(calls_);
  return connection_.read_only ? db::is_writable(connection_)
                               : Status(Ok{});  // what is read may be a copy in memory, which would take the row
}

Result<int64_t> SqliteDatabase::insert(const TuningRecord& record) {
  if (auto may = may_write(); !may) return may.error();
  if (const std::string figure = impossible_figure(record); !figure.empty())
    return not_stored(record.program_name, figure);
  return guarded<int64_t>([&]() -> Result<int64_t> {
    SQLite::Transaction transaction(handle(), SQLite::TransactionBehavior::IMMEDIATE);
    const int64_t program = program_row(record.key, record.canonical_text, record.program_text, record.program_name);
    const int64_t task = task_row(record.key, program);
    const int64_t trace = trace_row(task, record.trace_text);
    const int64_t measurement = measurement_row(trace, record.trace_text, record.measurement);
    const int64_t id = record_row(record, {task, program, trace, measurement});
    SQLite::Statement certificate(
        handle(),
        "INSERT INTO certificate (record, verdict, checker_version, isl_version, check_ms) VALUES (?, ?, ?, ?, ?)");
    certificate.bind(1, id);
    certificate.bind(2, static_cast<int>(record.certificate.verdict));
    certificate.bind(3, record.certificate.checker_version);
    certificate.bind(4, record.certificate.isl_version);
    certificate.bind(5, record.certificate.check_ms);
    certificate.exec();
    transaction.commit();
    return id;
  });
}

Status SqliteDatabase::add_measurements(const TaskKey& key, const std::string& canonical_text,
                                        const std::string& program_text,
                                        const std::vector<std::pair<std::string, Measurement>>& rows,
                                        const SearchEffort& spent) {
  if (auto may = may_write(); !may) return may;
  for (const auto& [text, measurement] : rows)
    if (const std::string figure = impossible_figure(measurement); !figure.empty())
      return not_stored("program " + key.program, figure);
  if (!(spent.wall_s >= 0 && spent.wall_s <= kMostSeconds && spent.trials >= 0))
    return not_stored("program " + key.program, "an effort of " + std::to_string(spent.wall_s) + " s");
  return guarded<Ok>([&]() -> Status {
    if (rows.empty() && spent == SearchEffort{}) return Ok{};
    SQLite::Transaction transaction(handle(), SQLite::TransactionBehavior::IMMEDIATE);
    const int64_t task = task_row(key, program_row(key, canonical_text, program_text, ""));
    add_effort(handle(), task, spent);
    for (const auto& [text, measurement] : rows) measurement_row(trace_row(task, text), text, measurement);
    transaction.commit();
    return Ok{};
  });
}

Result<SearchEffort> SqliteDatabase::effort(const TaskKey& key) {
  return guarded<SearchEffort>([&]() -> Result<SearchEffort> { return effort_of(handle(), key); });
}

Result<std::vector<std::pair<std::string, Measurement>>> SqliteDatabase::measurements(const TaskKey& key) {
  using Rows = std::vector<std::pair<std::string, Measurement>>;
  constexpr int kPairs = 3;  // the first of their columns
  return guarded<Rows>([&]() -> Result<Rows> {
    SQLite::Statement query(
        handle(),
        "SELECT tr.text, m.digest, m.id, " + pair_columns("pairs") + ", " + measurement_columns("m") +
            " FROM measurement m LEFT JOIN pairs ON pairs.measurement = m.id JOIN trace tr ON tr.id = m.trace JOIN "
            "task k ON k.id = tr.task "
            "JOIN binding b ON b.id = k.binding JOIN program p ON p.id = b.program JOIN target t ON t.id = k.target "
            "WHERE p.key = ? AND b.parameters = ? AND t.fingerprint = ? AND k.class = ? AND k.abi = ? AND k.threads = "
            "? "
            "ORDER BY m.id");
    query.bind(1, key.program);
    query.bind(2, join(key.binding));
    query.bind(3, key.target);
    query.bind(4, static_cast<int>(key.cls));
    query.bind(5, key.abi);
    query.bind(6, key.threads);
    Rows rows;
    while (query.executeStep()) {
      std::string trace = query.getColumn(0).getString();
      Measurement measurement = measurement_at(query, kPairs + 6);
      if (blob_at(query, 1) != measurement_digest(trace, measurement)) continue;
      pairs_at(query, kPairs, query.getColumn(2).getInt64(), measurement);
      if (!impossible_figure(measurement).empty()) continue;
      rows.emplace_back(std::move(trace), std::move(measurement));
    }
    return rows;
  });
}

struct CandidateRow {
  NearestRecord nearest;
  int fields = 0;
  double distance = 0;
};

// Fewest differing fields first, then log-extent distance of the bindings.
CandidateRow compare_keys(const TaskKey& wanted, const TaskKey& found, int64_t id) {
  CandidateRow c;
  c.nearest = {id, "", found.binding};
  auto note = [&](bool differs, const char* field) {
    if (!differs) return;
    ++c.fields;
    c.nearest.differs_in += (c.nearest.differs_in.empty() ? "" : ", ") + std::string(field);
  };
  note(wanted.binding != found.binding, "binding");
  note(wanted.cls != found.cls, "class");
  note(wanted.target != found.target, "target");
  note(wanted.threads != found.threads, "threads");
  note(wanted.abi != found.abi, "abi");
  for (size_t i = 0; i < wanted.binding.size() && i < found.binding.size(); ++i)
    c.distance += std::abs(std::log2(1.0 + std::abs(static_cast<double>(wanted.binding[i]))) -
                           std::log2(1.0 + std::abs(static_cast<double>(found.binding[i]))));
  return c;
}

Result<std::optional<NearestRecord>> SqliteDatabase::nearest(const TaskKey& key) {
  using Found = std::optional<NearestRecord>;
  return guarded<Found>([&]() -> Result<Found> {
    SQLite::Statement query(handle(), record_select() + "WHERE p.key = ? AND r.status = 0 LIMIT 10000");
    query.bind(1, key.program);
    std::optional<CandidateRow> best;
    while (query.executeStep()) {
      const TuningRecord record = record_at(query);
      CandidateRow c = compare_keys(key, record.key, record.id);
      if (!best || std::pair(c.fields, c.distance) < std::pair(best->fields, best->distance)) best = c;
    }
    return best ? Found(best->nearest) : Found();
  });
}

Result<std::vector<TuningRecord>> SqliteDatabase::list(const RecordFilter& f) {
  using Rows = std::vector<TuningRecord>;
  return guarded<Rows>([&]() -> Result<Rows> {
    std::string where =
        "WHERE (?1 = '' OR p.name = ?1 OR substr(p.key, 1, length(?1)) = ?1) AND substr(t.fingerprint, 1, length(?2)) "
        "= ?2 AND (?3 = '' OR r.origin = ?3) ";
    if (f.cls) where += "AND k.class = " + std::to_string(static_cast<int>(*f.cls)) + " ";
    if (f.threads) where += "AND k.threads = " + std::to_string(*f.threads) + " ";
    if (f.verdict) where += "AND r.verdict = " + std::to_string(static_cast<int>(*f.verdict)) + " ";
    SQLite::Statement query(handle(), record_select() + where + "ORDER BY r.id LIMIT ?4 OFFSET ?5");
    query.bind(1, f.program);
    query.bind(2, f.target);
    query.bind(3, f.origin);
    query.bind(4, f.limit);
    query.bind(5, f.offset);
    Rows rows;
    while (query.executeStep()) rows.push_back(record_at(query));
    return rows;
  });
}

Result<DatabaseStats> SqliteDatabase::stats() {
  return guarded<DatabaseStats>([&]() -> Result<DatabaseStats> {
    DatabaseStats s;
    s.programs = scalar("SELECT count(*) FROM program");
    s.targets = scalar("SELECT count(*) FROM target");
    s.records = scalar("SELECT count(*) FROM record");
    s.measurements = scalar("SELECT count(*) FROM measurement");
    s.failures = scalar("SELECT count(*) FROM measurement WHERE status NOT IN (0, 14)");
    s.proven = scalar("SELECT count(*) FROM certificate WHERE verdict = 1");
    s.unproven = s.records - s.proven;
    s.bytes = scalar("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()");
    s.path = connection_.path;
    s.journal = connection_.journal;
    s.schema = kSchemaVersion;
    s.by_target = stats_by_target(handle());
    return s;
  });
}

Result<std::vector<std::string>> SqliteDatabase::integrity() {
  using Lines = std::vector<std::string>;
  return guarded<Lines>([&]() -> Result<Lines> { return problems_of(handle()); });
}

Status SqliteDatabase::erase(int64_t id, Erase what) {
  if (auto may = may_write(); !may) return may;
  return guarded<Ok>([&]() -> Status {
    SQLite::Transaction transaction(handle(), SQLite::TransactionBehavior::IMMEDIATE);
    const int64_t task = id_of("SELECT task FROM record WHERE id = ?", {}, {id});
    if (task == 0)
      return fail("PW0710", "record #" + std::to_string(id) + " is not in the database",
                  {"list them with: polyweft db list"});
    for (const char* table : {"attestation", "certificate"})
      execute(std::string("DELETE FROM ") + table + " WHERE record = ?", id);
    execute("DELETE FROM record WHERE id = ?", id);
    execute("DELETE FROM effort WHERE task = ? AND task NOT IN (SELECT task FROM record)",
            task);  // what was spent led to nothing that is left
    if (what == Erase::record_and_measurements) {
      const std::string traces = "(SELECT id FROM trace WHERE task = ? AND id NOT IN (SELECT trace FROM record))";
      execute("DELETE FROM pairs WHERE measurement IN (SELECT id FROM measurement WHERE trace IN " + traces + ")",
              task);
      execute("DELETE FROM measurement WHERE trace IN " + traces, task);
      execute("DELETE FROM trace WHERE task = ? AND id NOT IN (SELECT trace FROM measurement)", task);
    }
    transaction.commit();
    return Ok{};
  });
}

void SqliteDatabase::execute(const std::string& sql, int64_t value) {
  SQLite::Statement statement(handle(), sql);
  statement.bind(1, value);
  statement.exec();
}

Result<std::optional<Attestation>> SqliteDatabase::attestation(int64_t record, const std::string& host) {
  using Found = std::optional<Attestation>;
  return guarded<Found>([&]() -> Result<Found> {
    attestation_.reset();
    attestation_.bind(1, record);
    attestation_.bind(2, host.data(), static_cast<int>(host.size()));
    Found found;
    if (attestation_.executeStep())
      found = Attestation{host, static_cast<int>(attestation_.getColumn(0).getInt64()), blob_at(attestation_, 1)};
    attestation_.reset();
    return found;
  });
}

Status SqliteDatabase::attest(int64_t record, const Attestation& a) {
  constexpr int kPatienceMs = 1000;
  const std::lock_guard one(calls_);
  if (auto may = may_write(); !may) return may;
  sqlite3_busy_timeout(handle().getHandle(), kPatienceMs);
  auto done = guarded<Ok>([&]() -> Status {
    SQLite::Statement add(handle(),
                          "INSERT INTO attestation (record, host, checker, mac) VALUES (?, ?, ?, ?) ON CONFLICT DO "
                          "UPDATE SET checker = excluded.checker, mac = excluded.mac");
    add.bind(1, record);
    add.bind(2, a.host.data(), static_cast<int>(a.host.size()));
    add.bind(3, a.checker_version);
    add.bind(4, a.mac.data(), static_cast<int>(a.mac.size()));
    add.exec();
    return Ok{};
  });
  sqlite3_busy_timeout(handle().getHandle(), kBusyTimeoutMs);
  return done;
}

Result<std::optional<ProbedHost>> SqliteDatabase::probed(const std::string& host) {
  using Found = std::optional<ProbedHost>;
  return guarded<Found>([&]() -> Result<Found> { return probe_of(handle(), host); });
}

Status SqliteDatabase::set_probed(const ProbedHost& host) {
  if (auto may = may_write(); !may) return may;
  return guarded<Ok>([&]() -> Status {
    set_probe(handle(), host);
    return Ok{};
  });
}

Result<std::vector<ProbedHost>> SqliteDatabase::probed_hosts() {
  using Hosts = std::vector<ProbedHost>;
  return guarded<Hosts>([&]() -> Result<Hosts> { return probes(handle()); });
}

Status SqliteDatabase::is_writable() {
  const std::lock_guard one(calls_);
  return db::is_writable(connection_);
}

}  // namespace
}  // namespace db

Result<std::unique_ptr<Database>> open_database(const std::string& path, Missing missing) {
  auto connection = db::open_connection(path, missing);
  if (!connection) return connection.error();
  try {
    return std::unique_ptr<Database>(std::make_unique<db::SqliteDatabase>(std::move(connection).value()));
  } catch (const SQLite::Exception& exception) {
    return db::sqlite_error(path, exception);
  }
}

}  // namespace polyweft
