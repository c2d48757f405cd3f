// Rows of the tables as values of polyweft/records.h, and the digests over them.
#pragma once

#include <SQLiteCpp/Statement.h>

#include <string>

#include "polyweft/records.h"

namespace polyweft::db {

std::string measurement_digest(const std::string& trace, const Measurement& m);
std::string record_digest(const TuningRecord& r);
std::string program_digest(const std::string& key, const std::string& canonical, const std::string& source,
                           const std::string& name);

/// The columns of a Measurement, of a table or its alias: what measurement_at() reads.
std::string measurement_columns(const std::string& table);
Measurement measurement_at(SQLite::Statement& row, int first_column);

/// The columns of a TaskKey, of program p, binding b, task k, target t: what key_at() reads.
inline constexpr const char* kKeyColumns = "p.key, b.parameters, k.class, t.fingerprint, k.abi, k.threads";
NumericsClass class_at(SQLite::Statement& row, int column);
TaskKey key_at(SQLite::Statement& row, int first_column);

/// What a record and its program hold of a TuningRecord: all but the key.
std::string record_columns();
inline constexpr int kDigestColumn = 11;  ///< of record_columns() and record_select()
/// SELECT of whole records with their keys; the caller adds a WHERE clause.
std::string record_select();
/// A row of record_columns(), whose key the caller knows.
TuningRecord record_at(SQLite::Statement& row, TaskKey key);
/// A row of record_select().
TuningRecord record_at(SQLite::Statement& row);

std::string blob_at(SQLite::Statement& row, int column);

/// The first figure of a measurement that no clock tells (ir/values/measured_times.h): such a row would win, or lose,
/// for ever. Empty: none. Failures and kernels that were compared alone have no times.
std::string impossible_figure(const Measurement& m);
/// Of a record, whose kernel was timed.
std::string impossible_figure(const TuningRecord& record);

}  // namespace polyweft::db
