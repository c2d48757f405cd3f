// A tuner's database, opened when it is first asked.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "driver/task.h"
#include "polyweft/database.h"

namespace polyweft {

class Stored {
 public:
  explicit Stored(std::string path) : path_(std::move(path)) {}
  /// Is there a database at all?
  bool is_given() const { return !path_.empty(); }
  /// Made where there is no file yet; PW0709 where none is given.
  Result<Database*> open();
  /// Null where none is given or its file is not made yet: who only looks makes no file.
  Result<Database*> existing();
  /// The task's fastest record; none without a database.
  Result<std::optional<TuningRecord>> best(const Task& task);
  /// Of this machine's device, else of searches that knew none, else the fastest of any device: times of another one
  /// say less, and more than none.
  Result<std::optional<TuningRecord>> best_of_devices(const Task& task);
  /// The fastest of those that searches in an emulator have left.
  Result<std::optional<TuningRecord>> expected(const Task& task);
  /// What searches of the task have spent; nothing without a database.
  Result<SearchEffort> effort(const Task& task);

 private:
  Result<Database*> open(Missing missing);

  std::string path_;
  std::unique_ptr<Database> database_;
};

}  // namespace polyweft
