// Opening a database file: refusal of foreign files, creation, journal mode, and SQLite's errors as Polyweft's.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>

#include <memory>
#include <string>

#include "polyweft/result.h"

namespace polyweft::db {

struct Connection {
  std::unique_ptr<SQLite::Database> handle;
  std::string path;
  std::string journal;
  bool read_only = false;
};

/// Opens, creates or refuses `path`.
Result<Connection> open_connection(const std::string& path);

/// PW0703 .. PW0706 by SQLite's result code: locked, read-only, full, damaged, other.
Error sqlite_error(const std::string& path, const SQLite::Exception& exception);

}  // namespace polyweft::db
