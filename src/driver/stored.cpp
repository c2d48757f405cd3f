#include "driver/stored.h"

#include <filesystem>
#include <set>

#include "driver/device_key.h"

namespace polyweft {

Result<Database*> Stored::open(Missing missing) {
  if (!database_) {
    auto opened = open_database(path_, missing);
    if (!opened) return opened.error();
    database_ = std::move(opened).value();
  }
  return database_.get();
}

namespace {

Error none_given() {
  return fail("PW0709", "no database was given", {"give --database PATH, or TunerOptions::database"});
}

}  // namespace

Result<Database*> Stored::open() {
  return path_.empty() ? Result<Database*>(none_given()) : open(Missing::create);
}

Result<Database*> Stored::opened() {
  return path_.empty() ? Result<Database*>(none_given()) : open(Missing::refuse);
}

Result<Database*> Stored::existing() {
  std::error_code ignored;
  const bool is_missing = path_.empty() || (may_be_missing_ && !database_ && !std::filesystem::exists(path_, ignored));
  return is_missing ? Result<Database*>(static_cast<Database*>(nullptr)) : open(Missing::refuse);
}

Result<std::optional<TuningRecord>> Stored::best(const Task& task) {
  auto database = existing();
  if (!database) return database.error();
  if (!*database) return std::optional<TuningRecord>();
  return (*database)->best(task.key, task.canonical_text);
}

Result<std::optional<TuningRecord>> Stored::best_of_devices(const Task& task) {
  auto database = existing();
  if (!database) return database.error();
  if (!*database) return std::optional<TuningRecord>();
  for (const TaskKey& key : {on_device(task.key, task.device), task.key}) {
    auto found = (*database)->best(key, task.canonical_text);
    if (!found || *found) return found;
  }
  RecordFilter filter{.program = task.key.program, .cls = task.key.cls, .threads = task.key.threads};
  filter.target = task.key.target;
  auto rows = (*database)->list(filter);
  if (!rows) return rows.error();
  std::optional<TuningRecord> fastest;
  std::set<TaskKey> asked;
  for (const TuningRecord& row : *rows) {
    if (!is_on_some_device(row.key, task.key) || !asked.insert(row.key).second) continue;
    auto found = (*database)->best(row.key, task.canonical_text);
    if (!found) return found;
    const bool is_faster =
        *found && (!fastest || (*found)->measurement.timing.median_ns < fastest->measurement.timing.median_ns);
    if (is_faster) fastest = std::move(**found);
  }
  return fastest;
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
