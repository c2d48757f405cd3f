#include "driver/tune_finals.h"

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "driver/expected_time.h"
#include "driver/settle.h"
#include "driver/threads.h"

namespace polyweft {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFinalBudget{200};
constexpr double kSlowNs = 250e6;  // a final costs some ten calls: longer kernels keep the times that they have
constexpr int kMoreLayouts = 2;

Winner base_winner(const SessionTask& session, const Timing& timing) {
  Winner winner;
  winner.nest = session.reference.nest;
  winner.trace = session.reference.trace;
  winner.measurement.nest_hash = hash(session.reference.nest);
  winner.measurement.status = RunStatus::ok;
  winner.measurement.timing = timing;
  winner.measurement.strategy = session.reference.is_base ? "base" : "first choice";
  winner.measurement.toolchain = toolchain();
  winner.measurement.unix_time = static_cast<int64_t>(std::time(nullptr));
  return winner;
}

Timing once(double ns) {
  Timing timing;
  timing.median_ns = timing.min_ns = ns;
  timing.samples = 1;
  return timing;
}

bool has_ratio(const Timing& timing) {
  return timing.ratio > 0;
}

/// The ratio of `nest` to the runner's incumbent, in pairs.
Result<Timing> pairs_of(Runner& runner, const LoadableKernel& kernel, milliseconds budget,
                        std::vector<InputSet> compare_on = RunRequest{}.compare_on) {
  RunRequest request;
  request.candidate = kernel;
  request.compare_on = std::move(compare_on);
  request.pair_with_incumbent = true;
  request.time_budget = budget;
  auto outcome = runner.run(request);
  if (!outcome) return outcome.error();
  const bool is_timed = outcome->status == RunStatus::ok || outcome->status == RunStatus::slower;
  return is_timed ? outcome->timing : Timing{};
}

/// What the pairs of `nest_hash`'s kernel and this one said; the times of a call stay.
void tell_pairs(Measurement& measurement, const Timing& pairs, const std::string& nest_hash) {
  if (!has_ratio(pairs)) return;
  measurement.beside = nest_hash;
  Timing& timing = measurement.timing;
  timing.ratio = pairs.ratio, timing.ratio_lo = pairs.ratio_lo, timing.ratio_hi = pairs.ratio_hi;
  timing.samples_ns = pairs.samples_ns, timing.beside_ns = pairs.beside_ns;
  timing.is_exact = pairs.is_exact;
}

Timing scaled(Timing timing, double factor) {
  timing.median_ns *= factor;
  timing.min_ns *= factor;
  return timing;
}

}  // namespace

Winner reference_winner(const SessionTask& session, double ns) {
  return base_winner(session, once(ns));
}

Timing told_beside(const Timing& served, Timing timing, double ratio) {
  if (ratio <= 0 || served.median_ns <= 0 || timing.median_ns <= 0) return timing;
  const bool agree = (ratio < 1) == (timing.median_ns < served.median_ns);
  return agree ? timing : scaled(timing, served.median_ns * ratio / timing.median_ns);
}

// It runs in turns with the best, so that both are warm: a first call of a short kernel is mostly page faults. A naive
// loop of seconds is as cold or warm as it gets, and its one run as the reference counts, where that was on the same
// machine.
Result<BaseTime> base_beside(const SessionTask& session, const SessionServices& services, const Incumbent& incumbent) {
  const CompileService& compiler = services.compiler;
  const bool is_known = compiler.has_reference_of_its_kind();
  const BaseTime out = is_known ? BaseTime{once(incumbent.reference_ns), incumbent.reference_ns} : BaseTime{};
  if (incumbent.ns > 0 && incumbent.reference_ns > kSlowNs) return out;
  RunRequest request;
  auto kernel = is_known ? Result<LoadableKernel>(session.lab.reference)
                         : compiler.for_runner(session.reference.nest, CompileService::Spills::allow);
  if (!kernel) return out;
  request.candidate = std::move(kernel).value();
  request.pair_with_incumbent = incumbent.ns > 0;
  auto outcome = services.runner.run(request);
  if (!outcome) return outcome.error();
  const bool is_timed =
      (outcome->status == RunStatus::ok || outcome->status == RunStatus::slower) && outcome->timing.samples > 0;
  if (!is_timed) return is_known ? BaseTime{once(outcome->reference_ns), outcome->reference_ns} : BaseTime{};
  const Timing& timing = outcome->timing;
  return BaseTime{timing, has_ratio(timing) && incumbent.ns > 0 ? timing.ratio * incumbent.ns : timing.median_ns};
}

