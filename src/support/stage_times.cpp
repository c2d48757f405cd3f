#include "support/stage_times.h"

#include <time.h>

#include <algorithm>
#include <utility>

namespace polyweft {
namespace {

std::chrono::nanoseconds processor_time_of_thread() {
  timespec time = {};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return {};
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

void StageTimes::add(const std::string& stage, std::chrono::nanoseconds processor, int64_t entered) {
  const std::lock_guard lock(mutex_);
  Row& row = by_stage_[stage];
  row.stage = stage;
  row.processor += processor;
  row.entered += entered;
}

std::vector<StageTimes::Row> StageTimes::rows() const {
  const std::lock_guard lock(mutex_);
  std::vector<Row> out;
  for (const auto& [stage, row] : by_stage_) out.push_back(row);
  std::stable_sort(out.begin(), out.end(), [](const Row& a, const Row& b) { return a.processor > b.processor; });
  return out;
}

namespace {
/// The innermost stage of each thread.
thread_local StageTimes::Running* innermost = nullptr;
}  // namespace

void StageTimes::add_to_call(const std::string& stage, std::chrono::nanoseconds processor) {
  if (innermost) innermost->times_->add(stage, processor);
}

StageTimes::Running::Running(StageTimes* times, std::string stage) : times_(times), stage_(std::move(stage)) {
  if (!times_) return;
  start_ = processor_time_of_thread();
  around_ = std::exchange(innermost, this);
}

StageTimes::Running::Running(std::string part) : Running(innermost ? innermost->times_ : nullptr, std::move(part)) {}

StageTimes::Running::~Running() {
  if (!times_) return;
  const auto all = processor_time_of_thread() - start_;
  times_->add(stage_, all - inside_);
  innermost = around_;
  if (around_) around_->inside_ += all;
}

}  // namespace polyweft
