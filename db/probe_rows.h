// What was probed of each host's machine, one row a host and target.
#pragma once

#include <SQLiteCpp/Database.h>

#include <optional>
#include <string>
#include <vector>

#include "polyweft/database.h"

namespace polyweft::db {

/// Replaces the row of the same host.
void set_probe(SQLite::Database& handle, const ProbedHost& host);
/// Nothing of a row that does not match its digest.
std::optional<ProbedHost> probe_of(SQLite::Database& handle, const std::string& host);
/// Those that match their digests, by name.
std::vector<ProbedHost> probes(SQLite::Database& handle);
/// A line for each damaged row.
std::vector<std::string> damaged_probes(SQLite::Database& handle);

}  // namespace polyweft::db
