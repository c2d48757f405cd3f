#include "db/statistics.h"

#include <SQLiteCpp/Statement.h>

#include "db/record_rows.h"

namespace polyweft::db {
namespace {

using Key = std::pair<std::string, int>;
using Table = std::map<Key, TargetStats>;

TargetStats& row_of(Table& table, SQLite::Statement& query) {
  const Key key{query.getColumn(0).getString(), static_cast<int>(class_at(query, 1))};
  TargetStats& row = table[key];
  row.fingerprint = key.first;
  row.cls = static_cast<NumericsClass>(key.second);
  return row;
}

void count_records(SQLite::Database& handle, Table& table) {
  SQLite::Statement query(handle,
                          "SELECT t.fingerprint, k.class, m.toolchain, count(*), sum(c.verdict = 1) FROM record r JOIN "
                          "task k ON k.id = r.task JOIN target t ON "
                          "t.id = k.target JOIN measurement m ON m.id = r.measurement LEFT JOIN certificate c ON "
                          "c.record = r.id GROUP BY 1, 2, 3");
  while (query.executeStep()) {
    TargetStats& row = row_of(table, query);
    const int64_t count = query.getColumn(3).getInt64();
    row.records += count;
    row.proven += query.getColumn(4).getInt64();
    row.toolchains[query.getColumn(2).getString()] += count;
  }
}

void count_measurements(SQLite::Database& handle, Table& table) {
  SQLite::Statement query(handle,
                          "SELECT t.fingerprint, k.class, m.status, count(*) FROM measurement m JOIN trace r ON r.id = "
                          "m.trace JOIN task k ON k.id = r.task JOIN "
                          "target t ON t.id = k.target GROUP BY 1, 2, 3");
  while (query.executeStep()) {
    TargetStats& row = row_of(table, query);
    const auto status = static_cast<RunStatus>(query.getColumn(2).getInt());
    const int64_t count = query.getColumn(3).getInt64();
    row.measurements += count;
    if (status != RunStatus::ok && status != RunStatus::slower) row.failures[name_of(status)] += count;
  }
}

}  // namespace

std::vector<TargetStats> stats_by_target(SQLite::Database& handle) {
  Table table;
  count_records(handle, table);
  count_measurements(handle, table);
  std::vector<TargetStats> out;
  for (auto& [key, row] : table) out.push_back(std::move(row));
  return out;
}

}  // namespace polyweft::db
