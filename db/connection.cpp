#include "db/connection.h"

#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <sqlite3.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <map>

#include "db/migrate.h"
#include "db/schema.h"

namespace polyweft::db {
namespace {

constexpr int kBusyTimeoutMs = 30'000;

// Magic numbers of statfs(2) for file systems on which WAL's shared memory does not work.
bool is_network_file_system(const std::string& path) {
  struct statfs info{};
  const auto folder = std::filesystem::path(path).parent_path();
  if (statfs(folder.empty() ? "." : folder.c_str(), &info) != 0) return false;
  constexpr std::array<long, 6> kNetwork = {0x6969, 0xFF534D42, 0x517B, 0x0BD00BD0, 0x47504653, 0x01021997};
  for (long magic : kNetwork)
    if (static_cast<long>(info.f_type) == magic) return true;
  return false;
}

std::map<std::string, std::string> schema_in(SQLite::Database& handle) {
  std::map<std::string, std::string> found;
  SQLite::Statement query(handle, "SELECT name, ifnull(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'");
  while (query.executeStep()) found[query.getColumn(0).getString()] = query.getColumn(1).getString();
  return found;
}

Error foreign_file(const std::string& path, const std::string& what) {
  return fail("PW0701", "database " + path + ": not a Polyweft database: " + what, {"choose another path with --database; this file was not changed"});
}

Status check_schema(SQLite::Database& handle, const std::string& path) {
  auto found = schema_in(handle);
  for (const auto& object : schema_objects()) {
    auto it = found.find(object.name);
    if (it == found.end()) return foreign_file(path, std::string("it has no ") + object.name);
    if (it->second != object.sql) return foreign_file(path, std::string("its definition of ") + object.name + " differs");
    found.erase(it);
  }
  if (!found.empty()) return foreign_file(path, "it holds '" + found.begin()->first + "', which no version of Polyweft makes");
  return Ok{};
}

void create_schema(SQLite::Database& handle) {
  for (const auto& object : schema_objects()) handle.exec(object.sql);
  handle.exec("PRAGMA user_version = " + std::to_string(kSchemaVersion));
  handle.exec("PRAGMA application_id = " + std::to_string(kApplicationId));
}

int user_version(SQLite::Database& handle) {
  return handle.execAndGet("PRAGMA user_version").getInt();
}

// A trigger would go with its table when that is rewritten, and nobody would have seen it.
Status has_known_names_only(SQLite::Database& handle, const std::string& path) {
  auto found = schema_in(handle);
  for (const auto& object : schema_objects()) found.erase(object.name);
  for (const char* gone : kNamesOfOlderSchemas) found.erase(gone);
  if (found.empty()) return Ok{};
  return foreign_file(path, "it holds '" + found.begin()->first + "', which no version of Polyweft makes");
}

// One transaction: a file that turns out not to be ours is left as it was. Another process may have been faster.
Status bring_up_to_date(SQLite::Database& handle, const std::string& path, bool read_only) {
  if (read_only)
    return fail("PW0704",
                "database " + path + ": schema version " + std::to_string(user_version(handle)) + " must be rewritten as " + std::to_string(kSchemaVersion) +
                    ", and the file is read-only",
                {"make the file writable, open it once, or choose another path"});
  handle.exec("PRAGMA foreign_keys = OFF");
  handle.exec("PRAGMA legacy_alter_table = ON");  // references to a renamed table keep its old name, which the new one gets
  auto work = [&]() -> Status {
    SQLite::Transaction transaction(handle, SQLite::TransactionBehavior::IMMEDIATE);
    if (const int version = user_version(handle); version < kSchemaVersion) {
      if (auto ours = has_known_names_only(handle, path); !ours) return ours;
      migrate(handle, version);
    }
    if (auto ours = check_schema(handle, path); !ours) return ours;
    transaction.commit();
    return Ok{};
  };
  auto done = work();
  handle.exec("PRAGMA legacy_alter_table = OFF");
  handle.exec("PRAGMA foreign_keys = ON");
  return done;
}

Status create_or_check(SQLite::Database& handle, const std::string& path, bool read_only) {
  if (user_version(handle) == 0 && schema_in(handle).empty()) {
    if (read_only) return fail("PW0704", "database " + path + ": empty and read-only", {"make the file writable or choose another path"});
    handle.exec("BEGIN IMMEDIATE");
    // Another process may have created the tables while we waited for the lock.
    if (user_version(handle) == 0) create_schema(handle);
    handle.exec("COMMIT");
  }
  const int version = user_version(handle);
  if (version > kSchemaVersion)
    return fail("PW0702", "database " + path + ": schema version " + std::to_string(version) + " is newer than this polyweft's " + std::to_string(kSchemaVersion),
                {"use the newer polyweft that wrote it"});
  if (version > 0 && version < kSchemaVersion) return bring_up_to_date(handle, path, read_only);
  return check_schema(handle, path);
}

void harden(SQLite::Database& handle) {
  sqlite3_db_config(handle.getHandle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  handle.exec("PRAGMA trusted_schema = OFF");
  handle.exec("PRAGMA cell_size_check = ON");
  handle.exec("PRAGMA foreign_keys = ON");
  handle.exec("PRAGMA mmap_size = 0");
  handle.exec("PRAGMA cache_size = -65536");  // 64 MiB: inner pages of every index of 10^5 records stay, and a look-up reads only its leaves
}

std::string choose_journal(SQLite::Database& handle, const std::string& path) {
  const char* mode = is_network_file_system(path) ? "PRAGMA journal_mode = DELETE" : "PRAGMA journal_mode = WAL";
  std::string journal = handle.execAndGet(mode).getString();
  handle.exec("PRAGMA synchronous = FULL");
  return journal;
}

Result<Connection> open_with(const std::string& path, bool read_only) {
  try {
    Connection connection;
    connection.path = path;
    connection.read_only = read_only;
    // One object belongs to one thread at a time (polyweft/database.h): SQLite need not lock itself at every column it hands out.
    const int flags = SQLite::OPEN_NOMUTEX | (read_only ? SQLite::OPEN_READONLY : SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    connection.handle = std::make_unique<SQLite::Database>(path, flags, kBusyTimeoutMs);
    harden(*connection.handle);
    auto checked = create_or_check(*connection.handle, path, read_only);
    if (!checked) return checked.error();
    connection.journal = read_only ? "read-only" : choose_journal(*connection.handle, path);
    return connection;
  } catch (const SQLite::Exception& exception) {
    return sqlite_error(path, exception);
  }
}

}  // namespace

Error sqlite_error(const std::string& path, const SQLite::Exception& exception) {
  const std::string subject = "database " + path + ": ";
  switch (exception.getErrorCode() & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fail("PW0703", subject + "locked by another process for more than 30 s", {"find the process with: fuser " + path});
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return fail("PW0704", subject + "cannot be written", {"check the rights of the file and of its folder, or give --database"});
    case SQLITE_CANTOPEN:
      return fail("PW0704", subject + "cannot be opened", {"does its folder exist, and may you write there?"});
    case SQLITE_FULL:
      return fail("PW0705", subject + "the disk is full", {"nothing committed is lost: free some space and run the same command again"});
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return fail("PW0706", subject + "damaged, or not a database", {"run: polyweft db verify --database " + path});
    default:
      return fail("PW0707", subject + exception.what());
  }
}

Result<Connection> open_connection(const std::string& path) {
  std::error_code ignored;
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  const bool exists = std::filesystem::exists(path, ignored);
  const bool read_only = exists && access(path.c_str(), W_OK) != 0;
  return open_with(path, read_only);
}

}  // namespace polyweft::db
