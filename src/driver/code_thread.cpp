#include "driver/code_thread.h"

#include <cstdlib>
#include <thread>

#include "polyweft/tuner.h"

namespace polyweft {
namespace {

/// Threads that generate code.
class Threads {
 public:
  ~Threads() { wait(); }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ == 0; });
  }
  int count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  void add(int by) {
    const std::lock_guard lock(mutex_);
    count_ += by;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

Threads& threads_at_work() {
  static Threads threads;
  return threads;
}

}  // namespace

ThreadAtWork::ThreadAtWork() {
  threads_at_work().add(1);
}
ThreadAtWork::~ThreadAtWork() {
  threads_at_work().add(-1);
}

bool is_code_being_made() {
  return threads_at_work().count() > 0;
}

// Whoever registers last is asked first: LLVM's own tables that were made until now are there still.
void wait_at_exit_for_threads() {
  std::atexit([] { threads_at_work().wait(); });
}

CodeThread::~CodeThread() {
  if (!shared_) return;
  const std::lock_guard lock(shared_->mutex);
  shared_->is_over = true;
  shared_->changed.notify_all();
}

void CodeThread::serve(const std::shared_ptr<Shared>& shared, const std::shared_ptr<ThreadAtWork>&) {
  std::unique_lock lock(shared->mutex);
  while (true) {
    shared->changed.wait(lock, [&] { return shared->is_over || shared->work; });
    if (!shared->work) break;
    lock.unlock();
    shared->work();
    lock.lock();
    shared->work = nullptr;
    shared->changed.notify_all();
  }
}

bool CodeThread::finishes(const Stop& stop, std::function<void()> work) {
  if (stop.is_due()) return false;
  if (!shared_) {
    shared_ = std::make_shared<Shared>();
    std::thread(serve, shared_, std::make_shared<ThreadAtWork>()).detach();
  }
  std::unique_lock lock(shared_->mutex);
  shared_->work = std::move(work);
  shared_->changed.notify_all();
  while (!shared_->changed.wait_for(lock, kStopPeriod, [&] { return !shared_->work; }))
    if (stop.is_due()) {
      shared_->is_over = true;
      wait_at_exit_for_threads();
      lock.unlock();
      shared_.reset();
      return false;
    }
  return true;
}

}  // namespace polyweft
