#include "targets/workers/runner_client.h"

#include <algorithm>
#include <utility>

#include "ir/values/measured_times.h"
#include "support/build_identity.h"
#include "support/cpu_features.h"
#include "support/helper_path.h"
#include "support/stage_times.h"
#include "support/stop.h"

namespace polyweft {
namespace targets {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kReferenceDeadline{320'000};  // the worker itself gives the reference 300 s
constexpr milliseconds kSupervisionSlack{
    30'000};  // the worker's own deadlines come first; this one is for a worker that hangs

std::vector<std::string> command_line(const RunnerOptions& options) {
  std::vector<std::string> argv = options.command;
  if (argv.empty()) argv.push_back(helper_program("polyweft-runner"));
  argv.push_back("--memory-limit=" + std::to_string(options.memory_limit_bytes));
  if (const std::string level = held_cpu_level(); !level.empty()) argv.push_back("--host=" + level);
  if (!options.device.empty()) argv.push_back("--device=" + options.device);
  return argv;
}

ProcessLimits supervisor_limits() {
  ProcessLimits limits;
  limits.file_bytes = UINT64_MAX;  // its memory files count as files; candidates' processes get 0
  limits.open_files = 1024;
  return limits;
}

RunStatus status_of(EndKind kind) {
  switch (kind) {
    case EndKind::timed_out:
      return RunStatus::hang;
    case EndKind::out_of_memory:
      return RunStatus::out_of_memory;
    case EndKind::forbidden_call:
      return RunStatus::forbidden_system_call;
    default:
      return RunStatus::crash;
  }
}

}  // namespace

Result<std::unique_ptr<WorkerRunner>> WorkerRunner::start(const RunnerOptions& options) {
  WorkerOptions worker_options{command_line(options), supervisor_limits(), StandardError::capture};
  worker_options.is_stopped = options.is_stopped;
  auto worker = WorkerProcess::start(std::move(worker_options));
  if (!worker) return worker.error();
  std::unique_ptr<WorkerRunner> runner(new WorkerRunner(std::move(*worker), options));
  if (Status greeted = runner->greet(); !greeted) return greeted.error();
  runner->told_worker_ = runner->worker_.starts();
  return runner;
}

Status WorkerRunner::greet() {
  auto answer = ask(RunnerMessage::hello, "", RunnerMessage::described, options_.start_deadline);
  if (!answer) return answer.error();
  auto description = decode_description(*answer);  // an older one says less
  Status same = same_build(command_line(options_)[0], description ? description->build : "");
  if (!same) {
    worker_.stop();
    return same;
  }
  description_ = std::move(*description);
  return Ok{};
}

Result<std::string> WorkerRunner::ask(RunnerMessage question, std::string_view payload, RunnerMessage answer,
                                      milliseconds deadline) {
  auto frame = worker_.exchange(static_cast<uint16_t>(question), payload, deadline);
  const bool is_start = question == RunnerMessage::hello;
  const auto used = worker_.processor_time();
  StageTimes::add_to_call(is_start ? "runner: start" : "runner: comparing and timing kernels", used - counted_);
  counted_ = used;
  if (!frame) return frame.error();
  if (frame->type == static_cast<uint16_t>(RunnerMessage::refused)) return decode_error(frame->payload);
  if (frame->type == static_cast<uint16_t>(answer)) return std::move(frame->payload);
  worker_.stop();
  return fail("PW0605", "runner: answered with a message of type " + std::to_string(frame->type));
}

/// A worker that knows the current task and incumbent.
Status WorkerRunner::ensure_ready() {
  if (worker_.running() && worker_.starts() == told_worker_) return Ok{};
  if (Status greeted = greet(); !greeted) return greeted;
  const uint64_t child = worker_.starts();
  if (!task_.empty())
    if (auto began = ask(RunnerMessage::begin, task_, RunnerMessage::began, kReferenceDeadline); !began)
      return began.error();
  if (!incumbent_.empty())
    if (auto set = ask(RunnerMessage::set_incumbent, incumbent_, RunnerMessage::accepted, kSupervisionSlack); !set)
      return set.error();
  told_worker_ = child;
  return Ok{};
}

Status WorkerRunner::begin(const RunnerTask& task) {
  if (Status ready = ensure_ready(); !ready) return ready;
  std::string payload = encode(task);
  auto began = ask(RunnerMessage::begin, payload, RunnerMessage::began, kReferenceDeadline);
  if (!began) return began.error();
  ByteReader in(*began);
  reference_ns_ = in.f64();
  if (!(reference_ns_ >= 0 && reference_ns_ <= kLongestNs)) in.mark_failed("has a time that no clock tells");
  if (Status done = in.finish(); !done) return done;
  if (task_ != payload) noted_.clear();
  task_ = std::move(payload);
  incumbent_.clear();
  return Ok{};
}

Status WorkerRunner::set_incumbent(const LoadableKernel& kernel) {
  if (Status ready = ensure_ready(); !ready) return ready;
  std::string payload = encode(kernel);
  if (auto set = ask(RunnerMessage::set_incumbent, payload, RunnerMessage::accepted, kSupervisionSlack); !set)
    return set.error();
  incumbent_ = std::move(payload);
  return Ok{};
}

milliseconds WorkerRunner::deadline_of(const RunRequest& request) const {
  const double launch_ms = request.deadline.count() > 0
                               ? static_cast<double>(request.deadline.count())
                               : 3 * std::max(reference_ns_, request.incumbent_ns) / 1e6 + 1000;
  const double launches = 8.0 + 50.0 * static_cast<double>(std::count(request.compare_on.begin(),
                                                                      request.compare_on.end(), InputSet::adversarial));
  const double total = launches * launch_ms + static_cast<double>(request.time_budget.count());
  return milliseconds(static_cast<int64_t>(std::min(total, 8.64e7))) + kSupervisionSlack + kReferenceDeadline;
}

RunOutcome WorkerRunner::outcome_of_dead_worker(const Error& error) const {
  RunOutcome outcome;
  outcome.status = status_of(worker_.last_end().kind);
  outcome.detail = "the worker process " + worker_.last_end().text();
  if (!error.notes.empty()) outcome.detail += ": " + error.notes.front();
  outcome.reference_ns = reference_ns_;
  return outcome;
}

/// What an emulator or a model of cycles runs takes longer than its times say, by no known factor.
RunRequest WorkerRunner::with_time_for_models(RunRequest request) const {
  if (options_.device == "program" || description_.is_emulated)
    request.deadline = std::max(request.deadline, options_.emulated_call_deadline);
  return request;
}

void WorkerRunner::hand_on(const std::vector<SetNote>& notes) {
  for (const SetNote& note : notes)
    if (options_.on_note && noted_.insert(note.set).second) options_.on_note(note);
}

Result<RunOutcome> WorkerRunner::run(const RunRequest& asked) {
  if (Status ready = ensure_ready(); !ready) return ready.error();
  const RunRequest request = with_time_for_models(asked);
  auto answer = ask(RunnerMessage::run, encode(request), RunnerMessage::outcome, deadline_of(request));
  if (answer) {
    auto outcome = decode_outcome(*answer);
    if (outcome) hand_on(outcome->notes);
    return outcome;
  }
  if (!worker_.running() && answer.error().code != "PW0606" && !is_stopped(answer.error()))
    return outcome_of_dead_worker(answer.error());
  return answer.error();
}

}  // namespace targets

Result<std::unique_ptr<Runner>> start_local_runner(const RunnerOptions& options) {
  auto runner = targets::WorkerRunner::start(options);
  if (!runner) return runner.error();
  return std::unique_ptr<Runner>(std::move(*runner));
}

}  // namespace polyweft
