// When work has to end before it is done: at a point in time, or when somebody asks for it.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include "polyweft/result.h"

namespace polyweft {

class Stop {
 public:
  using Clock = std::chrono::steady_clock;
  Stop() = default;  ///< it never comes
  /// `is_asked` may be empty; it is called by is_due() alone.
  explicit Stop(Clock::time_point at, std::function<bool()> is_asked = {}) : at_(at), is_asked_(std::move(is_asked)) {}

  /// Once it is due it stays so. For one thread at a time.
  bool is_due() const {
    if (!is_due_) was_asked_ = is_asked_ && is_asked_();
    if (!is_due_) is_due_ = was_asked_ || Clock::now() >= at_;
    return is_due_;
  }
  /// Somebody asked, before the time was over.
  bool was_asked() const { return was_asked_; }
  Clock::time_point at() const { return at_; }
  /// May it come at all? Who asks in vain does not have to.
  bool may_come() const { return is_asked_ || at_ != Clock::time_point::max(); }

 private:
  Clock::time_point at_ = Clock::time_point::max();
  std::function<bool()> is_asked_;
  mutable bool is_due_ = false, was_asked_ = false;
};

/// How often whoever waits for others asks.
inline constexpr std::chrono::milliseconds kStopPeriod{20};

/// PW0839. `what`: "the polyhedral analysis".
inline Error stopped(const std::string& what) {
  return fail("PW0839", what + " was stopped: the time is over, or it was asked for",
              {"give more time; nothing that was cut off is kept"});
}
inline bool is_stopped(const Error& error) {
  return error.code == "PW0839";
}

}  // namespace polyweft