// The untuned base nest is a candidate like any other: a schedule slower than it is never returned.
Result<AfterBase> race_base(const SessionTask& session, const SessionServices& services, const TuneLoop& loop) {
  AfterBase out{loop.winners(), 0};
  auto base = base_beside(session, services, {out.winners.empty() ? 0 : loop.best_ns(), loop.reference_ns()});
  if (!base) return base.error();
  out.base_ns = base->ns;
  if (base->ns <= 0) return out;
  const bool wins = !out.winners.empty() && has_ratio(base->timing) && base->timing.ratio_hi < 1;
  out.base = base->timing;
  if (!out.winners.empty()) out.beside = out.winners.front().measurement.nest_hash;
  Winner winner = base_winner(session, base->timing);
  if (!out.winners.empty()) tell_pairs(winner.measurement, base->timing, out.winners.front().measurement.nest_hash);
  out.winners.insert(wins ? out.winners.begin() : out.winners.end(), std::move(winner));
  return out;
}

namespace {

/// What a ratio says of the other one.
Timing of_the_other(const Timing& pairs) {
  constexpr double kNoUpperEnd = 1e9;
  Timing out;
  if (!has_ratio(pairs)) return out;
  out.is_exact = pairs.is_exact;
  out.ratio = 1 / pairs.ratio;
  out.ratio_lo = 1 / pairs.ratio_hi;
  out.ratio_hi = pairs.ratio_lo > 0 ? 1 / pairs.ratio_lo : kNoUpperEnd;
  out.samples_ns = pairs.beside_ns;
  out.beside_ns = pairs.samples_ns;
  return out;
}

}  // namespace

Result<Timing> beside_base(const SessionTask& session, const SessionServices& services, const AfterBase& after,
                           const Winner& winner) {
  const std::string& nest_hash = winner.measurement.nest_hash;
  if (nest_hash == hash(session.reference.nest)) return Timing{};
  if (nest_hash == after.beside) return of_the_other(after.base);
  const bool is_quick = after.base_ns > 0 && std::max(after.base_ns, winner.measurement.timing.median_ns) <= kSlowNs;
  if (!is_quick || session.reference.of_cpu) return Timing{};
  return pairs_of_nests(services.runner, services.compiler, winner.nest, session.reference.nest,
                        session.task.key.threads);
}

AfterBase place_base(const SessionTask& session, const TuneLoop& loop, double expected_ns) {
  AfterBase out{loop.winners(), expected_ns};
  out.winners.push_back(base_winner(session, expected_timing(expected_ns, loop.best_ns())));
  std::stable_sort(out.winners.begin(), out.winners.end(), [](const Winner& a, const Winner& b) {
    return a.measurement.timing.median_ns < b.measurement.timing.median_ns;
  });
  return out;
}

