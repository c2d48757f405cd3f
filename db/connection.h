// Opening a database file: refusal of foreign files, creation, journal mode, and SQLite's errors as Polyweft's.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>

#include <memory>
#include <string>

#include "polyweft/database.h"
#include "polyweft/result.h"

namespace polyweft::db {

inline constexpr int kBusyTimeoutMs = 30'000;

struct Connection {
  std::unique_ptr<SQLite::Database> handle;
  std::string path;
  std::string journal;
  bool read_only = false;
};

/// Opens, creates or refuses `path`. What cannot be written is opened for reading: through the log where SQLite can,
/// else the file as it lies on a read-only file system, else a copy of it in memory, as is an older schema that cannot
/// be rewritten in place.
Result<Connection> open_connection(const std::string& path, Missing missing);

/// PW0704 where rows cannot be added, PW0703 where another process holds the lock.
Status is_writable(Connection& connection);

/// PW0703 .. PW0706 by SQLite's result code: locked, read-only, full, damaged, other.
Error sqlite_error(const std::string& path, const SQLite::Exception& exception);

}  // namespace polyweft::db
