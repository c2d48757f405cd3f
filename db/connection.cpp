#include "db/connection.h"

#include <SQLiteCpp/Backup.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <map>

#include "db/migrate.h"
#include "db/schema.h"
#include "support/files.h"

namespace polyweft::db {
namespace {

// Magic numbers of statfs(2) for file systems on which WAL's shared memory does not work.
bool is_network_file_system(const std::string& path) {
  struct statfs info {};
  const auto folder = std::filesystem::path(path).parent_path();
  if (statfs(folder.empty() ? "." : folder.c_str(), &info) != 0) return false;
  constexpr std::array<long, 6> kNetwork = {0x6969, 0xFF534D42, 0x517B, 0x0BD00BD0, 0x47504653, 0x01021997};
  for (long magic : kNetwork)
    if (static_cast<long>(info.f_type) == magic) return true;
  return false;
}

std::map<std::string, std::string> schema_in(SQLite::Database& handle) {
  std::map<std::string, std::string> found;
  SQLite::Statement query(
      handle, "SELECT name, ifnull(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'");
  while (query.executeStep()) found[query.getColumn(0).getString()] = query.getColumn(1).getString();
  return found;
}

Error foreign_file(const std::string& path, const std::string& what) {
  return fail("PW0701", "database " + path + ": not a Polyweft database: " + what,
              {"choose another path with --database; this file was not changed"});
}

Status check_schema(SQLite::Database& handle, const std::string& path) {
  auto found = schema_in(handle);
  for (const auto& object : schema_objects()) {
    auto it = found.find(object.name);
    if (it == found.end()) return foreign_file(path, std::string("it has no ") + object.name);
    if (it->second != object.sql)
      return foreign_file(path, std::string("its definition of ") + object.name + " differs");
    found.erase(it);
  }
  if (!found.empty())
    return foreign_file(path, "it holds '" + found.begin()->first + "', which no version of Polyweft makes");
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
Status bring_up_to_date(SQLite::Database& handle, const std::string& path) {
  handle.exec("PRAGMA foreign_keys = OFF");
  handle.exec(
      "PRAGMA legacy_alter_table = ON");  // references to a renamed table keep its old name, which the new one gets
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
    if (read_only)
      return fail("PW0704", "database " + path + ": empty and read-only",
                  {"make the file writable or choose another path"});
    handle.exec("BEGIN IMMEDIATE");
    // Another process may have created the tables while we waited for the lock.
    if (user_version(handle) == 0) create_schema(handle);
    handle.exec("COMMIT");
  }
  const int version = user_version(handle);
  if (version > kSchemaVersion)
    return fail("PW0702",
                "database " + path + ": schema version " + std::to_string(version) + " is newer than this polyweft's " +
                    std::to_string(kSchemaVersion),
                {"use the newer polyweft that wrote it"});
  if (version > 0 && version < kSchemaVersion) return bring_up_to_date(handle, path);
  return check_schema(handle, path);
}

void harden(SQLite::Database& handle) {
  sqlite3_db_config(handle.getHandle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  handle.exec("PRAGMA trusted_schema = OFF");
  handle.exec("PRAGMA cell_size_check = ON");
  handle.exec("PRAGMA foreign_keys = ON");
  handle.exec("PRAGMA mmap_size = 0");
  handle.exec("PRAGMA cache_size = -65536");  // 64 MiB: inner pages of every index of 10^5 records stay, and a look-up
                                              // reads only its leaves
}

std::string choose_journal(SQLite::Database& handle, const std::string& path) {
  const char* mode = is_network_file_system(path) ? "PRAGMA journal_mode = DELETE" : "PRAGMA journal_mode = WAL";
  std::string journal = handle.execAndGet(mode).getString();
  handle.exec("PRAGMA synchronous = FULL");
  return journal;
}

/// How a file is opened.
enum class OpenAccess {
  read_write,
  read_only,  ///< SQLite reads the write-ahead log, and needs its shared memory for that
  immutable,  ///< the file alone, without locks: for a file that nobody changes
  snapshot,   ///< a copy of it in memory
};

// Every byte that has a meaning in a URI, and all that are not plain letters, by number.
std::string uri_of(const std::string& path) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                          (byte >= '0' && byte <= '9') || byte == '/' || byte == '.' || byte == '-' || byte == '_';
    if (is_plain)
      out += c;
    else
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out + "?immutable=1";
}

// Whoever has the handle calls it from one thread at a time: SQLite need not lock itself at every column it hands out.
std::unique_ptr<SQLite::Database> open_handle(const std::string& path, OpenAccess access) {
  const bool as_it_lies = access == OpenAccess::immutable || access == OpenAccess::snapshot;
  const int flags =
      SQLite::OPEN_NOMUTEX |
      (access == OpenAccess::read_write ? SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE : SQLite::OPEN_READONLY) |
      (as_it_lies ? SQLite::OPEN_URI : 0);
  auto handle = std::make_unique<SQLite::Database>(as_it_lies ? uri_of(path) : path, flags, kBusyTimeoutMs);
  harden(*handle);
  return handle;
}

// Read at once, so that nobody who writes meanwhile is seen half.
std::unique_ptr<SQLite::Database> copy_in_memory(SQLite::Database& file) {
  auto copy = std::make_unique<SQLite::Database>(
      ":memory:", SQLite::OPEN_NOMUTEX | SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, kBusyTimeoutMs);
  SQLite::Backup(*copy, file).executeStep(-1);
  harden(*copy);
  return copy;
}

struct FileState {
  int64_t bytes = 0, seconds = 0, nanoseconds = 0;
  bool operator==(const FileState&) const = default;
};
FileState state_of(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return {};
  return {info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

Result<Connection> open_with(const std::string& path, OpenAccess access) {
  try {
    Connection connection;
    connection.path = path;
    connection.read_only = access != OpenAccess::read_write;
    const FileState before = state_of(path);
    connection.handle = open_handle(path, access);
    const int version = user_version(*connection.handle);
    if (access == OpenAccess::snapshot || (connection.read_only && version > 0 && version < kSchemaVersion)) {
      connection.handle = copy_in_memory(*connection.handle);
      if (state_of(path) != before)
        return fail("PW0703", "database " + path + ": another process wrote it while it was read",
                    {"run the same command again"});
    }
    auto checked = create_or_check(*connection.handle, path, connection.read_only);
    if (!checked) return checked.error();
    connection.journal = connection.read_only ? "read-only" : choose_journal(*connection.handle, path);
    return connection;
  } catch (const SQLite::Exception& exception) {
    return sqlite_error(path, exception);
  }
}

bool has_log(const std::string& path) {
  return state_of(path + "-wal").bytes > 0;
}

bool is_on_read_only_file_system(const std::string& path) {
  struct statvfs info {};
  return statvfs(path.c_str(), &info) == 0 && (info.f_flag & ST_RDONLY) != 0;
}

Error cannot_be_written(const std::string& path) {
  return fail("PW0704", "database " + path + ": cannot be written",
              {"check the rights of the file and of its folder, or give --database"});
}

// Without rights to its folder SQLite cannot make the log's shared memory. What stands in a log alone must not be left
// out unsaid.
Result<Connection> open_for_reading(const std::string& path) {
  auto opened = open_with(path, OpenAccess::read_only);
  if (opened || opened.error().code != "PW0704") return opened;
  if (has_log(path))
    return fail("PW0704",
                "database " + path + ": cannot be written, and rows stand in its log " + path +
                    "-wal, which SQLite cannot read so",
                {"copy both files to a folder that you may write, and give --database"});
  return open_with(path, is_on_read_only_file_system(path) ? OpenAccess::immutable : OpenAccess::snapshot);
}

Status may_be_made(const std::string& path, Missing missing) {
  if (missing == Missing::refuse)
    return fail("PW0724", "database " + path + ": there is no such file",
                {"polyweft tune makes one; check the path of --database"});
  std::error_code ignored;
  const auto folder = std::filesystem::path(path).parent_path();
  if (folder.empty() || std::filesystem::is_directory(folder, ignored)) return Ok{};
  return fail("PW0724", "database " + path + ": there is no folder " + folder.string(),
              {"make the folder, or check the path of --database"});
}

Error disk_is_full(const std::string& path) {
  return fail("PW0705", "database " + path + ": the disk is full",
              {"nothing committed is lost: free some space and run the same command again"});
}

// SQLite's log and its shared memory grow by mapping, and it calls that an input or output error.
bool has_no_space(const std::string& path) {
  constexpr uint64_t kLeastBytes = 64 << 10;
  struct statvfs info {};
  const auto folder = std::filesystem::path(path).parent_path();
  if (statvfs(folder.empty() ? "." : folder.c_str(), &info) != 0) return false;
  return info.f_bavail * info.f_frsize < kLeastBytes || (info.f_files > 0 && info.f_favail == 0);
}

}  // namespace

Error sqlite_error(const std::string& path, const SQLite::Exception& exception) {
  const std::string subject = "database " + path + ": ";
  switch (exception.getErrorCode() & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fail("PW0703", subject + "locked by another process for more than 30 s",
                  {"find the process with: fuser " + path});
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return cannot_be_written(path);
    case SQLITE_CANTOPEN:
      if (has_no_space(path)) return disk_is_full(path);
      return fail("PW0704", subject + "cannot be opened", {"does its folder exist, and may you write there?"});
    case SQLITE_FULL:
      return disk_is_full(path);
    case SQLITE_IOERR:
      return has_no_space(path) ? disk_is_full(path) : fail("PW0707", subject + exception.what());
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return fail("PW0706", subject + "damaged, or not a database", {"run: polyweft db verify --database " + path});
    default:
      return fail("PW0707", subject + exception.what());
  }
}

Result<Connection> open_connection(const std::string& path, Missing missing) {
  std::error_code ignored;
  if (const std::string kind = why_no_kept_file(path); !kind.empty())
    return fail("PW0727", "database " + path + ": " + kind, {"give the path of a file with --database"});
  if (!std::filesystem::exists(path, ignored)) {
    if (auto may = may_be_made(path, missing); !may) return may.error();
    return open_with(path, OpenAccess::read_write);
  }
  if (access(path.c_str(), W_OK) != 0) return open_for_reading(path);
  auto opened = open_with(path, OpenAccess::read_write);
  return opened || opened.error().code != "PW0704" ? std::move(opened) : open_for_reading(path);
}

Status is_writable(Connection& connection) {
  const auto folder = std::filesystem::path(connection.path).parent_path();
  if (connection.read_only || access(folder.empty() ? "." : folder.c_str(), W_OK) != 0)
    return cannot_be_written(connection.path);
  try {
    connection.handle->exec("BEGIN IMMEDIATE");
    connection.handle->exec("ROLLBACK");
    return Ok{};
  } catch (const SQLite::Exception& exception) {
    return sqlite_error(connection.path, exception);
  }
}

}  // namespace polyweft::db
