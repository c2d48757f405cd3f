#include "driver/kernels_ahead.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace polyweft {

BuildThreads build_threads(int kernel_threads) {
  constexpr int kMost = 4;  // candidates of a batch
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  const int spare = cores - kernel_threads - 1;
  if (spare >= 1) return {std::min(spare, kMost), true};
  return {cores >= 2 ? std::min(cores, kMost) : 0, false};
}

KernelsAhead::KernelsAhead(Build build, BuildThreads how) : build_(std::move(build)), how_(how) {}

KernelsAhead::~KernelsAhead() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

double KernelsAhead::slowest_build_s() {
  const std::lock_guard lock(mutex_);
  return slowest_s_;
}

Result<LoadableKernel> KernelsAhead::built(const LoopNest& nest) {
  const auto start = std::chrono::steady_clock::now();
  auto kernel = build_(nest);
  const double took_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::lock_guard lock(mutex_);
  slowest_s_ = std::max(slowest_s_, took_s);
  return kernel;
}

void KernelsAhead::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_over_ || !queue_.empty(); });
    if (is_over_) return;
    const std::shared_ptr<Job> job = queue_.front();
    queue_.pop_front();
    lock.unlock();
    auto kernel = std::make_unique<Result<LoadableKernel>>(built(job->wanted.nest));
    lock.lock();
    job->kernel = std::move(kernel);
    changed_.notify_all();
  }
}

void KernelsAhead::begin(std::vector<Wanted> wanted) {
  if (how_.threads <= 0) return;
  while (threads_.size() < std::min(static_cast<size_t>(how_.threads), wanted.size()))
    threads_.emplace_back([this] { work(); });
  std::unique_lock lock(mutex_);
  jobs_.clear();
  queue_.clear();
  for (Wanted& each : wanted) {
    auto job = std::make_shared<Job>();
    job->wanted = std::move(each);
    if (jobs_.emplace(job->wanted.nest_hash, job).second) queue_.push_back(job);
  }
  changed_.notify_all();
  if (how_.while_measuring) return;
  changed_.wait(lock, [&] {
    return std::all_of(jobs_.begin(), jobs_.end(), [](const auto& each) { return each.second->kernel != nullptr; });
  });
}

Result<LoadableKernel> KernelsAhead::take(const std::string& nest_hash, const LoopNest& nest) {
  std::unique_lock lock(mutex_);
  const auto found = jobs_.find(nest_hash);
  if (found == jobs_.end()) {
    lock.unlock();
    return built(nest);
  }
  const std::shared_ptr<Job> job = found->second;
  jobs_.erase(found);
  changed_.wait(lock, [&] { return job->kernel != nullptr; });
  return std::move(*job->kernel);
}

}  // namespace polyweft
