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
  KernelsAhead(Build build, BuildThreads how);
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
  /// Waits where it was begun, else compiles it now.
  Result<LoadableKernel> take(const std::string& nest_hash, const LoopNest& nest);
  /// Of all kernels so far, ahead or not; 0: none was compiled.
  double slowest_build_s();

 private:
  struct Job {
    Wanted wanted;
    std::unique_ptr<Result<LoadableKernel>> kernel = nullptr;
  };
  void work();
  Result<LoadableKernel> built(const LoopNest& nest);

  Build build_;
  BuildThreads how_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<Job>> jobs_;
  std::deque<std::shared_ptr<Job>> queue_;
  bool is_over_ = false;
  double slowest_s_ = 0;
  std::vector<std::thread> threads_;  ///< last: they use the rest
};

}  // namespace polyweft
