// What searches of a task have spent, one row a task: each flush of a search adds to it.
#pragma once

#include <SQLiteCpp/Database.h>

#include <string>
#include <vector>

#include "polyweft/records.h"

namespace polyweft::db {

/// Inside the caller's transaction, before the measurements that were part of it: a task without a row begins with
/// those it has.
void add_effort(SQLite::Database& handle, int64_t task, const SearchEffort& spent);
/// Nothing of a row that does not match its digest: what it says was done is done again.
SearchEffort effort_of(SQLite::Database& handle, const TaskKey& key);
/// A line for each damaged row.
std::vector<std::string> damaged_efforts(SQLite::Database& handle);

}  // namespace polyweft::db
