#include "driver/tune_loop.h"

#include <algorithm>

#include "driver/spaces.h"

namespace polyweft {
namespace {

constexpr size_t kBatch = 4;
constexpr size_t kWinners = 4;
constexpr std::chrono::milliseconds kTimingBudget{120};
constexpr double kMostPairs = 12;  // of slow kernels: an interval needs some pairs whatever they cost; the race ends earlier where it is decided

std::chrono::milliseconds timing_budget(double incumbent_ns) {
  const std::chrono::milliseconds pairs(static_cast<int64_t>(2 * kMostPairs * incumbent_ns / 1e6));
  return std::max(kTimingBudget, pairs);
}

bool is_timed(RunStatus status) {
  return status == RunStatus::ok || status == RunStatus::slower;
}

}  // namespace

TuneLoop::TuneLoop(const Task& task, const std::vector<NestTemplate>& templates, Strategy& strategy, const TuneOptions& options, TuneWorld world)
    : task_(task), templates_(templates), strategy_(strategy), options_(options), world_(std::move(world)), limit_(options.max_workspace) {}

bool TuneLoop::should_end() {
  const double budget_s = std::chrono::duration<double>(options_.budget).count();
  if (options_.cancelled && options_.cancelled()) {
    interrupted_ = true;
    reason_ = "interrupted";
  } else if (budget_s > 0 && tried_ > 0 && world_.elapsed_s() >= budget_s) {
    reason_ = "budget";  // never before the first choice was tried: the base nest alone would be stored as the best
  } else if (options_.trials > 0 && trials_ >= options_.trials) {
    reason_ = "trials";
  } else if (options_.until > 0 && best_ns_ > 0 && world_.bound_ns >= options_.until * best_ns_) {
    reason_ = "share of the roofline";
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

void TuneLoop::report(TuneEvent event, const Trial& trial) {
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
  p.what = trial.measurement.status == RunStatus::ok ? "" : trial.measurement.detail;
  p.trace = trial.trace;
  options_.progress(p);
}

Status TuneLoop::run() {
  if (auto loaded = load_history(); !loaded) return loaded;
  while (!should_end()) {
    const auto batch = strategy_.ask(kBatch);
    if (batch.empty()) {
      reason_ = "space exhausted";
      break;
    }
    std::vector<Observation> observations;
    for (const auto& candidate : batch) {
      if (should_end()) break;
      auto trial = try_candidate(candidate);
      if (!trial) {
        (void)store_kept();
        return trial.error();
      }
      observations.push_back(trial->observation);
      if (!trial->takes_too_much && !history_.contains(candidate.nest_hash)) kept_.push_back(*trial);
    }
    strategy_.tell(observations);
    if (!is_store_due()) continue;
    if (auto stored = store_kept(); !stored) return stored;
  }
  return store_kept();
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
  ++trials_;
  if (const auto known = history_.find(candidate.nest_hash); known != history_.end() && known->second.status != RunStatus::ok) {
    trial.measurement = known->second;
    trial.observation = {candidate, known->second.status, known->second.timing.median_ns};
    return trial;
  }
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
    auto outcome = world_.runner->run(request);
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
    if (auto kept = keep_winner(candidate, nest, trial, *kernel); !kept) return kept.error();
  report(TuneEvent::trial, trial);
  return trial;
}

// Paired ratios decide against the incumbent; medians of different moments may differ by the machine's mood alone. But a neighbour may fall upon one side of
// a pair for a whole race: what is much slower than the best time seen in this search is not taken whatever its pairs say.
constexpr double kMoods = 1.1;

Status TuneLoop::keep_winner(const Candidate& candidate, LoopNest nest, const Trial& trial, const LoadableKernel& kernel) {
  const Timing& timing = trial.measurement.timing;
  const bool paired = timing.ratio > 0;
  const bool wins = paired ? timing.ratio_hi < 1 : timing.median_ns < best_ns_;
  const bool better = best_ns_ == 0 || (wins && timing.median_ns < kMoods * fastest_ns_);
  Winner winner{candidate, std::move(nest), trial.measurement, trial.trace};
  if (!better) {
    if (winners_.size() < kWinners) winners_.push_back(std::move(winner));
    return Ok{};
  }
  winners_.insert(winners_.begin(), std::move(winner));
  if (winners_.size() > kWinners) winners_.pop_back();
  best_ns_ = timing.median_ns;
  fastest_ns_ = fastest_ns_ == 0 ? best_ns_ : std::min(fastest_ns_, best_ns_);
  report(TuneEvent::best, trial);
  return world_.runner->set_incumbent(kernel);
}

// A commit waits for the disk, milliseconds on a quiet one, seconds on a busy one: at most a twentieth of a search is spent on that.
bool TuneLoop::is_store_due() const {
  constexpr double kLeast = 1, kShare = 20;
  return world_.elapsed_s() - stored_at_s_ > std::max(kLeast, kShare * store_cost_s_);
}

Status TuneLoop::store_kept() {
  if (!world_.database || kept_.empty()) return Ok{};
  const double start_s = world_.elapsed_s();
  std::vector<std::pair<std::string, Measurement>> rows;
  for (const auto& trial : kept_) rows.emplace_back(trial.trace, trial.measurement);
  kept_.clear();
  auto stored = world_.database->add_measurements(task_.key, task_.canonical_text, task_.source_text, rows);
  stored_at_s_ = world_.elapsed_s();
  store_cost_s_ = stored_at_s_ - start_s;
  return stored;
}

}  // namespace polyweft
