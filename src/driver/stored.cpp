#include "driver/stored.h"

namespace polyweft {

Result<Database*> Stored::open() {
  if (path_.empty()) return fail("PW0709", "no database was given", {"give --database PATH, or TunerOptions::database"});
  if (!database_) {
    auto opened = open_database(path_);
    if (!opened) return opened.error();
    database_ = std::move(opened).value();
  }
  return database_.get();
}

Result<std::optional<TuningRecord>> Stored::best(const Task& task) {
  if (path_.empty()) return std::optional<TuningRecord>();
  auto database = open();
  if (!database) return database.error();
  return (*database)->best(task.key, task.canonical_text);
}

Result<SearchEffort> Stored::effort(const Task& task) {
  if (path_.empty()) return SearchEffort{};
  auto database = open();
  if (!database) return database.error();
  return (*database)->effort(task.key);
}

}  // namespace polyweft
