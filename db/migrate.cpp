#include "db/migrate.h"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>

#include <string>

#include "db/record_rows.h"
#include "db/row_digest.h"
#include "db/schema.h"

namespace polyweft::db {
namespace {

void create(SQLite::Database& handle, const std::string& name) {
  for (const auto& object : schema_objects())
    if (name == object.name) handle.exec(object.sql);
}

// Schema 2: a record repeats what best() serves, and is found by the digest of its task's key.
void records_that_stand_alone(SQLite::Database& handle) {
  handle.exec("DROP INDEX record_by_time");
  handle.exec("ALTER TABLE record RENAME TO record_1");
  create(handle, "record");
  SQLite::Statement old(handle, std::string("SELECT r.id, b.program, ") + kKeyColumns +
                                    " FROM record_1 r JOIN task k ON k.id = r.task JOIN binding b ON b.id = k.binding "
                                    "JOIN program p ON p.id = b.program "
                                    "JOIN target t ON t.id = k.target ORDER BY r.id");
  SQLite::Statement copy(handle,
                         "INSERT INTO record SELECT r.id, ?, r.task, ?, r.trace, r.measurement, r.median_ns, r.origin, "
                         "ifnull(c.verdict, 0), "
                         "ifnull(c.checker_version, 0), ifnull(c.isl_version, ''), ifnull(c.check_ms, 0.0), t.text, "
                         "m.nest_hash, m.status, m.detail, m.min_ns, "
                         "m.ci_rel, m.samples, m.ratio, m.predicted_ns, m.strategy, m.seed, m.toolchain, m.unix_time, "
                         "r.digest, r.nest FROM record_1 r "
                         "JOIN trace t ON t.id = r.trace JOIN measurement m ON m.id = r.measurement LEFT JOIN "
                         "certificate c ON c.record = r.id WHERE r.id = ?");
  while (old.executeStep()) {
    const std::string key = task_digest(key_at(old, 2));
    copy.bind(1, key.data(), static_cast<int>(key.size()));
    copy.bind(2, old.getColumn(1).getInt64());
    copy.bind(3, old.getColumn(0).getInt64());
    copy.exec();
    copy.reset();
  }
  old.reset();
  handle.exec("DROP TABLE record_1");
  create(handle, "record_by_key");
}

}  // namespace

void migrate(SQLite::Database& handle, int version) {
  if (version < 2) records_that_stand_alone(handle);
  if (version < 3) create(handle, "effort");       // what earlier searches took is not known
  if (version < 4) create(handle, "attestation");  // by nobody yet: each host proves a record again before it serves it
  // Keys say what the first two caches hold since version 5. Rows of before have keys that nobody asks for: they are
  // nearest() records, whose traces a search begins with.
  if (version < 5) create(handle, "probe");
  if (version < 6) create(handle, "pairs");  // what older rows were timed beside was not kept
  handle.exec("PRAGMA user_version = " + std::to_string(kSchemaVersion));
}

}  // namespace polyweft::db
