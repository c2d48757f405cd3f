#include "driver/turn.h"

namespace polyweft {

bool OneAtATime::enter(const Stop& stop) {
  const auto me = std::this_thread::get_id();
  std::unique_lock lock(mutex_);
  const auto is_free = [&] { return depth_ == 0 || inside_ == me; };
  while (!changed_.wait_for(lock, kStopPeriod, is_free)) {
    lock.unlock();  // who is asked may take its time
    const bool is_due = stop.is_due();
    lock.lock();
    if (is_due && !is_free()) return false;
  }
  inside_ = me;
  ++depth_;
  return true;
}

void OneAtATime::leave() {
  const std::lock_guard lock(mutex_);
  if (--depth_ > 0) return;
  inside_ = {};
  changed_.notify_one();
}

Turn::Turn(OneAtATime& calls, Call& call, const TaskOptions& options) : calls_(calls) {
  const bool is_bounded = options.deadline.count() > 0;
  const auto at = is_bounded ? Stop::Clock::now() + options.deadline : Stop::Clock::time_point::max();
  has_come_ = calls.enter(Stop(at, options.cancelled));
  if (!has_come_) return;
  ends_.emplace(call, at, options.cancelled);
  begin(call);
}

// What no stage inside the call names.
void Turn::begin(Call& call) {
  work_.emplace(call.times.get(), "other work of the call");
}

Turn::~Turn() {
  work_.reset();
  ends_.reset();
  if (has_come_) calls_.leave();
}

Status Turn::came() const {
  return has_come_ ? Status(Ok{}) : stopped("waiting for the call of another thread");
}

}  // namespace polyweft
