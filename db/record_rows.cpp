#include "db/record_rows.h"

#include <SQLiteCpp/Column.h>

#include "db/row_digest.h"
#include "ir/values/measured_times.h"

namespace polyweft::db {
namespace {

// A value that no version of Polyweft writes promises nothing; the row's digest does not fit it.
template <class Enum>
Enum known(int64_t value, Enum last, Enum otherwise) {
  return value >= 0 && value <= static_cast<int64_t>(last) ? static_cast<Enum>(value) : otherwise;
}
int small(int64_t value) {
  return value == static_cast<int>(value) ? static_cast<int>(value) : -1;
}

constexpr int kMeasurementColumn = kDigestColumn + 1, kFirstKeyColumn = kMeasurementColumn + 13;

}  // namespace

std::string measurement_digest(const std::string& trace, const Measurement& m) {
  return RowDigest("measurement")
      .text(trace)
      .text(m.nest_hash)
      .integer(static_cast<int>(m.status))
      .text(m.detail)
      .real(m.timing.median_ns)
      .real(m.timing.min_ns)
      .real(m.timing.ci_rel)
      .integer(m.timing.samples)
      .real(m.timing.ratio)
      .real(m.predicted_ns)
      .text(m.strategy)
      .integer(static_cast<int64_t>(m.seed))
      .text(m.toolchain)
      .integer(m.unix_time)
      .finish();
}

std::string record_digest(const TuningRecord& r) {
  return RowDigest("record")
      .text(r.key.program)
      .text(join(r.key.binding))
      .integer(static_cast<int>(r.key.cls))
      .text(r.key.target)
      .integer(r.key.abi)
      .integer(r.key.threads)
      .text(r.trace_text)
      .text(r.nest_text)
      .text(r.origin)
      .integer(static_cast<int>(r.certificate.verdict))
      .integer(r.certificate.checker_version)
      .text(r.certificate.isl_version)
      .text(measurement_digest(r.trace_text, r.measurement))
      .finish();
}

std::string program_digest(const std::string& key, const std::string& canonical, const std::string& source,
                           const std::string& name) {
  return RowDigest("program").text(key).text(canonical).text(source).text(name).finish();
}

std::string measurement_columns(const std::string& table) {
  std::string out;
  for (const char* column : {"nest_hash", "status", "detail", "median_ns", "min_ns", "ci_rel", "samples", "ratio",
                             "predicted_ns", "strategy", "seed", "toolchain", "unix_time"})
    out += (out.empty() ? "" : ", ") + table + "." + column;
  return out;
}

Measurement measurement_at(SQLite::Statement& row, int c) {
  Measurement m;
  m.nest_hash = row.getColumn(c).getString();
  m.status = known(row.getColumn(c + 1).getInt64(), RunStatus::timed_out, RunStatus::not_run);
  m.detail = row.getColumn(c + 2).getString();
  m.timing.median_ns = row.getColumn(c + 3).getDouble();
  m.timing.min_ns = row.getColumn(c + 4).getDouble();
  m.timing.ci_rel = row.getColumn(c + 5).getDouble();
  m.timing.samples = small(row.getColumn(c + 6).getInt64());
  m.timing.ratio = row.getColumn(c + 7).getDouble();
  m.predicted_ns = row.getColumn(c + 8).getDouble();
  m.strategy = row.getColumn(c + 9).getString();
  m.seed = static_cast<uint64_t>(row.getColumn(c + 10).getInt64());
  m.toolchain = row.getColumn(c + 11).getString();
  m.unix_time = row.getColumn(c + 12).getInt64();
  return m;
}

std::string record_columns() {
  return "r.id, p.canonical, p.source, p.name, r.trace_text, r.nest, r.origin, r.verdict, r.checker_version, "
         "r.isl_version, r.check_ms, r.digest, " +
         measurement_columns("r");
}

std::string record_select() {
  return "SELECT " + record_columns() + ", " + kKeyColumns +
         " FROM record r JOIN task k ON k.id = r.task JOIN binding b ON b.id = k.binding JOIN program p ON p.id = "
         "r.program "
         "JOIN target t ON t.id = k.target ";
}

NumericsClass class_at(SQLite::Statement& row, int column) {
  return known(row.getColumn(column).getInt64(), NumericsClass::reassoc, NumericsClass::strict);
}

TaskKey key_at(SQLite::Statement& row, int c) {
  TaskKey key;
  key.program = row.getColumn(c).getString();
  key.binding = split(row.getColumn(c + 1).getString());
  key.cls = class_at(row, c + 2);
  key.target = row.getColumn(c + 3).getString();
  key.abi = small(row.getColumn(c + 4).getInt64());
  key.threads = small(row.getColumn(c + 5).getInt64());
  return key;
}

TuningRecord record_at(SQLite::Statement& row, TaskKey key) {
  TuningRecord r;
  r.key = std::move(key);
  r.id = row.getColumn(0).getInt64();
  r.canonical_text = row.getColumn(1).getString();
  r.program_text = row.getColumn(2).getString();
  r.program_name = row.getColumn(3).getString();
  r.trace_text = row.getColumn(4).getString();
  r.nest_text = row.getColumn(5).getString();
  r.origin = row.getColumn(6).getString();
  r.certificate.verdict = known(row.getColumn(7).getInt64(), Verdict::not_proven, Verdict::not_checked);
  r.certificate.checker_version = small(row.getColumn(8).getInt64());
  r.certificate.isl_version = row.getColumn(9).getString();
  r.certificate.check_ms = row.getColumn(10).getDouble();
  r.measurement = measurement_at(row, kMeasurementColumn);
  return r;
}
TuningRecord record_at(SQLite::Statement& row) {
  return record_at(row, key_at(row, kFirstKeyColumn));
}

std::string blob_at(SQLite::Statement& row, int column) {
  auto cell = row.getColumn(column);
  return std::string(static_cast<const char*>(cell.getBlob()), static_cast<size_t>(cell.getBytes()));
}

std::string impossible_figure(const Measurement& m) {
  std::string found = impossible_time(m.timing);
  if (found.empty() && !(m.predicted_ns >= 0))  // of 10^20 points a model may say any number
    found = "a prediction of " + text_of_ns(m.predicted_ns);
  return found;
}

std::string impossible_figure(const TuningRecord& record) {
  std::string found = impossible_figure(record.measurement);
  return found.empty() && record.measurement.status == RunStatus::ok ? impossible_median(record.measurement.timing)
                                                                     : found;
}

}  // namespace polyweft::db
