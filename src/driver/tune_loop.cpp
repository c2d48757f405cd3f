#include "driver/tune_loop.h"

#include <algorithm>

#include "driver/expected_time.h"
#include "driver/spaces.h"
#include "driver/stop_reason.h"
#include "driver/tune_start.h"

namespace polyweft {
namespace {

constexpr size_t kBatch = 4;
constexpr size_t kWinners = 4;
/// A search that found something late has more to find: it goes on for as long as it took so far, and this many trials.
constexpr int kPatience = 64;
constexpr std::chrono::milliseconds kTimingBudget{120};
/// One call may take so many times what the best takes, and a pause of the machine, before it is given up as slower.
constexpr double kHopeless = 4;
constexpr std::chrono::milliseconds kHiccup{300};
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

TuneLoop::TuneLoop(const Task& task, const SketchSet& sketches, Strategy& strategy, const TuneOptions& options,
                   TuneWorld world)
    : task_(task),
      sketches_(sketches),
      strategy_(strategy),
      options_(options),
      world_(std::move(world)),
      kernels_(world_.build, world_.builders, [call = world_.call] { return is_due(call); }),
      limit_(options.max_workspace) {
  if (options_.refresh) world_.plan.before = {};
}

SearchEffort TuneLoop::effort() const {
  SearchEffort out = world_.plan.before;
  out.wall_s += ended_s_ > 0 ? ended_s_ : world_.elapsed_s();
  out.trials += trials_;
  if ((reason_ == stop_reason::kExhausted || reason_ == stop_reason::kNoGain) && !limit_.is_set())
    out.exhausted_by = toolchain();
  if (reason_ == stop_reason::kShareReached) out.until = std::max(out.until, options_.until);
  return out;
}

// What was asked while a call waited may have been asked once only.
bool TuneLoop::is_asked_to_stop() const {
  return (options_.cancelled && options_.cancelled()) || (is_due(world_.call) && world_.call->stop.was_asked());
}

// Less what has to follow the last trial. One candidate is tried whatever the budget.
bool TuneLoop::is_budget_spent() const {
  if (options_.budget == TuneOptions::kNoLimit || tried_ == 0) return false;
  const double reserve_s = world_.reserve_s + (best_ns_ >= kWorthAProcessNs ? world_.more_reserve_s : 0);
  return effort().wall_s + reserve_s >= std::chrono::duration<double>(options_.budget).count();
}

bool TuneLoop::is_time_over() const {
  return is_budget_spent() || is_due(world_.call);
}

bool TuneLoop::should_end() {
  if (!reason_.empty()) return true;
  const SearchEffort spent = effort();
  const bool is_limited = options_.budget != TuneOptions::kNoLimit;
  const double budget_s = std::chrono::duration<double>(options_.budget).count();
  const bool is_over = is_due(world_.call);  // before who ended it is asked: this, too, may be where somebody does
  if (is_asked_to_stop()) {
    interrupted_ = true;
    reason_ = stop_reason::kInterrupted;
  } else if (is_budget_spent()) {
    reason_ = stop_reason::kBudget;
  } else if (is_over) {
    reason_ = is_limited && spent.wall_s >= budget_s ? stop_reason::kBudget : stop_reason::kDeadline;
  } else if (options_.trials > 0 && spent.trials >= options_.trials) {
    reason_ = stop_reason::kTrials;
  } else if (options_.until > 0 && best_ns_ > 0 && world_.plan.bound_ns >= options_.until * best_ns_) {
    reason_ = stop_reason::kShareReached;
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
    traces_[measurement.nest_hash] = trace;
  }
  if (!options_.refresh) chain_ = ratios_of(*rows);
  if (is_resumed_) chain_.begin_with(incumbent_);
  return (is_resumed_ && !is_exact_) || options_.refresh ? Ok{} : go_on_from_history();
}

// Beside a record: what exact times of before are less than its own. Else the fastest by pairs.
std::string TuneLoop::best_of_before() const {
  if (!is_resumed_) return chain_.fastest();
  std::string best;
  double least_ns = best_ns_;
  for (const auto& [nest_hash, measurement] : history_)
    if (measurement.status == RunStatus::ok && measurement.timing.median_ns < least_ns) {
      best = nest_hash;
      least_ns = measurement.timing.median_ns;
    }
  return best;
}

// A search that was killed left measurements and no record: the best of them is the first to beat.
Status TuneLoop::go_on_from_history() {
  const std::string best = best_of_before();
  const auto trace = traces_.find(best);
  if (trace == traces_.end() || !world_.candidate_of) return Ok{};
  const auto candidate = world_.candidate_of(trace->second);
  if (!candidate || candidate->nest_hash != best) return Ok{};
  auto nest = instantiate(sketches_[candidate->sketch], candidate->decisions);
  if (!nest) return Ok{};
  auto winner = timed(std::move(*nest));
  if (!winner) return winner.error();
  if (!*winner) return Ok{};
  (*winner)->trace = trace->second;
  Timing now = (*winner)->measurement.timing;
  (*winner)->measurement = history_.at(best);
  (*winner)->measurement.timing = std::move(now);
  (*winner)->measurement.beside.clear();
  winners_.insert(winners_.begin(), std::move(**winner));
  chain_.begin_with(best);
  is_resumed_ = true;
  strategy_.tell({{*candidate, RunStatus::ok, 1}});
  return Ok{};
}

// What was right is measured again where pairs do not lead from it to what the search goes on from: times of another
// hour must not decide. What failed would fail again.
const Measurement* TuneLoop::known(const std::string& nest_hash) const {
  const auto found = history_.find(nest_hash);
  if (found == history_.end()) return nullptr;
  if (world_.expected_ns && found->second.status == RunStatus::slower) return nullptr;  // by an emulator's clock, once
  const bool is_comparable = is_resumed_ && chain_.ratio_of(nest_hash) > 0;
  return is_comparable || found->second.status != RunStatus::ok ? &found->second : nullptr;
}

/// Over the sentinel's time; of a candidate that was dropped a lower bound; 0: not known.
double TuneLoop::ratio_of(const Measurement& measurement) const {
  if (!is_timed(measurement.status)) return 0;
  if (measurement.nest_hash == chain_.sentinel()) return 1;
  if (const double ratio = chain_.ratio_of(measurement.nest_hash); ratio > 0) return ratio;
  // Stopped at its deadline, which is that of the incumbent a while ago.
  const bool is_bound = measurement.status == RunStatus::slower && measurement.timing.ratio == 0 && best_ns_ > 0;
  return is_bound ? measurement.timing.median_ns / best_ns_ * chain_.ratio_of(incumbent_) : 0;
}

double TuneLoop::ratio_between(const std::string& nest_hash, const std::string& other) const {
  const auto bound = bounds_.find(other);
  const double ratio = chain_.ratio_of(nest_hash), of_other = chain_.ratio_of(other);
  if (of_other > 0) return ratio / of_other;
  return bound != bounds_.end() ? ratio / bound->second : 0;
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

/// The kernel as it runs now, alone: the runner's incumbent. None where it no longer builds or is no longer right.
Result<std::optional<Winner>> TuneLoop::timed(LoopNest nest) {
  if (!limit_.admits(nest)) return std::optional<Winner>();
  auto kernel = world_.build(nest);
  if (!kernel) return std::optional<Winner>();
  RunRequest request;
  request.candidate = *kernel;
  request.time_budget = kTimingBudget;
  auto outcome = run(nest, request);
  if (!outcome) return outcome.error();
  reference_ns_ = outcome->reference_ns;
  if (outcome->status != RunStatus::ok) return std::optional<Winner>();
  Winner winner;
  winner.nest = std::move(nest);
  winner.measurement.nest_hash = incumbent_ = hash(winner.nest);
  winner.measurement.timing = outcome->timing;
  best_ns_ = outcome->timing.median_ns;
  is_exact_ = outcome->timing.is_exact;
  chain_.begin_with(incumbent_);
  if (auto set = world_.runner->set_incumbent(*kernel); !set) return set.error();
  return std::optional(std::move(winner));
}

Result<std::optional<Winner>> TuneLoop::timed(const TuningRecord& record) {
  auto nest = parse_loop_nest(record.nest_text);
  if (!nest) return std::optional<Winner>();
  auto winner = timed(std::move(*nest));
  if (!winner || !*winner) return winner;
  const Timing now = (*winner)->measurement.timing;
  (*winner)->measurement = record.measurement;
  (*winner)->measurement.timing = now;
  (*winner)->measurement.beside.clear();
  (*winner)->trace = record.trace_text;
  (*winner)->record = record.id;
  return winner;
}

Status TuneLoop::resume(const TuningRecord& record) {
  auto winner = timed(record);
  if (!winner) return winner.error();
  if (!*winner) return Ok{};
  winners_.push_back(std::move(**winner));
  is_resumed_ = true;
  const auto candidate = world_.candidate_of ? world_.candidate_of(record.trace_text) : std::nullopt;
  if (candidate && candidate->nest_hash == incumbent_) strategy_.tell({{*candidate, RunStatus::ok, 1}});
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
    if (trials_ - won_at_ >= kPatience + won_at_) {
      reason_ = stop_reason::kNoGain;
      break;
    }
    const auto batch = strategy_.ask(kBatch);
    if (should_end()) break;
    if (batch.empty()) {
      reason_ = stop_reason::kExhausted;
      break;
    }
    if (auto ran = run_batch(batch); !ran) return ran;
  }
  ended_s_ = world_.elapsed_s();
  return store_kept();
}

Status TuneLoop::run_batch(const std::vector<Candidate>& batch) {
  std::vector<Observation> observations;
  for (size_t k = 0; k < batch.size(); ++k) {
    const Candidate& candidate = batch[k];
    if (should_end()) break;
    if (k % kBatch == 0) build_ahead(batch, k);
    auto trial = try_candidate(candidate);
    if (!trial && is_stopped(trial.error())) {
      should_end();
      break;
    }
    if (!trial) {
      (void)store_kept();
      return trial.error();
    }
    observations.push_back(trial->observation);
    if (!trial->takes_too_much && !known(candidate.nest_hash)) kept_.push_back(*trial);
  }
  strategy_.tell(observations);
  prove_ahead();
  return is_store_due() ? store_kept() : Ok{};
}

// Who stops the search gets a record at once. What was the best for a while is likely to stay so.
void TuneLoop::prove_ahead() {
  constexpr int kTrialsAgo = 8;
  constexpr double kShare = 0.05, kFirstS = 0.5;
  if (!world_.prove_ahead || winners_.empty() || winners_.front().record != 0 || !reason_.empty()) return;
  const std::string& best = winners_.front().measurement.nest_hash;
  if (best == proven_ || trials_ - won_at_ < kTrialsAgo || proving_s_ + kFirstS > kShare * world_.elapsed_s()) return;
  const double start_s = world_.elapsed_s();
  world_.prove_ahead(winners_.front().nest);
  proven_ = best;
  proving_s_ += world_.elapsed_s() - start_s;
}

// The first trial does not wait for others, and where code takes long to make, what is built ahead may never be tried.
void TuneLoop::build_ahead(const std::vector<Candidate>& batch, size_t from) {
  constexpr double kLongBuildS = 0.2;
  if (!kernels_.builds_ahead() || trials_ == 0 || kernels_.slowest_build_s() > kLongBuildS) return;
  std::vector<KernelsAhead::Wanted> wanted;
  for (size_t k = from; k < std::min(batch.size(), from + kBatch); ++k) {
    if (known(batch[k].nest_hash)) continue;
    auto nest = instantiate(sketches_[batch[k].sketch], batch[k].decisions);
    WorkspaceLimit limit = limit_;
    if (nest && limit.admits(*nest)) wanted.push_back({batch[k].nest_hash, std::move(*nest)});
  }
  if (wanted.size() > 1) kernels_.begin(std::move(wanted));
}

Result<TuneLoop::Trial> TuneLoop::try_candidate(const Candidate& candidate) {
  ++tried_;
  const NestTemplate& nest_template = sketches_[candidate.sketch];
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
    trial.observation = {candidate, before->status, ratio_of(*before)};
    return trial;
  }
  ++trials_;
  return measure(candidate, *nest, std::move(trial));
}

Result<TuneLoop::Trial> TuneLoop::measure(const Candidate& candidate, const LoopNest& nest, Trial trial) {
  auto kernel = kernels_.take(candidate.nest_hash, nest);
  if (!kernel && is_stopped(kernel.error())) {
    --trials_;  // says nothing of the candidate
    return kernel.error();
  }
  if (!kernel) {
    trial.measurement.status = RunStatus::build_failed;
    trial.measurement.detail = kernel.error().message;
  } else {
    auto outcome = run(nest, paired_request(*kernel));
    if (!outcome) return outcome.error();
    reference_ns_ = outcome->reference_ns;
    trial.measurement.status = outcome->status;
    trial.measurement.detail = outcome->detail;
    trial.measurement.timing = outcome->timing;
    if (outcome->timing.ratio > 0) trial.measurement.beside = incumbent_;
  }
  if (trial.measurement.status == RunStatus::ok)
    if (auto kept = keep_winner(nest, trial, *kernel); !kept) return kept.error();
  const Measurement& told = trial.measurement;
  if (is_timed(told.status) && !told.beside.empty()) chain_.add(told.nest_hash, told.beside, told.timing.ratio);
  trial.observation = {candidate, told.status, ratio_of(told)};
  if (told.status == RunStatus::slower && trial.observation.ratio > 0)
    bounds_[told.nest_hash] = trial.observation.ratio;
  ++(is_timed(told.status) ? measured_ : failed_);
  report(TuneEvent::trial, trial);
  return trial;
}

RunRequest TuneLoop::paired_request(const LoadableKernel& kernel) const {
  RunRequest request;
  request.candidate = kernel;
  request.time_budget = timing_budget(best_ns_);
  if (world_.calls_are_long) request.compare_on = {InputSet::random};
  request.incumbent_ns = best_ns_;
  request.pair_with_incumbent = best_ns_ > 0;
  if (best_ns_ > 0)
    request.deadline = kHiccup + std::chrono::milliseconds(static_cast<int64_t>(kHopeless * best_ns_ / 1e6));
  return request;
}

// Who wins a race meets the incumbent again, in another layout: a neighbour may fall upon one side of a whole race, and
// of many candidates some are lucky. The second ratio is told: that of a race which was chosen because it was won tells
// too little. Expected times are no races, and exact ones need no second.
Result<bool> TuneLoop::wins_again(const LoopNest& nest, const LoadableKernel& kernel, Trial& trial) {
  Measurement& told = trial.measurement;
  if (!(told.timing.ratio > 0 && told.timing.ratio_hi < 1)) return false;
  if (world_.expected_ns || told.timing.is_exact) return true;
  auto again = run(nest, paired_request(kernel));
  if (!again) return again.error();
  if (!is_timed(again->status)) {  // it was right and is no longer
    told.status = again->status;
    told.detail = again->detail;
    told.timing = again->timing;
    told.beside.clear();
    return false;
  }
  if (again->timing.ratio <= 0) return false;
  told.timing = again->timing;
  return again->status == RunStatus::ok && again->timing.ratio_hi < 1;
}

// Pairs alone decide against the incumbent: medians of different moments may differ by the machine's drift.
Status TuneLoop::keep_winner(LoopNest nest, Trial& trial, const LoadableKernel& kernel) {
  const bool is_first = best_ns_ == 0;
  const auto wins = is_first ? Result<bool>(true) : wins_again(nest, kernel, trial);
  if (!wins) return wins.error();
  const Measurement& told = trial.measurement;
  if (told.status != RunStatus::ok) return Ok{};
  Winner winner{std::move(nest), told, trial.trace};
  if (!*wins) {
    const double ratio = told.timing.ratio * chain_.ratio_of(incumbent_);
    const auto at = std::find_if(winners_.begin(), winners_.end(), [&](const Winner& w) {
      return w.measurement.nest_hash != incumbent_ && ratio_of(w.measurement) > ratio;
    });
    if (ratio > 0) winners_.insert(at, std::move(winner));
  } else {
    winners_.insert(winners_.begin(), std::move(winner));
    if (is_first)
      chain_.begin_with(told.nest_hash);
    else
      chain_.add(told.nest_hash, told.beside, told.timing.ratio);
    incumbent_ = told.nest_hash;
    best_ns_ = told.timing.median_ns;
    won_at_ = trials_;
    report(TuneEvent::best, trial, peak_beside(winners_.front().nest, kernel, best_ns_));
    if (auto set = world_.runner->set_incumbent(kernel); !set) return set;
  }
  if (winners_.size() > kWinners) winners_.pop_back();
  return Ok{};
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
  const double bound_ns = roofline_ns(world_.plan, fastest_gflops(world_.plan, peak_gflops, timed->peak_of));
  world_.plan.bound_ns = believable_bound_ns(bound_ns, ns);
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
