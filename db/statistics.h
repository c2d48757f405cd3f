// Counts of a database by target and class, in two queries.
#pragma once

#include <vector>

#include "db/connection.h"
#include "polyweft/database.h"

namespace polyweft::db {

/// Throws SQLite::Exception, like everything inside this folder.
std::vector<TargetStats> stats_by_target(SQLite::Database& handle);

}  // namespace polyweft::db
