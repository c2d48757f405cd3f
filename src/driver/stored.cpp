#include "driver/stored.h"

#include <filesystem>

namespace polyweft {

Result<Database*> Stored::open(Missing missing) {
  if (!database_) {
    auto opened = open_database(path_, missing);
    if (!opened) return opened.error();
    database_ = std::move(opened).value();
  }
  return database_.get();
}

Result<Database*> Stored::open() {
  if (path_.empty())
    return fail("PW0709", "no database was given", {"give --database PATH, or TunerOptions::database"});
  return open(Missing::create);
}

Result<Database*> Stored::existing() {
  if (database_) return database_.get();
  std::error_code ignored;
  if (path_.empty() || !std::filesystem::exists(path_, ignored)) return static_cast<Database*>(nullptr);
  return open(Missing::refuse);
}

Result<std::optional<TuningRecord>> Stored::best(const Task& task) {
  auto database = existing();
  if (!database) return database.error();
  if (!*database) return std::optional<TuningRecord>();
  return (*database)->best(task.key, task.canonical_text);
}

Result<std::optional<TuningRecord>> Stored::expected(const Task& task) {
  auto database = existing();
  if (!database) return database.error();
  if (!*database) return std::optional<TuningRecord>();
  return (*database)->best(emulated(task.key), task.canonical_text);
}

Result<SearchEffort> Stored::effort(const Task& task) {
  auto database = existing();
  if (!database) return database.error();
  if (!*database) return SearchEffort{};
  return (*database)->effort(task.key);
}

}  // namespace polyweft