namespace {

/// Pairs enough for an interval; where one of the two takes long three, whose median says enough.
milliseconds final_budget(double ns, double rival_ns) {
  constexpr double kPairs = 12, kFew = 3;
  const bool is_slow = std::max(ns, rival_ns) > kSlowNs;
  return std::max(kFinalBudget, milliseconds(static_cast<int64_t>((is_slow ? kFew : kPairs) * (ns + rival_ns) / 1e6)));
}

bool is_faster(const Timing& pairs) {
  if (!has_ratio(pairs)) return false;
  const double slower_ns = pairs.median_ns * std::max(1.0, 1 / pairs.ratio);
  return (slower_ns > kSlowNs ? pairs.ratio : pairs.ratio_hi) < 1;
}

struct Raced {
  size_t winner = 0;
  double ratio = 1;  ///< of its time to the runner's incumbent's
  bool is_exact = false;
};

/// A process of its own for the kernel, which the next run there lays out by this number: each run has another layout.
Result<std::unique_ptr<Runner>> process_for(const Track& track, const LoadableKernel& kernel, int layout) {
  auto out = track.elsewhere(kernel);
  RunRequest compare_only;
  compare_only.candidate = kernel;
  compare_only.compare_on = {InputSet::integer_valued};
  compare_only.time_budget = milliseconds{0};
  for (int run = 0; out && run < layout; ++run)
    if (auto outcome = (*out)->run(compare_only); !outcome) return outcome.error();
  return out;
}

Result<std::optional<Raced>> raced(const Track& track, const std::vector<Winner>& winners, size_t k, double rival_ns) {
  const auto kernel = track.build(winners[k].nest);
  if (!kernel) return std::optional<Raced>();
  auto pairs = pairs_of(track.runner, *kernel, final_budget(winners[k].measurement.timing.median_ns, rival_ns));
  if (!pairs) return pairs.error();
  return is_faster(*pairs) ? std::optional(Raced{k, pairs->ratio, pairs->is_exact}) : std::nullopt;
}

double time_of(const Winner& winner) {
  return winner.measurement.timing.median_ns;
}

/// Each winner in turns with the runner's incumbent: those that are faster beyond doubt, the fastest first.
Result<std::vector<Raced>> faster_ones(const Track& track, const std::vector<Winner>& winners, double rival_ns) {
  std::vector<Raced> out;
  for (size_t k = 0; k < winners.size() && (k == 0 || std::max(rival_ns, time_of(winners[k])) <= kSlowNs); ++k) {
    auto one = raced(track, winners, k, rival_ns);
    if (!one) return one.error();
    if (*one) out.push_back(**one);
  }
  std::stable_sort(out.begin(), out.end(), [](const Raced& a, const Raced& b) { return a.ratio < b.ratio; });
  return out;
}

/// Who keeps its place unless somebody is faster.
struct Rival {
  const LoadableKernel& kernel;
  double ns;
};

/// Does a winner hold its place in another process? Keeps what it took there.
Result<bool> holds_in_process(const Track& track, Winner& winner, const Rival& rival, int layout) {
  const auto kernel = track.build(winner.nest);
  if (!kernel) return false;
  auto process = process_for(track, *kernel, layout);
  if (!process) return process.error();
  if (Status set = (*process)->set_incumbent(rival.kernel); !set) return set.error();
  const auto pairs = pairs_of(**process, *kernel, final_budget(time_of(winner), rival.ns), {InputSet::integer_valued});
  if (!pairs) return pairs.error();
  if (pairs->min_ns > 0) winner.least_ns.push_back(pairs->min_ns);
  return is_faster(*pairs);
}

/// Does a winner hold its place in other layouts, each in a process of its own where calls are long?
Result<bool> holds_elsewhere(const Track& track, std::vector<Winner>& winners, size_t k, const Rival& rival) {
  const bool is_long = is_raced_elsewhere(track, std::max(rival.ns, time_of(winners[k])));
  for (int layout = 1; layout <= kMoreLayouts; ++layout) {
    if (is_long) {
      const auto holds = holds_in_process(track, winners[k], rival, layout);
      if (!holds || !*holds) return holds;
      continue;
    }
    auto again = raced(track, winners, k, rival.ns);
    if (!again) return again.error();
    if (!*again) return false;
  }
  return true;
}

/// The fastest that is so wherever arguments and scratch memory lie: the runner gives each run of a candidate another
/// layout, and a layout is worth some percent to either.
Result<std::optional<size_t>> fastest_of(const Track& track, std::vector<Winner>& winners, const Rival& rival) {
  auto found = faster_ones(track, winners, rival.ns);
  if (!found) return found.error();
  for (const Raced& first : *found) {
    const bool is_once = first.is_exact || std::max(rival.ns, time_of(winners[first.winner])) > kSlowNs;
    const auto holds = is_once ? Result<bool>(true) : holds_elsewhere(track, winners, first.winner, rival);
    if (!holds) return holds.error();
    if (*holds) return std::optional(first.winner);
  }
  return std::optional<size_t>();
}

}  // namespace

