#include "db/schema.h"

namespace polyweft::db {

// One row a fact; every row carries a digest of its own payload, because SQLite does not notice bit rot inside a cell.
// A record is the winner of a task. It repeats what best() serves of its trace, measurement and certificate, so that a
// look-up descends three trees (key, record, program) instead of nine; its digest covers all of it. `key` is the digest
// of the task's key: see task_digest() in row_digest.h. A digest finds damage, no forgery: whether a record's nest was
// proven, a host knows by its own row in `attestation` only.
const std::vector<SchemaObject>& schema_objects() {
  static const std::vector<SchemaObject> objects = {
      {"program",
       "CREATE TABLE program (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, canonical TEXT NOT NULL, source TEXT "
       "NOT NULL, "
       "name TEXT NOT NULL, digest BLOB NOT NULL) STRICT"},
      {"binding",
       "CREATE TABLE binding (id INTEGER PRIMARY KEY, program INTEGER NOT NULL REFERENCES program(id), parameters TEXT "
       "NOT NULL, "
       "UNIQUE (program, parameters)) STRICT"},
      {"target", "CREATE TABLE target (id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE) STRICT"},
      {"task",
       "CREATE TABLE task (id INTEGER PRIMARY KEY, binding INTEGER NOT NULL REFERENCES binding(id), target INTEGER NOT "
       "NULL "
       "REFERENCES target(id), class INTEGER NOT NULL, abi INTEGER NOT NULL, threads INTEGER NOT NULL, "
       "UNIQUE (binding, target, class, abi, threads)) STRICT"},
      {"trace",
       "CREATE TABLE trace (id INTEGER PRIMARY KEY, task INTEGER NOT NULL REFERENCES task(id), text TEXT NOT NULL, "
       "digest BLOB NOT NULL, UNIQUE (task, text)) STRICT"},
      {"measurement",
       "CREATE TABLE measurement (id INTEGER PRIMARY KEY, trace INTEGER NOT NULL REFERENCES trace(id), nest_hash TEXT "
       "NOT NULL, "
       "status INTEGER NOT NULL, detail TEXT NOT NULL, median_ns REAL NOT NULL, min_ns REAL NOT NULL, ci_rel REAL NOT "
       "NULL, "
       "samples INTEGER NOT NULL, ratio REAL NOT NULL, predicted_ns REAL NOT NULL, strategy TEXT NOT NULL, seed "
       "INTEGER NOT NULL, "
       "toolchain TEXT NOT NULL, unix_time INTEGER NOT NULL, digest BLOB NOT NULL) STRICT"},
      {"pairs",
       "CREATE TABLE pairs (measurement INTEGER PRIMARY KEY REFERENCES measurement(id), beside TEXT NOT NULL, ratio_lo "
       "REAL NOT NULL, ratio_hi REAL NOT NULL, samples_ns BLOB NOT NULL, beside_ns BLOB NOT NULL, digest BLOB NOT "
       "NULL) STRICT"},
      {"record",
       "CREATE TABLE record (id INTEGER PRIMARY KEY, key BLOB NOT NULL, task INTEGER NOT NULL REFERENCES task(id), "
       "program INTEGER NOT NULL "
       "REFERENCES program(id), trace INTEGER NOT NULL REFERENCES trace(id), measurement INTEGER NOT NULL REFERENCES "
       "measurement(id), "
       "median_ns REAL NOT NULL, origin TEXT NOT NULL, verdict INTEGER NOT NULL, checker_version INTEGER NOT NULL, "
       "isl_version TEXT NOT NULL, "
       "check_ms REAL NOT NULL, trace_text TEXT NOT NULL, nest_hash TEXT NOT NULL, status INTEGER NOT NULL, detail "
       "TEXT NOT NULL, "
       "min_ns REAL NOT NULL, ci_rel REAL NOT NULL, samples INTEGER NOT NULL, ratio REAL NOT NULL, predicted_ns REAL "
       "NOT NULL, "
       "strategy TEXT NOT NULL, seed INTEGER NOT NULL, toolchain TEXT NOT NULL, unix_time INTEGER NOT NULL, digest "
       "BLOB NOT NULL, "
       "nest TEXT NOT NULL) STRICT"},
      {"certificate",
       "CREATE TABLE certificate (record INTEGER PRIMARY KEY REFERENCES record(id), verdict INTEGER NOT NULL, "
       "checker_version "
       "INTEGER NOT NULL, isl_version TEXT NOT NULL, check_ms REAL NOT NULL) STRICT"},
      {"effort",
       "CREATE TABLE effort (task INTEGER PRIMARY KEY REFERENCES task(id), wall_s REAL NOT NULL, trials INTEGER NOT "
       "NULL, until_share REAL NOT NULL, "
       "exhausted_by TEXT NOT NULL, digest BLOB NOT NULL) STRICT"},
      {"attestation",
       "CREATE TABLE attestation (record INTEGER NOT NULL REFERENCES record(id), host BLOB NOT NULL, checker INTEGER "
       "NOT NULL, mac BLOB NOT NULL, "
       "PRIMARY KEY (record, host)) STRICT, WITHOUT ROWID"},
      {"probe",
       "CREATE TABLE probe (host TEXT PRIMARY KEY, name TEXT NOT NULL, figures TEXT NOT NULL, toolchain TEXT NOT NULL, "
       "unix_time INTEGER NOT NULL, "
       "digest BLOB NOT NULL) STRICT, WITHOUT ROWID"},
      {"record_by_key", "CREATE INDEX record_by_key ON record (key, median_ns)"},
      {"measurement_by_trace", "CREATE INDEX measurement_by_trace ON measurement (trace)"},
  };
  return objects;
}

}  // namespace polyweft::db
