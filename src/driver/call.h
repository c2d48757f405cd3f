// What a call of Tuner has beside its task: when it has to end, where its time goes, who hears what is being done.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "support/stage_times.h"
#include "support/stop.h"

namespace polyweft {

struct Call {
  Stop stop;
  std::shared_ptr<StageTimes> times = std::make_shared<StageTimes>();  ///< threads left behind tell it, too
  std::function<void(const std::string&)> doing;                       ///< "checking the program"; may be empty
  std::function<void(const std::string&)> notice;                      ///< a line for the user that stays; may be empty
  std::string last_said;

  void say(const std::string& what) {
    if (doing && what != last_said) doing(what);
    last_said = what;
  }
  bool ends_within(std::chrono::milliseconds time) const {
    return stop.is_due() || (stop.may_come() && stop.at() < Stop::Clock::now() + time);
  }
  /// Whoever was stopped has so much for what must not be lost.
  void give_last(std::chrono::milliseconds most) {
    if (stop.may_come()) stop = Stop(Stop::Clock::now() + most);
  }
};

/// Another end for what is done inside a call, or the call's own where that comes first; ends with the scope.
class StopScope {
 public:
  /// `is_asked` empty: the call's own.
  StopScope(Call& call, Stop::Clock::time_point at, std::function<bool()> is_asked) : call_(call), outer_(call.stop) {
    if (!is_asked && outer_.may_come()) is_asked = [this] { return outer_.is_due() && outer_.was_asked(); };
    call_.stop = Stop(std::min(at, outer_.at()), std::move(is_asked));
  }
  ~StopScope() { call_.stop = outer_; }
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  Call& call_;
  Stop outer_;
};

/// Null: a call without an end, nobody asks where its time goes.
inline bool is_due(const Call* call) {
  return call && call->stop.is_due();
}
inline StageTimes* times_of(Call* call) {
  return call ? call->times.get() : nullptr;
}

}  // namespace polyweft
