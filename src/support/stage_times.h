// Where the processor's time of a call goes, by stage: what `--timings` prints.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace polyweft {

/// Several threads may tell it at once.
class StageTimes {
 public:
  struct Row {
    std::string stage;
    std::chrono::nanoseconds processor{};
    int64_t entered = 0;  ///< how often
  };
  /// What a helper process says of its own work.
  void add(const std::string& stage, std::chrono::nanoseconds processor, int64_t entered = 1);
  /// The most expensive first.
  std::vector<Row> rows() const;

  /// What a helper used that this thread asked, in the call whose stage runs on it; where none runs it is not counted.
  static void add_to_call(const std::string& stage, std::chrono::nanoseconds processor);

  /// The thread's processor time while it lives belongs to the stage, but for what stages inside of it take.
  class Running {
   public:
    /// `times` may be null: nothing is counted.
    Running(StageTimes* times, std::string stage);
    /// A part of what runs on this thread; where no stage runs nothing is counted.
    explicit Running(std::string part);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    friend class StageTimes;
    StageTimes* times_;
    std::string stage_;
    std::chrono::nanoseconds start_{}, inside_{};
    Running* around_ = nullptr;
  };

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Row> by_stage_;
};

}  // namespace polyweft
