#include "db/answer_cache.h"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "support/hash.h"

namespace polyweft {
namespace {

constexpr int kLayout = 1;         ///< user_version of the file
constexpr int kBusyMs = 100;       ///< whoever waits longer is faster alone
constexpr int64_t kRowBytes = 96;  ///< of a row beside its value
constexpr int64_t kFreshSeconds = 86'400;

std::string raw_bytes(const Digest256& digest) {
  return std::string(reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size());
}

int64_t now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Names of programs are nobody else's business.
void make_private_file(const std::string& path) {
  const int made = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (made >= 0) ::close(made);
}

bool is_damage(const SQLite::Exception& problem) {
  const int code = problem.getErrorCode();
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_SCHEMA || code == SQLITE_ERROR;
}

std::string blob(const SQLite::Column& column) {
  return std::string(static_cast<const char*>(column.getBlob()), static_cast<size_t>(column.getBytes()));
}

}  // namespace

struct AnswerCache::State {
  Options options;
  std::unique_ptr<SQLite::Database> file;
  bool is_off = false;

  /// Damage costs the whole file, other trouble the cache for this process.
  template <class Work>
  void guarded(Work work) {
    if (is_off || options.path.empty() || options.secret.empty()) return;
    for (int tries = 0; tries < 2; ++tries) {
      try {
        return work();
      } catch (const SQLite::Exception& problem) {
        file.reset();
        std::error_code ignored;
        if (!is_damage(problem) || !std::filesystem::remove(options.path, ignored)) break;
      }
    }
    is_off = true;
  }

  SQLite::Database* opened(bool makes) {
    if (file) return file.get();
    std::error_code problem;
    const auto kind = std::filesystem::status(options.path, problem).type();
    if (kind != std::filesystem::file_type::regular && kind != std::filesystem::file_type::not_found) return nullptr;
    if (kind == std::filesystem::file_type::not_found) {
      if (!makes) return nullptr;
      const auto folder = std::filesystem::path(options.path).parent_path();
      std::filesystem::create_directories(folder, problem);
      make_private_file(options.path);
    }
    file = std::make_unique<SQLite::Database>(options.path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, kBusyMs);
    file->exec("PRAGMA synchronous = OFF");
    file->exec("PRAGMA journal_mode = TRUNCATE");
    make_tables();
    return file.get();
  }
  void make_tables() {
    if (file->execAndGet("PRAGMA user_version").getInt() == kLayout) return;
    SQLite::Transaction transaction(*file, SQLite::TransactionBehavior::IMMEDIATE);
    file->exec("DROP TABLE IF EXISTS answer");
    file->exec(
        "CREATE TABLE answer (question BLOB PRIMARY KEY, value BLOB NOT NULL, mac BLOB NOT NULL, used INTEGER NOT "
        "NULL) STRICT");
    file->exec("PRAGMA user_version = " + std::to_string(kLayout));
    transaction.commit();
  }

  std::string name_of(const std::string& question) const {
    return raw_bytes(blake2b_256_keyed(
        options.secret,
        raw_bytes(Hasher().field("polyweft question 1").field(options.build).field(question).finish256())));
  }
  std::string mac_of(const std::string& name, const std::string& value) const {
    return raw_bytes(blake2b_256_keyed(
        options.secret, raw_bytes(Hasher().field("polyweft answer 1").field(name).field(value).finish256())));
  }

  std::optional<std::string> found(const std::string& name) {
    SQLite::Database* at = opened(false);
    if (!at) return std::nullopt;
    SQLite::Statement query(*at, "SELECT value, mac, used FROM answer WHERE question = ?");
    query.bindNoCopy(1, name.data(), static_cast<int>(name.size()));
    if (!query.executeStep()) return std::nullopt;
    std::string value = blob(query.getColumn(0));
    if (blob(query.getColumn(1)) != mac_of(name, value)) return std::nullopt;
    const int64_t used = query.getColumn(2).getInt64();
    query.reset();
    if (now() - used > kFreshSeconds) set_used(name);
    return value;
  }
  /// A file that cannot be written answers all the same.
  void set_used(const std::string& name) {
    SQLite::Statement update(*file, "UPDATE answer SET used = ? WHERE question = ?");
    update.bind(1, now());
    update.bindNoCopy(2, name.data(), static_cast<int>(name.size()));
    update.tryExecuteStep();
  }

  void store(const std::string& name, const std::string& value) {
    SQLite::Database* at = opened(true);
    if (!at) return;
    SQLite::Transaction transaction(*at, SQLite::TransactionBehavior::IMMEDIATE);
    const std::string mac = mac_of(name, value);
    SQLite::Statement insert(*at, "INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?)");
    insert.bindNoCopy(1, name.data(), static_cast<int>(name.size()));
    insert.bindNoCopy(2, value.data(), static_cast<int>(value.size()));
    insert.bindNoCopy(3, mac.data(), static_cast<int>(mac.size()));
    insert.bind(4, now());
    insert.exec();
    shrink(*at);
    transaction.commit();
  }
  /// Three quarters are left where it is full, so that not every answer has to.
  void shrink(SQLite::Database& at) const {
    const int64_t pages =
        at.execAndGet("PRAGMA page_count").getInt64() - at.execAndGet("PRAGMA freelist_count").getInt64();
    if (pages * at.execAndGet("PRAGMA page_size").getInt64() <= options.most_bytes) return;
    SQLite::Statement oldest(
        at,
        "DELETE FROM answer WHERE question IN (SELECT question FROM (SELECT question, sum(length("
        "value) + ?) OVER (ORDER BY used DESC, rowid DESC) AS bytes FROM answer) WHERE bytes > ?)");
    oldest.bind(1, kRowBytes);
    oldest.bind(2, options.most_bytes / 4 * 3);
    oldest.exec();
  }
};

AnswerCache::AnswerCache(Options options) : state_(std::make_unique<State>()) {
  state_->options = std::move(options);
}
AnswerCache::~AnswerCache() = default;
AnswerCache::AnswerCache(AnswerCache&&) noexcept = default;
AnswerCache& AnswerCache::operator=(AnswerCache&&) noexcept = default;

std::optional<std::string> AnswerCache::find(const std::string& question) {
  std::optional<std::string> out;
  state_->guarded([&] { out = state_->found(state_->name_of(question)); });
  return out;
}

void AnswerCache::keep(const std::string& question, const std::string& answer) {
  constexpr size_t kMostShare = 8;
  if (answer.size() > static_cast<size_t>(state_->options.most_bytes) / kMostShare) return;
  state_->guarded([&] { state_->store(state_->name_of(question), answer); });
}

}  // namespace polyweft
