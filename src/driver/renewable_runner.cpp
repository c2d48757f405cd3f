#include "driver/renewable_runner.h"

namespace polyweft {

Result<std::unique_ptr<RenewableRunner>> RenewableRunner::start(Start start) {
  auto runner = start();
  if (!runner) return runner.error();
  return std::unique_ptr<RenewableRunner>(new RenewableRunner(std::move(start), std::move(*runner)));
}

Status RenewableRunner::begin(const RunnerTask& task) {
  task_ = task;
  incumbent_.reset();
  return runner_->begin(task);
}

Status RenewableRunner::set_incumbent(const LoadableKernel& kernel) {
  incumbent_ = kernel;
  return runner_->set_incumbent(kernel);
}

Status RenewableRunner::renew() {
  auto runner = start_();
  if (!runner) return runner.error();
  runner_ = std::move(*runner);
  if (task_)
    if (Status begun = runner_->begin(*task_); !begun) return begun;
  return incumbent_ ? runner_->set_incumbent(*incumbent_) : Status(Ok{});
}

}  // namespace polyweft
