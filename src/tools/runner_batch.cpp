#include "runner_batch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <utility>

#include "runner_clock.h"
#include "runner_json.h"
#include "support/build_identity.h"
#include "support/files.h"
#include "targets/gpu/cuda/ptx_machines.h"

namespace polyweft::runner {

using targets::Batch;
using targets::BatchCandidate;
using targets::BatchEvent;
using targets::BatchRace;
using targets::BatchResults;
using targets::BatchRow;
using targets::BatchStep;

namespace {

// As in a search (driver/tune_loop.cpp).
constexpr std::chrono::milliseconds kTimingBudget{120}, kRaceBudget{200}, kHiccup{300};
constexpr double kMostPairs = 12, kHopeless = 4;
/// Begun so often without an outcome a candidate ends whatever runs it.
constexpr int kMostStarts = 2;

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

/// A new file is made where its name says, and not where a link that leads nowhere does.
int opened_or_made(const std::string& name) {
  const int found = open(name.c_str(), O_RDWR | O_CLOEXEC);
  return found >= 0 || errno != ENOENT ? found : open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
}

Error bad_results(const std::string& name, const std::string& why) {
  return fail("PW0615", "results " + name + ": " + why);
}

RunRequest request_of(const BatchCandidate& candidate, const BatchStep& step, bool is_emulated) {
  RunRequest request;
  request.candidate = candidate.kernel;
  if (is_emulated) {
    request.compare_on = {InputSet::integer_valued, InputSet::random, InputSet::adversarial};
    request.time_budget = std::chrono::milliseconds{0};
    return request;
  }
  const std::chrono::milliseconds pairs(static_cast<int64_t>(2 * kMostPairs * step.beside_ns / 1e6));
  request.time_budget = std::max(step.event == BatchEvent::race ? kRaceBudget : kTimingBudget, pairs);
  request.incumbent_ns = step.event == BatchEvent::race ? 0 : step.beside_ns;
  request.pair_with_incumbent = step.beside != BatchRow::kAlone;
  if (step.beside_ns > 0)
    request.deadline = kHiccup + std::chrono::milliseconds(static_cast<int64_t>(kHopeless * step.beside_ns / 1e6));
  return request;
}

const char* name_of_event(BatchEvent event) {
  return event == BatchEvent::race ? "race" : event == BatchEvent::again ? "again" : "trial";
}

/// Of a kernel that was compared alone: nobody looks at an emulator's clock.
Timing expected(double ns) {
  Timing timing;
  timing.median_ns = timing.min_ns = ns;
  return timing;
}

}  // namespace

Result<BatchJob> BatchJob::open(const std::string& path) {
  auto batch = targets::read_batch(path);
  if (!batch) return batch.error();
  if (batch->build != build_identity())
    return fail("PW0611", "work file " + path + " was made by build " + batch->build.substr(0, 64) +
                              ", and this runner is of build " + build_identity() +
                              ": kernels, bounds and nests go together in one build alone");
  BatchJob job(std::move(*batch), path);
  job.name_ = targets::results_path(path);
  if (const std::string kind = why_no_file(job.name_); !kind.empty()) return bad_results(job.name_, "the file " + kind);
  job.results_ = opened_or_made(job.name_);
  if (job.results_ < 0) return bad_results(job.name_, std::string("they cannot be written: ") + std::strerror(errno));
  if (flock(job.results_, LOCK_EX | LOCK_NB) != 0) return bad_results(job.name_, "another process measures this work");
  auto found = targets::read_results(job.name_, job.batch_);
  if (!found) return found.error();
  if (*found) job.found_ = std::move(**found);
  return job;
}

BatchJob::BatchJob(BatchJob&& other) noexcept
    : batch_(std::move(other.batch_)),
      path_(std::move(other.path_)),
      name_(std::move(other.name_)),
      results_(std::exchange(other.results_, -1)),
      is_json_(other.is_json_),
      found_(std::move(other.found_)),
      incumbent_(other.incumbent_) {}

BatchJob::~BatchJob() {
  if (results_ >= 0) close(results_);
}

Status BatchJob::append(const std::string& bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t wrote = write(results_, bytes.data() + at, bytes.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return bad_results(name_, std::string("they cannot be written: ") + std::strerror(errno));
    at += static_cast<size_t>(wrote);
  }
  if (fdatasync(results_) != 0)
    return bad_results(name_, std::string("they cannot be written: ") + std::strerror(errno));
  return Ok{};
}

/// What was cut off in the middle of a row goes; times of another device do not go together with this one's.
Status BatchJob::begin(const std::string& device, bool is_emulated) {
  if (found_.whole_bytes == 0) {
    found_.batch = batch_.id;
    found_.device = device;
    found_.host = host_name();
    found_.is_emulated = is_emulated;
    return append(targets::encode_results(found_));
  }
  if (found_.device != device || found_.is_emulated != is_emulated)
    return bad_results(name_, "they are of " + (found_.device.empty() ? "the CPU of " + found_.host : found_.device) +
                                  ", and this is " + (device.empty() ? "the CPU of " + host_name() : device) +
                                  ": move them away to measure here");
  const auto whole = static_cast<off_t>(found_.whole_bytes);
  if (ftruncate(results_, whole) != 0 || lseek(results_, whole, SEEK_SET) != whole)
    return bad_results(name_, std::string("they cannot be written: ") + std::strerror(errno));
  return Ok{};
}

Result<BatchRow> BatchJob::measured(Lab& lab, const BatchStep& step, bool is_emulated) {
  const BatchCandidate& candidate = batch_.candidates[step.candidate];
  BatchRow row{step.event, step.candidate, step.beside, 0, static_cast<int64_t>(std::time(nullptr)), {}};
  if (candidate.kernel.bytes.empty()) {
    row.outcome.status = RunStatus::build_failed;
    row.outcome.detail = candidate.problem;
    return row;
  }
  if (step.started >= kMostStarts) {
    row.outcome.status = RunStatus::crash;
    row.outcome.detail = "the runner, or its machine, ended each time while this candidate ran";
    return row;
  }
  if (Status noted =
          append(targets::encode_row({BatchEvent::started, step.candidate, step.beside, 0, row.unix_time, {}}));
      !noted)
    return noted.error();
  if (step.beside != incumbent_) {
    const auto kernel = step.beside == BatchRow::kAlone ? LoadableKernel{} : batch_.candidates[step.beside].kernel;
    if (Status set = lab.set_incumbent(kernel); !set) return set.error();
    incumbent_ = step.beside;
  }
  const double start = now_ns();
  auto outcome = lab.run(request_of(candidate, step, is_emulated));
  if (!outcome) return outcome.error();
  row.outcome = std::move(*outcome);
  row.seconds = (now_ns() - start) / 1e9;
  if (is_emulated && row.outcome.status == RunStatus::ok) row.outcome.timing = expected(candidate.predicted_ns);
  if (row.outcome.timing.ratio <= 0) row.beside = BatchRow::kAlone;
  return row;
}

void BatchJob::print_as_json(const BatchRow& row, const BatchRace& race) const {
  const Timing& timing = row.outcome.timing;
  std::printf(
      "{\"schema\":\"polyweft.measure/"
      "1\",\"event\":\"row\",\"what\":\"%s\",\"candidate\":%u,\"of\":%zu,\"status\":\"%s\","
      "\"median_ns\":%.17g,\"ratio\":%.17g,\"ratio_lo\":%.17g,\"ratio_hi\":%.17g,\"beside\":%lld,"
      "\"best\":%s,\"detail\":%s}\n",
      name_of_event(row.event), row.candidate + 1, batch_.candidates.size(), name_of(row.outcome.status),
      timing.median_ns, timing.ratio, timing.ratio_lo, timing.ratio_hi,
      row.beside == BatchRow::kAlone ? 0LL : static_cast<long long>(row.beside) + 1,
      race.best() == row.candidate ? "true" : "false", json_text(row.outcome.detail).c_str());
  std::fflush(stdout);
}

void BatchJob::print_end(const BatchRace& race, const std::string& device, bool is_emulated) const {
  const auto best = race.best();
  const char* const where = device.empty() ? "this CPU" : device.c_str();
  if (is_json_)
    std::printf(
        "{\"schema\":\"polyweft.measure/1\",\"event\":\"result\",\"candidates\":%zu,\"winner\":%u,"
        "\"device\":%s,\"times\":\"%s\"}\n",
        batch_.candidates.size(), best ? *best + 1 : 0, json_text(where).c_str(),
        is_emulated ? "expected" : "measured");
  else
    std::printf("%zu candidates measured on %s; %s\nnext: polyweft tune --observe %s\n", batch_.candidates.size(),
                where, best ? ("the winner is number " + std::to_string(*best + 1)).c_str() : "none is right",
                path_.c_str());
  std::fflush(stdout);
}

void BatchJob::print(const BatchRow& row, const BatchRace& race) const {
  if (is_json_) return print_as_json(row, race);
  const Timing& timing = row.outcome.timing;
  std::printf("%-5s %4u of %zu  %-12s", name_of_event(row.event), row.candidate + 1, batch_.candidates.size(),
              name_of(row.outcome.status));
  if (timing.median_ns > 0) std::printf(" %12.3f us", timing.median_ns / 1e3);
  constexpr double kNoInterval = 1e6;  // of too few pairs
  const char* const beside = row.event == BatchEvent::race ? "its rival's" : "the best's";
  if (timing.ratio > 0) std::printf("  %.3f of %s", timing.ratio, beside);
  if (timing.ratio > 0 && timing.ratio_hi < kNoInterval)
    std::printf(" (%.3f .. %.3f)", timing.ratio_lo, timing.ratio_hi);
  if (!row.outcome.detail.empty()) std::printf("  %.200s", row.outcome.detail.c_str());
  std::printf("%s\n", race.best() == row.candidate && row.event != BatchEvent::race ? "  best" : "");
  std::fflush(stdout);
}

Status BatchJob::run(Lab& lab, const std::string& device, const std::string& machine, bool is_emulated) {
  if (!batch_.machine.empty() && !targets::takes_ptx_for(machine, batch_.machine))
    return fail("PW0517", "work file " + path_ + " is for " + batch_.machine + ", and the device here is of " +
                              (machine.empty() ? "no such kind" : machine));
  if (Status begun = begin(device, is_emulated); !begun) return begun;
  BatchRace race(batch_, is_emulated);
  for (const BatchRow& row : found_.rows) race.tell(row);
  if (!is_json_ && race.measured() > 0 && race.next())
    std::printf("%u of %zu were measured before\n", race.measured(), batch_.candidates.size());
  bool has_begun = false;
  while (const auto step = race.next()) {
    if (!has_begun) {
      const auto reference_ns = lab.begin(batch_.task, batch_.id);
      if (!reference_ns) return reference_ns.error();
      has_begun = true;
    }
    auto row = measured(lab, *step, is_emulated);
    if (!row) return row.error();
    if (Status kept = append(targets::encode_row(*row)); !kept) return kept;
    race.tell(*row);
    print(*row, race);
  }
  print_end(race, device, is_emulated);
  return Ok{};
}

}  // namespace polyweft::runner
