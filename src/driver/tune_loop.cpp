#include "driver/tune_loop.h"

#include <algorithm>

#include "driver/expected_time.h"
#include "driver/spaces.h"
#include "driver/tune_start.h"

namespace polyweft {
namespace {

constexpr const char* kExhausted = "space exhausted";
constexpr const char* kShareReached = "share of the roofline";
constexpr size_t kBatch = 4;
constexpr size_t kWinners = 4;
constexpr std::chrono::milliseconds kTimingBudget{120};
constexpr double kMostPairs =
    12;  // of slow kernels: an interval needs some pairs whatever they cost; the race ends earlier where it is decided

std::chrono::milliseconds timing_budget(double incumbent_ns) {
  const std::chrono::milliseconds pairs(static_cast<int64_t>(2 * kMostPairs * incumbent_ns / 1e6));
  return std::max(kTimingBudget, pairs);
}

bool is_timed(RunStatus status) {
  return status == RunStatus::ok || status == RunStatus::slower;
}

}  // namespace

TuneLoop::TuneLoop(const Task& task, const std::vector<NestTemplate>& templates, Strategy& strategy,
                   const TuneOptions& options, TuneWorld world)
    : task_(task),
      templates_(templates),
      strategy_(strategy),
      options_(options),
      world_(std::move(world)),
      limit_(options.max_workspace) {
  if (options_.refresh) world_.plan.before = {};
}

SearchEffort TuneLoop::effort() const {
  SearchEffort out = world_.plan.before;
  out.wall_s += ended_s_ > 0 ? ended_s_ : world_.elapsed_s();
  out.trials += trials_;
  if (reason_ == kExhausted && !limit_.is_set()) out.exhausted_by = toolchain();
  if (reason_ == kShareReached) out.until = std::max(out.until, options_.until);
  return out;
}

bool TuneLoop::should_end() {
  if (!reason_.empty()) return true;
  const SearchEffort spent = effort();
  const bool is_limited = options_.budget != TuneOptions::kNoLimit;
  const auto least = static_cast<int>(std::clamp<size_t>(world_.seeds.size(), 1, std::max<size_t>(world_.least, 1)));
  if (options_.cancelled && options_.cancelled()) {
    interrupted_ = true;
    reason_ = "interrupted";
  } else if (is_limited && tried_ >= least && spent.wall_s >= std::chrono::duration<double>(options_.budget).count()) {
    reason_ = "budget";  // never before the first choice was tried, and what is best of each other way to make code:
                         // else planning alone decides
  } else if (options_.trials > 0 && spent.trials >= options_.trials) {
    reason_ = "trials";
  } else if (options_.until > 0 && best_ns_ > 0 && world_.plan.bound_ns >= options_.until * best_ns_) {
    reason_ = kShareReached;
  }
  return !reason_.empty();
}

Status TuneLoop::load_history() {
  if (!world_.database) return Ok{};
  auto rows = world_.database->measurements(task_.key);
  if (!rows) return rows.error();
  for (auto& [trace, measurement] : *rows) {
    // Several measurements of one nest: the last one that was timed counts, a failure only where there is none.
    auto& known = history_[measurement.nest_hash];
    if (known.nest_hash.empty() || is_timed(measurement.status)) known = measurement;
  }
  return Ok{};
}

// What was right is measured again only where there is no record to go on from: then times of another hour must not
// decide. What failed would fail again.
const Measurement* TuneLoop::known(const std::string& nest_hash) const {
  const auto found = history_.find(nest_hash);
  if (found == history_.end()) return nullptr;
  return is_resumed_ || found->second.status != RunStatus::ok ? &found->second : nullptr;
}

// In an emulator whether the result is right; else the time, beside the incumbent's where it is asked for.
Result<RunOutcome> TuneLoop::run(const LoopNest& nest, RunRequest request) {
  if (!world_.expected_ns) return world_.runner->run(request);
  auto outcome = world_.runner->run(comparing_only(request.candidate));
  if (!outcome || outcome->status != RunStatus::ok) return outcome;
  const auto ns = world_.expected_ns(nest);
  if (ns) {
    outcome->timing = expected_timing(*ns, request.incumbent_ns);
  } else {
    outcome->status = RunStatus::build_failed;
    outcome->detail = ns.error().message;
  }
  return outcome;
}

/// The record's kernel as it runs now, the runner's incumbent; none where it no longer builds or is no longer right.
Result<std::optional<Winner>> TuneLoop::timed(const TuningRecord& record) {
  auto nest = parse_loop_nest(record.nest_text);
  if (!nest || !limit_.admits(*nest)) return std::optional<Winner>();
  auto kernel = world_.build(*nest);
  if (!kernel) return std::optional<Winner>();
  RunRequest request;
  request.candidate = *kernel;
  request.time_budget = kTimingBudget;
  auto outcome = run(*nest, request);
  if (!outcome) return outcome.error();
  reference_ns_ = outcome->reference_ns;
  if (outcome->status != RunStatus::ok) return std::optional<Winner>();
  Winner winner{std::move(*nest), record.measurement, record.trace_text, record.id};
  winner.measurement.timing = outcome->timing;
  best_ns_ = fastest_ns_ = outcome->timing.median_ns;
  if (auto set = world_.runner->set_incumbent(*kernel); !set) return set.error();
  return std::optional(std::move(winner));
}

Status TuneLoop::resume(const TuningRecord& record) {
  auto winner = timed(record);
  if (!winner) return winner.error();
  if (!*winner) return Ok{};
  winners_.push_back(std::move(**winner));
  is_resumed_ = true;
  return Ok{};
}

Status TuneLoop::try_first(const TuningRecord& record) {
  auto winner = timed(record);
  if (!winner) return winner.error();
  if (!*winner) return Ok{};
  (*winner)->record = 0;
  Measurement& measurement = (*winner)->measurement;
  measurement.strategy = "expected elsewhere";
  measurement.toolchain = toolchain();
  measurement.unix_time = world_.unix_time();
  ++trials_;
  ++measured_;
  winners_.push_back(std::move(**winner));
  return Ok{};
}

void TuneLoop::report(TuneEvent event, const Trial& trial, double peak_gflops) {
  if (!options_.progress) return;
  TuneProgress p;
  p.event = event;
  p.trial = trials_;
  p.measured = measured_;
  p.failed = failed_;
  p.scored = strategy_.scored();
  p.elapsed_s = world_.elapsed_s();
  p.status = trial.measurement.status;
  p.ns = trial.measurement.timing.median_ns;
  p.predicted_ns = trial.measurement.predicted_ns;
  p.best_ns = best_ns_;
  p.peak_gflops = peak_gflops;
  p.what = trial.measurement.status == RunStatus::ok ? "" : trial.measurement.detail;
  p.trace = trial.trace;
  options_.progress(p);
}

Status TuneLoop::run() {
  if (auto loaded = load_history(); !loaded) return loaded;
  if (!should_end())
    if (auto ran = run_batch(world_.seeds); !ran) return ran;
  while (!should_end()) {
    const auto batch = strategy_.ask(kBatch);
    if (batch.empty()) {
      reason_ = kExhausted;
      break;
    }
    if (auto ran = run_batch(batch); !ran) return ran;
  }
  ended_s_ = world_.elapsed_s();
  return store_kept();
}

Status TuneLoop::run_batch(const std::vector<Candidate>& batch) {
  std::vector<Observation> observations;
  for (const auto& candidate : batch) {
    if (should_end()) break;
    auto trial = try_candidate(candidate);
    if (!trial) {
      (void)store_kept();
      return trial.error();
    }
    observations.push_back(trial->observation);
    if (!trial->takes_too_much && !known(candidate.nest_hash)) kept_.push_back(*trial);
  }
  strategy_.tell(observations);
  return is_store_due() ? store_kept() : Ok{};
}

Result<TuneLoop::Trial> TuneLoop::try_candidate(const Candidate& candidate) {
  ++tried_;
  const NestTemplate& nest_template = templates_[candidate.sketch];
  auto nest = instantiate(nest_template, candidate.decisions);
  if (!nest) return nest.error();
  Trial trial;
  trial.trace = trace_text(nest_template, candidate.decisions);
  trial.measurement.nest_hash = candidate.nest_hash;
  trial.measurement.predicted_ns = candidate.predicted_ns;
  trial.measurement.strategy = strategy_.name();
  trial.measurement.seed = options_.seed;
  trial.measurement.toolchain = toolchain();
  trial.measurement.unix_time = world_.unix_time();
  if (!limit_.admits(*nest)) {
    trial.takes_too_much = true;
    trial.measurement.status = RunStatus::build_failed;
    trial.observation = {candidate, RunStatus::build_failed, 0};
    return trial;
  }
  if (const Measurement* before = known(candidate.nest_hash)) {
    trial.measurement = *before;
    trial.observation = {candidate, before->status, before->timing.median_ns};
    return trial;
  }
  ++trials_;
  return measure(candidate, *nest, std::move(trial));
}

Result<TuneLoop::Trial> TuneLoop::measure(const Candidate& candidate, const LoopNest& nest, Trial trial) {
  auto kernel = world_.build(nest);
  if (!kernel) {
    trial.measurement.status = RunStatus::build_failed;
    trial.measurement.detail = kernel.error().message;
  } else {
    RunRequest request;
    request.candidate = *kernel;
    request.time_budget = timing_budget(best_ns_);
    request.incumbent_ns = best_ns_;
    request.pair_with_incumbent = best_ns_ > 0;
    auto outcome = run(nest, request);
    if (!outcome) return outcome.error();
    reference_ns_ = outcome->reference_ns;
    trial.measurement.status = outcome->status;
    trial.measurement.detail = outcome->detail;
    trial.measurement.timing = outcome->timing;
  }
  trial.observation = {candidate, trial.measurement.status, trial.measurement.timing.median_ns};
  const bool timed = is_timed(trial.measurement.status);
  ++(timed ? measured_ : failed_);
  if (trial.measurement.status == RunStatus::ok)
    if (auto kept = keep_winner(nest, trial, *kernel); !kept) return kept.error();
  report(TuneEvent::trial, trial);
  return trial;
}

// Paired ratios decide against the incumbent; medians of different moments may differ by the machine's drift alone. But
// a neighbour may fall upon one side of a pair for a whole race: what is much slower than the best time seen in this
// search is not taken whatever its pairs say.
constexpr double kDrift = 1.1;

Status TuneLoop::keep_winner(LoopNest nest, const Trial& trial, const LoadableKernel& kernel) {
  const Timing& timing = trial.measurement.timing;
  const bool paired = timing.ratio > 0;
  const bool wins = paired ? timing.ratio_hi < 1 : timing.median_ns < best_ns_;
  const bool better = best_ns_ == 0 || (wins && timing.median_ns < kDrift * fastest_ns_);
  Winner winner{std::move(nest), trial.measurement, trial.trace};
  if (!better) {
    if (winners_.size() < kWinners) winners_.push_back(std::move(winner));
    return Ok{};
  }
  winners_.insert(winners_.begin(), std::move(winner));
  if (winners_.size() > kWinners) winners_.pop_back();
  best_ns_ = timing.median_ns;
  fastest_ns_ = fastest_ns_ == 0 ? best_ns_ : std::min(fastest_ns_, best_ns_);
  report(TuneEvent::best, trial, peak_beside(winners_.front().nest, kernel, best_ns_));
  return world_.runner->set_incumbent(kernel);
}

// The peak of the minute in which this candidate was the best, told so that its share is that of their turns; the
// roofline follows it. Nobody waits for it where a call is long: some twelve calls.
double TuneLoop::peak_beside(const LoopNest& nest, const LoadableKernel& kernel, double ns) {
  constexpr double kLongestNs = 20e6;
  const bool is_wanted = options_.progress || options_.until > 0;
  if (!world_.time_with_peak || !is_wanted || world_.plan.flops <= 0 || ns > kLongestNs) return 0;
  auto timed = world_.time_with_peak(nest, kernel);
  if (!timed || timed->peak_gflops <= 0 || ns <= 0) return 0;
  const double peak_gflops = timed->peak_gflops * timed->timing.median_ns / ns;
  world_.plan.bound_ns = roofline_ns(world_.plan, peak_gflops);
  return peak_gflops;
}

// A commit waits for the disk, milliseconds on a quiet one, seconds on a busy one: at most a twentieth of a search is
// spent on that.
bool TuneLoop::is_store_due() const {
  constexpr double kLeast = 1, kShare = 20;
  return world_.elapsed_s() - stored_at_s_ > std::max(kLeast, kShare * store_cost_s_);
}

Status TuneLoop::store_kept() {
  if (!world_.database) return Ok{};
  const double start_s = world_.elapsed_s();
  SearchEffort now = effort(), since;
  now.wall_s -= world_.plan.before.wall_s;
  now.trials -= world_.plan.before.trials;
  since = {now.wall_s - stored_.wall_s, now.trials - stored_.trials, now.until, now.exhausted_by};
  std::vector<std::pair<std::string, Measurement>> rows;
  for (const auto& trial : kept_) rows.emplace_back(trial.trace, trial.measurement);
  kept_.clear();
  auto stored = world_.database->add_measurements(task_.key, task_.canonical_text, task_.source_text, rows, since);
  stored_ = now;
  stored_at_s_ = world_.elapsed_s();
  store_cost_s_ = stored_at_s_ - start_s;
  return stored;
}

}  // namespace polyweft
