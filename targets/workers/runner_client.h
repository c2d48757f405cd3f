// The tuner's side of the runner: a Runner that speaks with a worker process.
#pragma once

#include <set>

#include "polyweft/runner.h"
#include "support/subprocess.h"
#include "targets/workers/runner_protocol.h"

namespace polyweft::targets {

/// A Runner over one worker process. When the worker itself dies, the next call starts a new one and tells it the
/// current task and incumbent again, so that tuning goes on.
class WorkerRunner : public Runner {
 public:
  static Result<std::unique_ptr<WorkerRunner>> start(const RunnerOptions& options);
  Status begin(const RunnerTask& task) override;
  Result<RunOutcome> run(const RunRequest& request) override;
  Status set_incumbent(const LoadableKernel& kernel) override;
  bool is_emulated() const override { return description_.is_emulated; }

  /// What the worker's sandbox consists of.
  const WorkerDescription& description() const { return description_; }
  const WorkerProcess& worker() const { return worker_; }

 private:
  WorkerRunner(WorkerProcess worker, RunnerOptions options)
      : worker_(std::move(worker)), options_(std::move(options)) {}
  Status greet();
  Status ensure_ready();
  Result<std::string> ask(RunnerMessage question, std::string_view payload, RunnerMessage answer,
                          std::chrono::milliseconds deadline);
  void hand_on(const std::vector<SetNote>& notes);
  RunRequest with_time_for_models(RunRequest request) const;
  std::chrono::milliseconds deadline_of(const RunRequest& request) const;
  RunOutcome outcome_of_dead_worker(const Error& error) const;

  WorkerProcess worker_;
  RunnerOptions options_;
  WorkerDescription description_;
  std::string task_, incumbent_;  ///< encoded; empty: none
  double reference_ns_ = 0;
  std::set<InputSet> noted_;            ///< sets of the task whose notes were handed on
  std::chrono::nanoseconds counted_{};  ///< of its processor time, what stages have
  uint64_t told_worker_ = 0;            ///< number of the child that knows task and incumbent
};

}  // namespace polyweft::targets