bool is_raced_elsewhere(const Track& track, double ns) {
  return track.elsewhere && ns >= kWorthAProcessNs && ns <= kSlowNs && track.has_time();
}

// Both the least of a process: what interrupts some calls is not told.
Result<std::string> told_by_processes(const Track& track, const Winner& winner) {
  constexpr double kMostApart = 1.1;
  std::vector<double> least = winner.least_ns;
  const auto kernel = track.build(winner.nest);
  if (!kernel || !is_raced_elsewhere(track, time_of(winner))) return std::string();
  for (int layout = 1; layout <= kMoreLayouts && winner.least_ns.size() < 2 && track.has_time(); ++layout) {
    auto process = process_for(track, *kernel, layout);
    if (!process) return process.error();
    RunRequest alone;
    alone.candidate = *kernel;
    alone.compare_on = {InputSet::integer_valued};
    alone.time_budget = final_budget(time_of(winner), time_of(winner));
    auto outcome = (*process)->run(alone);
    if (!outcome) return outcome.error();
    if (outcome->status == RunStatus::ok) least.push_back(outcome->timing.min_ns);
  }
  if (least.size() < 2) return std::string();
  const auto [lo, hi] = std::minmax_element(least.begin(), least.end());
  if (*hi <= kMostApart * *lo) return std::string();
  char text[160];
  std::snprintf(text, sizeof text,
                "a call takes %.3g ms in one process and %.3g ms in another: where memory lies, or who else uses the "
                "core, is worth that much here",
                *lo / 1e6, *hi / 1e6);
  return std::string(text);
}

Result<std::vector<Winner>> race_first(const Track& track, std::vector<Winner> winners, std::optional<Winner> first) {
  if (!first || (!winners.empty() && winners.front().measurement.nest_hash == first->measurement.nest_hash))
    return winners;
  std::erase_if(winners, [&](const Winner& winner) {
    return winner.record == 0 && winner.measurement.nest_hash == first->measurement.nest_hash;
  });
  auto kernel = track.build(first->nest);
  if (!kernel) return winners;
  RunRequest alone;
  alone.candidate = *kernel;
  auto outcome = track.runner.run(alone);
  if (!outcome) return outcome.error();
  if (outcome->status != RunStatus::ok) return winners;
  first->measurement.timing = outcome->timing;
  if (auto set = track.runner.set_incumbent(*kernel); !set) return set.error();
  auto best = fastest_of(track, winners, {*kernel, first->measurement.timing.median_ns});
  if (!best) return best.error();
  if (*best)
    std::rotate(winners.begin(), winners.begin() + static_cast<std::ptrdiff_t>(**best),
                winners.begin() + static_cast<std::ptrdiff_t>(**best + 1));
  winners.insert(winners.begin() + (*best ? 1 : 0), std::move(*first));
  return winners;
}

Result<Timing> pairs_of_nests(Runner& runner, const CompileService& compiler, const LoopNest& nest,
                              const LoopNest& rival, int threads) {
  auto old_kernel = compiler.for_runner(on_threads(rival, threads), CompileService::Spills::allow);
  auto new_kernel = compiler.for_runner(on_threads(nest, threads), CompileService::Spills::allow);
  if (!old_kernel || !new_kernel) return Timing{};
  if (auto set = runner.set_incumbent(*old_kernel); !set) return set.error();
  return pairs_of(runner, *new_kernel, kFinalBudget);
}

