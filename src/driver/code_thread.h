// Code generation on a thread of its own. LLVM looks at no clock: whoever waits for it beyond the call's end leaves the
// thread behind, which ends when its work is done and touches nothing of the caller's.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "polyweft/result.h"
#include "support/stop.h"

namespace polyweft {

/// While it lives the process does not end: its thread uses LLVM's tables, which the end of a process destroys.
class ThreadAtWork {
 public:
  ThreadAtWork();
  ~ThreadAtWork();
  ThreadAtWork(const ThreadAtWork&) = delete;
  ThreadAtWork& operator=(const ThreadAtWork&) = delete;
};

/// Called by whoever leaves such a thread behind.
void wait_at_exit_for_threads();

class CodeThread {
 public:
  CodeThread() = default;
  ~CodeThread();
  CodeThread(const CodeThread&) = delete;
  CodeThread& operator=(const CodeThread&) = delete;

  /// The result of `work`, which must own all that it uses; PW0839 where `stop` comes first. Where it never comes the
  /// work is done here.
  template <class T>
  Result<T> run(const Stop& stop, std::function<Result<T>()> work) {
    if (!stop.may_come()) return work();
    auto out = std::make_shared<std::unique_ptr<Result<T>>>();
    const bool is_done = finishes(stop, [out, work = std::move(work)] { *out = std::make_unique<Result<T>>(work()); });
    return is_done ? std::move(**out) : Result<T>(stopped("code generation"));
  }

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::function<void()> work;  ///< empty: none
    bool is_over = false;
  };
  static void serve(const std::shared_ptr<Shared>& shared, const std::shared_ptr<ThreadAtWork>& counted);
  bool finishes(const Stop& stop, std::function<void()> work);

  std::shared_ptr<Shared> shared_;  ///< of the thread; null: there is none
};

}  // namespace polyweft
