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
  /// `may_be_missing`: see TunerOptions::may_miss_database.
  explicit Stored(std::string path, bool may_be_missing = false)
      : path_(std::move(path)), may_be_missing_(may_be_missing) {}
  /// While it lives the file may be missing: whoever stores makes it.
  class Making {
   public:
    explicit Making(Stored& stored) : stored_(stored), before_(stored.may_be_missing_) {
      stored.may_be_missing_ = true;
    }
    ~Making() { stored_.may_be_missing_ = before_; }
    Making(const Making&) = delete;
    Making& operator=(const Making&) = delete;

   private:
    Stored& stored_;
    const bool before_;
  };
  /// Is there a database at all?
  bool is_given() const { return !path_.empty(); }
  /// Made where there is no file yet; PW0709 where none is given.
  Result<Database*> open();
  /// Null where none is given, or its file is not there and may be missing: who only looks makes no file. PW0724 where
  /// it may not.
  Result<Database*> existing();
  /// PW0709 where none is given, PW0724 where its file is not there.
  Result<Database*> opened();
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
  bool may_be_missing_;
  std::unique_ptr<Database> database_;
};

}  // namespace polyweft
