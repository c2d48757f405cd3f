// What was taken of each measurement, beside what: raw samples, and the interval of their pairs.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <string>
#include <vector>

#include "polyweft/records.h"

namespace polyweft::db {

/// Nothing is stored of a measurement without samples.
void add_pairs(SQLite::Database& handle, int64_t measurement, const Measurement& m);
/// What pairs_at() reads, of a table that is joined as `table`.
std::string pair_columns(const std::string& table);
/// The pairs of the measurement with this number, from the first of their columns on. Where there are none, or where
/// they do not match their digest, `m` stands beside nothing.
void pairs_at(SQLite::Statement& row, int first_column, int64_t measurement, Measurement& m);
/// A line for each damaged row.
std::vector<std::string> damaged_pairs(SQLite::Database& handle);

}  // namespace polyweft::db