Result<Timing> against_served(const SessionTask& session, const SessionServices& services, const LoopNest& nest) {
  const auto served =
      session.served ? parse_loop_nest(session.served->nest_text) : Result<LoopNest>(fail("PW0710", "no record"));
  if (!served) return Timing{};
  return pairs_of_nests(services.runner, services.compiler, nest, *served, session.task.key.threads);
}

Result<std::vector<Winner>> race_served(const SessionTask& session, const SessionServices& services,
                                        std::vector<Winner> winners) {
  const auto stored = std::find_if(winners.begin(), winners.end(), [](const Winner& w) { return w.record != 0; });
  if (!session.served || winners.empty() || stored == winners.begin()) return winners;
  auto pairs = against_served(session, services, winners.front().nest);
  if (!pairs) return pairs.error();
  winners.front().to_served = pairs->ratio;
  tell_pairs(winners.front().measurement, *pairs, session.served->measurement.nest_hash);
  const bool wins = has_ratio(*pairs) && pairs->ratio_hi < 1;
  if (!wins && stored != winners.end()) std::rotate(winners.begin(), stored, stored + 1);
  return winners;
}

namespace {

/// What won is worth a quarter of the budget, unless somebody wants answers sooner than is usual.
milliseconds deadline_of_winner(const IslClient& isl, const TuneOptions& options) {
  const milliseconds usual = IslClient::Options{}.deadline;
  if (isl.deadline() < usual || options.budget == TuneOptions::kNoLimit) return isl.deadline();
  return std::max(isl.deadline(), std::min<milliseconds>(6 * usual, options.budget / 4));
}

}  // namespace

Result<Finalist> first_proven(const SessionTask& session, IslClient& isl, const std::vector<Winner>& winners,
                              int failed) {
  const auto most = deadline_of_winner(isl, session.options);
  auto settled = settle(winners, failed, [&](const Winner& winner) {
    return winner.record != 0 && session.served ? Result<Certificate>(session.served->certificate)
                                                : isl.prove(session.task, print(winner.nest), nullptr, most);
  });
  if (!settled) return settled.error();
  return Finalist{winners[settled->winner], settled->certificate, settled->refuted, 0, 0, ""};
}

namespace {

/// In the clock of the record: the served one's own time where it stays, else this hour's.
Timing told(const SessionTask& session, const Winner& winner, const Timing& now) {
  if (!session.served) return now;
  const Timing& served = session.served->measurement.timing;
  return winner.record != 0 ? served : told_beside(served, now, winner.to_served);
}

Result<KernelTiming> timed_again(const SessionTask& session, const SessionServices& services, const Winner& winner) {
  const Timing& raced = winner.measurement.timing;
  const int threads = session.task.key.threads;
  if (raced.median_ns > kSlowNs) return KernelTiming{raced, 0, ""};
  auto kernel = services.compiler.for_runner(on_threads(winner.nest, threads), CompileService::Spills::allow);
  if (!kernel) return KernelTiming{raced, 0, ""};
  auto timed = time_kernel(services.runner, services.compiler, {winner.nest, *kernel, threads}, kFinalBudget);
  return timed || timed.error().code != "PW0651" ? timed : KernelTiming{raced, 0, ""};
}

}  // namespace

Status time_finalist(const SessionTask& session, const SessionServices& services, double base_ns, Finalist& finalist) {
  const Timing raced = finalist.winner.measurement.timing;
  auto timed = timed_again(session, services, finalist.winner);
  if (!timed) return timed.error();
  const Timing record = told(session, finalist.winner, timed->timing);
  finalist.winner.measurement.timing = record;
  if (finalist.winner.record == 0) tell_pairs(finalist.winner.measurement, raced, finalist.winner.measurement.beside);
  finalist.peak_of = timed->peak_of;
  if (record.median_ns > 0) finalist.peak_gflops = timed->peak_gflops * timed->timing.median_ns / record.median_ns;
  if (raced.median_ns > 0) finalist.reference_ns = base_ns * record.median_ns / raced.median_ns;
  return Ok{};
}

}  // namespace polyweft
