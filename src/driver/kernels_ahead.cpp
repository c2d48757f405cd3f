#include "driver/kernels_ahead.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "driver/code_thread.h"
#include "support/stop.h"

namespace polyweft {

BuildThreads build_threads(int kernel_threads) {
  constexpr int kMost = 4;  // candidates of a batch
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  const int spare = cores - kernel_threads - 1;
  if (spare >= 1) return {std::min(spare, kMost), true};
  return {cores >= 2 ? std::min(cores, kMost) : 0, false};
}

KernelsAhead::KernelsAhead(Build build, BuildThreads how, std::function<bool()> is_stopped)
    : how_(how), is_stopped_(std::move(is_stopped)), shared_(std::make_shared<Shared>()) {
  shared_->build = std::move(build);
}

KernelsAhead::~KernelsAhead() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_over = true;
  }
  shared_->changed.notify_all();
  const bool is_left_behind = is_stopped_ && is_stopped_();
  if (is_left_behind) wait_at_exit_for_threads();
  for (std::thread& thread : threads_) is_left_behind ? thread.detach() : thread.join();
}

double KernelsAhead::slowest_build_s() {
  const std::lock_guard lock(shared_->mutex);
  return shared_->slowest_s;
}

Result<LoadableKernel> KernelsAhead::Shared::built(const LoopNest& nest) {
  const auto start = std::chrono::steady_clock::now();
  auto kernel = build(nest);
  const double took_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::lock_guard lock(mutex);
  slowest_s = std::max(slowest_s, took_s);
  return kernel;
}

void KernelsAhead::work(const std::shared_ptr<Shared>& shared) {
  const ThreadAtWork counted;
  std::unique_lock lock(shared->mutex);
  while (true) {
    shared->changed.wait(lock, [&] { return shared->is_over || !shared->queue.empty(); });
    if (shared->is_over) return;
    const std::shared_ptr<Job> job = shared->queue.front();
    shared->queue.pop_front();
    lock.unlock();
    auto kernel = std::make_unique<Result<LoadableKernel>>(shared->built(job->wanted.nest));
    lock.lock();
    job->kernel = std::move(kernel);
    shared->changed.notify_all();
  }
}

template <class IsDone>
bool KernelsAhead::waited_for(std::unique_lock<std::mutex>& lock, const IsDone& is_done) {
  while (!shared_->changed.wait_for(lock, kStopPeriod, is_done))
    if (is_stopped_ && is_stopped_()) return false;
  return true;
}

void KernelsAhead::begin(std::vector<Wanted> wanted) {
  if (how_.threads <= 0) return;
  while (threads_.size() < std::min(static_cast<size_t>(how_.threads), wanted.size()))
    threads_.emplace_back(work, shared_);
  std::unique_lock lock(shared_->mutex);
  jobs_.clear();
  shared_->queue.clear();
  for (Wanted& each : wanted) {
    auto job = std::make_shared<Job>();
    job->wanted = std::move(each);
    if (jobs_.emplace(job->wanted.nest_hash, job).second) shared_->queue.push_back(job);
  }
  shared_->changed.notify_all();
  if (how_.while_measuring) return;
  waited_for(lock, [&] {
    return std::all_of(jobs_.begin(), jobs_.end(), [](const auto& each) { return each.second->kernel != nullptr; });
  });
}

Result<LoadableKernel> KernelsAhead::take(const std::string& nest_hash, const LoopNest& nest) {
  std::unique_lock lock(shared_->mutex);
  const auto found = jobs_.find(nest_hash);
  if (found == jobs_.end()) {
    lock.unlock();
    CodeThread thread;
    return thread.run<LoadableKernel>(Stop(Stop::Clock::time_point::max(), is_stopped_),
                                      [shared = shared_, nest] { return shared->built(nest); });
  }
  const std::shared_ptr<Job> job = found->second;
  jobs_.erase(found);
  if (!waited_for(lock, [&] { return job->kernel != nullptr; })) return stopped("code generation");
  return std::move(*job->kernel);
}

}  // namespace polyweft
