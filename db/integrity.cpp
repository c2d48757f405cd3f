#include "db/integrity.h"

#include <SQLiteCpp/Statement.h>

#include "db/effort_rows.h"
#include "db/pair_rows.h"
#include "db/probe_rows.h"
#include "db/record_rows.h"
#include "db/row_digest.h"

namespace polyweft::db {
namespace {

using Problems = std::vector<std::string>;

std::string numbered(const char* table, SQLite::Statement& row, int column) {
  return std::string(table) + " #" + std::to_string(row.getColumn(column).getInt64());
}

void sqlite_itself(SQLite::Database& handle, Problems& out) {
  SQLite::Statement check(handle, "PRAGMA integrity_check(20)");
  while (check.executeStep())
    if (std::string line = check.getColumn(0).getString(); line != "ok") out.push_back("sqlite: " + line);
  SQLite::Statement keys(handle, "PRAGMA foreign_key_check");
  while (keys.executeStep()) out.push_back("foreign key broken in table " + keys.getColumn(0).getString());
}

void digests_of_records(SQLite::Database& handle, Problems& out) {
  SQLite::Statement rows(handle, record_select());
  while (rows.executeStep())
    if (blob_at(rows, kDigestColumn) != record_digest(record_at(rows)))
      out.push_back(numbered("record", rows, 0) + " does not match its digest");
}

// They are not served, and rows of measurements are passed over.
void times(SQLite::Database& handle, Problems& out) {
  SQLite::Statement records(handle, record_select());
  while (records.executeStep())
    if (const std::string figure = impossible_figure(record_at(records)); !figure.empty())
      out.push_back(numbered("record", records, 0) + " has " + figure + ", which no clock tells");
  SQLite::Statement rows(handle, "SELECT m.id, " + measurement_columns("m") + " FROM measurement m");
  while (rows.executeStep())
    if (const std::string figure = impossible_figure(measurement_at(rows, 1)); !figure.empty())
      out.push_back(numbered("measurement", rows, 0) + " has " + figure + ", which no clock tells");
}

void digests_of_programs(SQLite::Database& handle, Problems& out) {
  SQLite::Statement rows(handle, "SELECT key, canonical, source, name, digest, id FROM program");
  const auto text = [&](int column) { return rows.getColumn(column).getString(); };
  while (rows.executeStep())
    if (blob_at(rows, 4) != program_digest(text(0), text(1), text(2), text(3)))
      out.push_back(numbered("program", rows, 5) + " does not match its digest");
}

void digests_of_traces(SQLite::Database& handle, Problems& out) {
  SQLite::Statement rows(handle, "SELECT text, digest, id FROM trace");
  while (rows.executeStep())
    if (blob_at(rows, 1) != RowDigest("trace").text(rows.getColumn(0).getString()).finish())
      out.push_back(numbered("trace", rows, 2) + " does not match its digest");
}

void digests_of_measurements(SQLite::Database& handle, Problems& out) {
  SQLite::Statement rows(handle, std::string("SELECT tr.text, m.digest, m.id, ") + measurement_columns("m") +
                                     " FROM measurement m JOIN trace tr ON tr.id = m.trace");
  while (rows.executeStep())
    if (blob_at(rows, 1) != measurement_digest(rows.getColumn(0).getString(), measurement_at(rows, 3)))
      out.push_back(numbered("measurement", rows, 2) + " does not match its digest");
}

// A look-up finds a record by this column alone: where it is another task's, the record is there and is never found.
void keys_of_records(SQLite::Database& handle, Problems& out) {
  SQLite::Statement rows(
      handle,
      std::string("SELECT r.id, r.key, ") + kKeyColumns +
          ", b.program = r.program FROM record r JOIN task k ON k.id = r.task JOIN binding b ON b.id = k.binding "
          "JOIN program p ON p.id = b.program JOIN target t ON t.id = k.target");
  while (rows.executeStep())
    if (blob_at(rows, 1) != task_digest(key_at(rows, 2)) || rows.getColumn(8).getInt() == 0)
      out.push_back(numbered("record", rows, 0) + " has another task's key");
}

// What a record repeats of its trace, measurement and certificate.
void repetitions(SQLite::Database& handle, Problems& out) {
  SQLite::Statement rows(
      handle,
      "SELECT r.id FROM record r LEFT JOIN trace t ON t.id = r.trace LEFT JOIN measurement m ON m.id = r.measurement "
      "LEFT JOIN certificate c ON c.record = r.id WHERE t.text IS NOT r.trace_text OR t.task IS NOT r.task OR m.trace "
      "IS NOT r.trace "
      "OR m.nest_hash IS NOT r.nest_hash OR m.status IS NOT r.status OR m.detail IS NOT r.detail OR m.median_ns IS NOT "
      "r.median_ns "
      "OR m.min_ns IS NOT r.min_ns OR m.ci_rel IS NOT r.ci_rel OR m.samples IS NOT r.samples OR m.ratio IS NOT r.ratio "
      "OR m.predicted_ns IS NOT r.predicted_ns OR m.strategy IS NOT r.strategy OR m.seed IS NOT r.seed OR m.toolchain "
      "IS NOT r.toolchain "
      "OR m.unix_time IS NOT r.unix_time OR ifnull(c.verdict, 0) IS NOT r.verdict OR ifnull(c.checker_version, 0) IS "
      "NOT r.checker_version "
      "OR ifnull(c.isl_version, '') IS NOT r.isl_version OR ifnull(c.check_ms, 0.0) IS NOT r.check_ms ORDER BY r.id");
  while (rows.executeStep())
    out.push_back(numbered("record", rows, 0) + " differs from its trace, measurement or certificate");
}

// As Polyweft writes them: digests are over the values, so that "64" and "064" have one digest and are two rows.
void bindings(SQLite::Database& handle, Problems& out) {
  SQLite::Statement rows(handle, "SELECT id, parameters FROM binding");
  while (rows.executeStep())
    if (const std::string text = rows.getColumn(1).getString(); join(split(text)) != text)
      out.push_back(numbered("binding", rows, 0) + " is no list of integers");
}

void lengths_of_attestations(SQLite::Database& handle, Problems& out) {
  SQLite::Statement rows(
      handle, "SELECT DISTINCT record FROM attestation WHERE length(host) <> 16 OR length(mac) <> 32 ORDER BY record");
  while (rows.executeStep()) out.push_back(numbered("record", rows, 0) + " has an attestation that no host makes");
}

void efforts(SQLite::Database& handle, Problems& out) {
  for (auto& problem : damaged_efforts(handle)) out.push_back(std::move(problem));
}

void damaged_hosts(SQLite::Database& handle, Problems& out) {
  for (auto& problem : damaged_probes(handle)) out.push_back(std::move(problem));
}

void pairs(SQLite::Database& handle, Problems& out) {
  for (auto& problem : damaged_pairs(handle)) out.push_back(std::move(problem));
}

}  // namespace

std::vector<std::string> problems_of(SQLite::Database& handle) {
  Problems out;
  for (const auto part :
       {sqlite_itself, digests_of_records, digests_of_programs, digests_of_traces, digests_of_measurements,
        keys_of_records, repetitions, bindings, lengths_of_attestations, efforts, damaged_hosts, pairs, times})
    part(handle, out);
  return out;
}

}  // namespace polyweft::db
