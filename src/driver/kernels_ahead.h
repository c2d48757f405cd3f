// Kernels of the next candidates, compiled side by side on threads of their own.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "polyweft/loop_nest.h"
#include "polyweft/runner.h"

namespace polyweft {

/// How a search may use the cores that its kernels leave.
struct BuildThreads {
  int threads = 0;               ///< 0: each kernel is compiled when it is asked for
  bool while_measuring = false;  ///< else all that were begun are compiled before begin() returns: where cores are
                                 ///< short, a compiler beside a kernel changes its time
};
/// Of this machine, where kernels run on `kernel_threads`.
BuildThreads build_threads(int kernel_threads);

/// Not for several threads at a time.
class KernelsAhead {
 public:
  using Build = std::function<Result<LoadableKernel>(const LoopNest&)>;  ///< called by several threads at once
  /// `is_stopped`, asked by the caller's thread while it waits: true ends take() and begin(), and whatever is being
  /// compiled then is left to end by itself, so that `build` must own all that it uses. Empty: never.
  KernelsAhead(Build build, BuildThreads how, std::function<bool()> is_stopped = {});
  ~KernelsAhead();
  KernelsAhead(const KernelsAhead&) = delete;
  KernelsAhead& operator=(const KernelsAhead&) = delete;

  struct Wanted {
    std::string nest_hash;
    LoopNest nest;
  };
  bool builds_ahead() const { return how_.threads > 0; }
  /// What was begun before and not taken is dropped.
  void begin(std::vector<Wanted> wanted);
  /// Waits where it was begun, else compiles it now. PW0839 where it was stopped.
  Result<LoadableKernel> take(const std::string& nest_hash, const LoopNest& nest);
  /// Of all kernels so far, ahead or not; 0: none was compiled.
  double slowest_build_s();

 private:
  struct Job {
    Wanted wanted;
    std::unique_ptr<Result<LoadableKernel>> kernel = nullptr;
  };
  /// What its threads use.
  struct Shared {
    Build build;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::shared_ptr<Job>> queue;
    bool is_over = false;
    double slowest_s = 0;

    Result<LoadableKernel> built(const LoopNest& nest);
  };
  static void work(const std::shared_ptr<Shared>& shared);
  /// False where it was stopped before.
  template <class IsDone>
  bool waited_for(std::unique_lock<std::mutex>& lock, const IsDone& is_done);

  BuildThreads how_;
  std::function<bool()> is_stopped_;
  std::map<std::string, std::shared_ptr<Job>> jobs_;
  std::shared_ptr<Shared> shared_;
  std::vector<std::thread> threads_;
};

}  // namespace polyweft
