// A runner that can be started anew: another process, whose code, arguments and scratch memory lie elsewhere.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "polyweft/runner.h"

namespace polyweft {

class RenewableRunner final : public Runner {
 public:
  using Start = std::function<Result<std::unique_ptr<Runner>>()>;
  static Result<std::unique_ptr<RenewableRunner>> start(Start start);

  Status begin(const RunnerTask& task) override;
  Result<RunOutcome> run(const RunRequest& request) override { return runner_->run(request); }
  Status set_incumbent(const LoadableKernel& kernel) override;
  bool is_emulated() const override { return runner_->is_emulated(); }

  /// What runs next runs in a process of its own, which knows the same task and incumbent. Costs a run of the
  /// reference.
  Status renew();

 private:
  RenewableRunner(Start start, std::unique_ptr<Runner> runner) : start_(std::move(start)), runner_(std::move(runner)) {}

  Start start_;
  std::unique_ptr<Runner> runner_;
  std::optional<RunnerTask> task_;
  std::optional<LoadableKernel> incumbent_;
};

}  // namespace polyweft
