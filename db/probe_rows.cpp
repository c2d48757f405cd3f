#include "db/probe_rows.h"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

#include "db/record_rows.h"
#include "db/row_digest.h"

namespace polyweft::db {
namespace {

constexpr const char* kProbeColumns = "SELECT host, name, figures, toolchain, unix_time, digest FROM probe ";

std::string probe_digest(const ProbedHost& h) {
  return RowDigest("probe").text(h.host).text(h.name).text(h.figures).text(h.toolchain).integer(h.unix_time).finish();
}

ProbedHost probe_at(SQLite::Statement& row) {
  ProbedHost out;
  out.host = row.getColumn(0).getString();
  out.name = row.getColumn(1).getString();
  out.figures = row.getColumn(2).getString();
  out.toolchain = row.getColumn(3).getString();
  out.unix_time = row.getColumn(4).getInt64();
  return out;
}

bool is_sound_probe(SQLite::Statement& row, const ProbedHost& host) {
  return blob_at(row, 5) == probe_digest(host);
}

}  // namespace

void set_probe(SQLite::Database& handle, const ProbedHost& host) {
  SQLite::Statement add(
      handle,
      "INSERT OR REPLACE INTO probe (host, name, figures, toolchain, unix_time, digest) VALUES (?, ?, ?, ?, ?, ?)");
  const std::string digest = probe_digest(host);
  add.bind(1, host.host);
  add.bind(2, host.name);
  add.bind(3, host.figures);
  add.bind(4, host.toolchain);
  add.bind(5, host.unix_time);
  add.bind(6, digest.data(), static_cast<int>(digest.size()));
  add.exec();
}

std::optional<ProbedHost> probe_of(SQLite::Database& handle, const std::string& host) {
  SQLite::Statement row(handle, std::string(kProbeColumns) + "WHERE host = ?");
  row.bind(1, host);
  if (!row.executeStep()) return std::nullopt;
  ProbedHost out = probe_at(row);
  return is_sound_probe(row, out) ? std::optional(std::move(out)) : std::nullopt;
}

std::vector<ProbedHost> probes(SQLite::Database& handle) {
  std::vector<ProbedHost> out;
  SQLite::Statement rows(handle, std::string(kProbeColumns) + "ORDER BY name, host");
  while (rows.executeStep())
    if (ProbedHost host = probe_at(rows); is_sound_probe(rows, host)) out.push_back(std::move(host));
  return out;
}

std::vector<std::string> damaged_probes(SQLite::Database& handle) {
  std::vector<std::string> out;
  SQLite::Statement rows(handle, std::string(kProbeColumns) + "ORDER BY host");
  while (rows.executeStep())
    if (const ProbedHost host = probe_at(rows); !is_sound_probe(rows, host))
      out.push_back("the probe of host " + host.host + " does not match its digest");
  return out;
}

}  // namespace polyweft::db
