// What is damaged in a database: SQLite's own checks, digests of rows, and rows that repeat each other.
#pragma once

#include <SQLiteCpp/Database.h>

#include <string>
#include <vector>

namespace polyweft::db {

/// One message a fault; empty: sound. Throws SQLite::Exception.
std::vector<std::string> problems_of(SQLite::Database& handle);

}  // namespace polyweft::db
