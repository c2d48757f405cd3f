#include "db/effort_rows.h"

#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <optional>

#include "db/record_rows.h"
#include "db/row_digest.h"

namespace polyweft::db {
namespace {

constexpr const char* kColumns = "wall_s, trials, until_share, exhausted_by, digest, task";

std::string effort_digest(int64_t task, const SearchEffort& e) {
  return RowDigest("effort").integer(task).real(e.wall_s).integer(e.trials).real(e.until).text(e.exhausted_by).finish();
}

struct EffortRow {
  int64_t task = 0;
  SearchEffort effort;
  bool is_sound = false;
};
EffortRow row_at(SQLite::Statement& query) {
  EffortRow row;
  row.effort = {query.getColumn(0).getDouble(), query.getColumn(1).getInt64(), query.getColumn(2).getDouble(),
                query.getColumn(3).getString()};
  row.task = query.getColumn(5).getInt64();
  row.is_sound = blob_at(query, 4) == effort_digest(row.task, row.effort);
  return row;
}

std::optional<EffortRow> effort_row(SQLite::Database& handle, int64_t task) {
  SQLite::Statement query(handle, std::string("SELECT ") + kColumns + " FROM effort WHERE task = ?");
  query.bind(1, task);
  return query.executeStep() ? std::optional(row_at(query)) : std::nullopt;
}

SearchEffort sum(SearchEffort before, const SearchEffort& spent) {
  before.wall_s += spent.wall_s;
  before.trials += spent.trials;
  before.until = std::max(before.until, spent.until);
  if (!spent.exhausted_by.empty()) before.exhausted_by = spent.exhausted_by;
  return before;
}

int64_t measured_of(SQLite::Database& handle, int64_t task) {
  SQLite::Statement query(handle,
                          "SELECT count(DISTINCT m.nest_hash) FROM measurement m JOIN trace tr ON tr.id = m.trace "
                          "WHERE tr.task = ? AND m.strategy <> 'base'");
  query.bind(1, task);
  return query.executeStep() ? query.getColumn(0).getInt64() : 0;
}

int64_t task_of(SQLite::Database& handle, const TaskKey& key) {
  SQLite::Statement query(
      handle,
      "SELECT k.id FROM task k JOIN binding b ON b.id = k.binding JOIN program p ON p.id = b.program JOIN target t ON "
      "t.id = k.target "
      "WHERE p.key = ? AND b.parameters = ? AND t.fingerprint = ? AND k.class = ? AND k.abi = ? AND k.threads = ?");
  query.bind(1, key.program);
  query.bind(2, join(key.binding));
  query.bind(3, key.target);
  query.bind(4, static_cast<int>(key.cls));
  query.bind(5, key.abi);
  query.bind(6, key.threads);
  return query.executeStep() ? query.getColumn(0).getInt64() : 0;
}

SearchEffort known_effort(SQLite::Database& handle, int64_t task) {
  const auto row = effort_row(handle, task);
  if (row && row->is_sound) return row->effort;
  SearchEffort none;
  if (!row) none.trials = measured_of(handle, task);
  return none;
}

}  // namespace

void add_effort(SQLite::Database& handle, int64_t task, const SearchEffort& spent) {
  if (spent == SearchEffort{}) return;
  const SearchEffort total = sum(known_effort(handle, task), spent);
  SQLite::Statement put(handle,
                        "INSERT OR REPLACE INTO effort (task, wall_s, trials, until_share, exhausted_by, digest) "
                        "VALUES (?, ?, ?, ?, ?, ?)");
  const std::string digest = effort_digest(task, total);
  put.bind(1, task);
  put.bind(2, total.wall_s);
  put.bind(3, total.trials);
  put.bind(4, total.until);
  put.bind(5, total.exhausted_by);
  put.bind(6, digest.data(), static_cast<int>(digest.size()));
  put.exec();
}

SearchEffort effort_of(SQLite::Database& handle, const TaskKey& key) {
  const int64_t task = task_of(handle, key);
  return task == 0 ? SearchEffort{} : known_effort(handle, task);
}

std::vector<std::string> damaged_efforts(SQLite::Database& handle) {
  std::vector<std::string> problems;
  SQLite::Statement rows(handle, std::string("SELECT ") + kColumns + " FROM effort");
  while (rows.executeStep())
    if (const EffortRow row = row_at(rows); !row.is_sound)
      problems.push_back("effort of task #" + std::to_string(row.task) + " does not match its digest");
  return problems;
}

}  // namespace polyweft::db
