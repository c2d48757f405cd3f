// Whose turn it is: calls of a tuner by several threads are answered one after the other.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "driver/call.h"
#include "polyweft/tuner.h"

namespace polyweft {

/// A thread that is inside may enter again: what a call tells its caller may lead to another call.
class OneAtATime {
 public:
  /// False where `stop` comes first.
  bool enter(const Stop& stop);
  void leave();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread::id inside_;
  int depth_ = 0;
};

/// A call from its turn to its end, which its options say: what it does stops there.
class Turn {
 public:
  /// Waits as long as it takes.
  explicit Turn(OneAtATime& calls) : calls_(calls), has_come_(calls.enter(Stop())) {}
  Turn(OneAtATime& calls, Call& call) : Turn(calls) { begin(call); }
  /// Waits until the call's own end.
  Turn(OneAtATime& calls, Call& call, const TaskOptions& options);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  /// PW0839 where the call's end came before its turn.
  Status came() const;

 private:
  void begin(Call& call);

  OneAtATime& calls_;
  bool has_come_;
  std::optional<StopScope> ends_;
  std::optional<StageTimes::Running> work_;
};

}  // namespace polyweft
