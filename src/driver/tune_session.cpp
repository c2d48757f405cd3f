#include "driver/tune_session.h"

#include <algorithm>
#include <ctime>

#include "driver/expected_time.h"
#include "driver/register_tile.h"
#include "driver/search_parts.h"
#include "driver/stop_reason.h"
#include "driver/threads.h"
#include "driver/tune_finals.h"
#include "driver/tune_loop.h"
#include "driver/tune_start.h"

namespace polyweft {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// For final races and a proof, which the budget has to hold, too.
double reserve_s(const TuneOptions& options, double most_s, double share) {
  if (options.budget == TuneOptions::kNoLimit) return 0;
  return std::min(most_s, share * std::chrono::duration<double>(options.budget).count());
}

bool has_time(const SessionTask& session, double seconds) {
  const TuneOptions& options = session.options;
  return options.budget == TuneOptions::kNoLimit ||
         seconds_since(session.start) + seconds <= std::chrono::duration<double>(options.budget).count();
}

TuneWorld world_of(const SessionTask& session, const SessionServices& services, TuneStart plan) {
  const int threads = session.task.key.threads;
  TuneWorld world;
  world.build = [compiler = services.compiler.for_other_threads(), threads](const LoopNest& nest) {
    return compiler.for_runner(on_threads(nest, threads));
  };
  world.builders = build_threads(threads);
  world.runner = &services.runner;
  world.database = services.database;
  world.elapsed_s = [start = session.start] { return seconds_since(start); };
  world.unix_time = [] { return static_cast<int64_t>(std::time(nullptr)); };
  world.plan = std::move(plan);
  world.call = services.call;
  world.reserve_s = reserve_s(session.options, 1, 0.1);
  if (services.elsewhere) world.more_reserve_s = reserve_s(session.options, 2, 0.05);
  world.prove_ahead = [&session, &services](const LoopNest& nest) {
    constexpr std::chrono::milliseconds kMost{2000};
    (void)services.isl.prove(session.task, print(nest), nullptr, kMost);
  };
  if (services.runner.is_emulated()) return world;
  world.time_with_peak = [&services, threads](const LoopNest& nest, const LoadableKernel& kernel) {
    return time_kernel(services.runner, services.compiler, {nest, kernel, threads}, std::chrono::milliseconds(20));
  };
  return world;
}

TuningRecord record_of(const Task& t, const Finalist& finalist) {
  TuningRecord record;
  record.key = t.key;
  record.canonical_text = t.canonical_text;
  record.program_text = t.source_text;
  record.program_name = t.source.name;
  record.trace_text = finalist.winner.trace;
  record.nest_text = print(finalist.winner.nest);
  record.certificate = finalist.certificate;
  record.measurement = finalist.winner.measurement;
  return record;
}

/// A database that cannot be written takes nothing from who has waited for a schedule.
Error with_found(Error error, std::string trace) {
  if (trace.empty()) return error;
  while (trace.ends_with('\n')) trace.pop_back();
  error.notes.push_back("what was found is not lost: this is a schedule for --schedule\n" + trace);
  return error;
}

// The record that is served already stays as it is: nothing is stored twice.
Result<TuningRecord> stored_record(const SessionTask& session, const SessionServices& services,
                                   const Finalist& finalist) {
  if (finalist.winner.record != 0 && session.served) return *session.served;
  TuningRecord record = record_of(session.task, finalist);
  if (services.database) {
    auto id = services.database->insert(record);
    if (!id) return with_found(id.error(), record.trace_text);
    record.id = *id;
  }
  if (record.certificate.verdict == Verdict::proven) services.trust.vouch(record);
  return record;
}

Result<TuneReport> reported(const SessionTask& session, const SessionServices& services, const AfterBase& after,
                            Finalist finalist, bool ends_now = false) {
  Timing beside;
  if (services.runner.is_emulated() || ends_now) {
    finalist.reference_ns = after.base_ns;
  } else {
    auto timed = time_finalist(session, services, after.base_ns, finalist);
    if (!timed && !is_stopped(timed.error())) return timed.error();
    auto pairs = beside_base(session, services, after, finalist.winner);
    if (!pairs && !is_stopped(pairs.error())) return pairs.error();
    if (pairs) beside = *pairs;
  }
  auto record = stored_record(session, services, finalist);
  if (!record) return record.error();
  TuneReport report;
  report.record = std::move(record).value();
  report.peak_gflops = finalist.peak_gflops;
  report.peak_of = finalist.peak_of;
  report.refuted = finalist.refuted;
  report.reference_ns = finalist.reference_ns;
  report.beside_base = beside;
  report.served = report.record.id;
  return report;
}

/// What is served untuned, as far as that shows before a proof: the first of the choices that fits.
std::optional<Winner> first_choice(const SessionServices& services, const SearchSpaceOfTask& space,
                                   const SessionTask& session) {
  WorkspaceLimit limit(session.options.max_workspace);
  for (const Candidate& candidate : space.choices) {
    auto nest = instantiate(space.templates[candidate.sketch], candidate.decisions);
    if (!nest || !limit.admits(*nest) || !services.compiler.for_runner(on_threads(*nest, session.task.key.threads)))
      continue;
    Winner out;
    out.nest = std::move(*nest);
    out.trace = trace_text(space.templates[candidate.sketch], candidate.decisions);
    out.measurement.nest_hash = candidate.nest_hash;
    out.measurement.predicted_ns = candidate.predicted_ns;
    out.measurement.status = RunStatus::ok;
    out.measurement.strategy = "first choice";
    out.measurement.seed = session.options.seed;
    out.measurement.toolchain = toolchain();
    out.measurement.unix_time = static_cast<int64_t>(std::time(nullptr));
    return out;
  }
  return std::nullopt;
}

/// A winner that takes less of the first choice's time than that is faster wherever it lies: no race. Of long calls one
/// process has shown 1.7 times the time of another.
constexpr double kBeyondLuck = 0.7, kBeyondLuckOfLong = 0.5;

/// Winners, base nest, first choice and served record after their races, the one to be stored first.
Result<AfterBase> after_races(const SessionTask& session, const SessionServices& services,
                              const SearchSpaceOfTask& space, const TuneLoop& loop) {
  WorkspaceLimit limit = loop.limit();
  AfterBase after{loop.winners(), session.reference.is_base ? loop.reference_ns() : 0};
  if (!session.reference.is_base) {
    if (after.winners.empty()) after.winners.push_back(reference_winner(session, loop.reference_ns()));
  } else if (session.reference.of_cpu && !after.winners.empty()) {
    after.base_ns = 0;  // one thread of the device would take longer yet than one of the CPU
  } else if (limit.admits(session.reference.nest)) {
    auto with_base = race_base(session, services, loop);
    if (!with_base) return with_base.error();
    after = std::move(with_base).value();
  } else if (after.winners.empty()) {
    return limit.refusal(session.task.source.name);
  }
  const auto build = [&](const LoopNest& nest) {
    return services.compiler.for_runner(on_threads(nest, session.task.key.threads), CompileService::Spills::allow);
  };
  auto first = first_choice(services, space, session);
  const double ratio = first && !after.winners.empty() ? loop.ratio_between(after.winners.front().measurement.nest_hash,
                                                                            first->measurement.nest_hash)
                                                       : 0;
  constexpr double kOfOneProcess = 1;
  const Track track{services.runner, build, services.elsewhere, [&] { return has_time(session, kOfOneProcess); }};
  const double luck = is_raced_elsewhere(track, loop.best_ns()) ? kBeyondLuckOfLong : kBeyondLuck;
  Result<std::vector<Winner>> raced_first = std::move(after.winners);
  if (ratio > 0 && ratio < luck) {
    first->measurement.timing.median_ns = first->measurement.timing.min_ns = loop.best_ns() / ratio;
    raced_first->insert(raced_first->begin() + 1, std::move(*first));
  } else {
    raced_first = race_first(track, std::move(raced_first).value(), std::move(first));
  }
  if (!raced_first) return raced_first.error();
  auto winners = race_served(session, services, std::move(*raced_first));
  if (!winners) return winners.error();
  after.winners = std::move(*winners);
  if (after.winners.empty() || is_due(services.call)) return after;
  auto told = told_by_processes(track, after.winners.front());
  if (!told && !is_stopped(told.error())) return told.error();
  if (told && !told->empty()) after.warnings.push_back(std::move(*told));
  return after;
}

/// Where there is no time for races: as the search left them, and what made the right answers behind them.
Result<AfterBase> without_races(const SessionTask& session, const TuneLoop& loop) {
  WorkspaceLimit limit = loop.limit();
  AfterBase out{loop.winners(), session.reference.is_base ? loop.reference_ns() : 0};
  if (out.winners.empty()) return stopped("the search");
  if (!session.reference.of_cpu && loop.reference_ns() > 0 && limit.admits(session.reference.nest)) {
    constexpr double kClearly = 1.25;  // these times are of no pairs
    const bool wins = kClearly * loop.reference_ns() < loop.best_ns();
    out.winners.insert(wins ? out.winners.begin() : out.winners.end(), reference_winner(session, loop.reference_ns()));
  }
  return out;
}

Result<BaseTime> timed_base(const SessionTask& session, const SessionServices& services, const LoadableKernel& kernel,
                            const RunOutcome& outcome) {
  if (auto set = services.runner.set_incumbent(kernel); !set) return set.error();
  return base_beside(session, services, {outcome.timing.median_ns, outcome.reference_ns});
}

/// None where no code is made of it.
Result<BaseTime> expected_base(const SessionTask& session, const SessionServices& services) {
  const int threads = session.task.key.threads;
  const auto ns = expected_ns(services.compiler, *analytic_model(services.compiler.machine(threads)),
                              session.reference.nest, threads);
  return ns ? BaseTime{expected_timing(*ns, 0), *ns} : BaseTime{};
}

/// `after_races` where the runner is an emulator.
Result<AfterBase> by_expected_times(const SessionTask& session, const TuneLoop& loop,
                                    const std::function<Result<double>(const LoopNest&)>& expected) {
  WorkspaceLimit limit = loop.limit();
  const auto base_ns = expected(session.reference.nest);
  if (base_ns && limit.admits(session.reference.nest)) return place_base(session, loop, *base_ns);
  if (loop.winners().empty()) return base_ns ? limit.refusal(session.task.source.name) : base_ns.error();
  return AfterBase{loop.winners(), base_ns ? *base_ns : 0};
}

}  // namespace

bool is_answered(const SearchEffort& spent, const TuneOptions& options) {
  const bool is_limited = options.budget != TuneOptions::kNoLimit;
  if (is_limited && spent.wall_s >= std::chrono::duration<double>(options.budget).count()) return true;
  if (options.trials > 0 && spent.trials >= options.trials) return true;
  if (options.until > 0 && spent.until >= options.until) return true;
  return spent.exhausted_by == toolchain();
}

Result<TuneReport> tune_session(const SessionTask& session, const SessionServices& services,
                                const SearchSpaceOfTask& space) {
  const bool is_emulated = services.runner.is_emulated();
  const Rates rates = is_emulated || services.runs_elsewhere ? Rates::unknown : Rates::measured_here;
  SearchParts parts(session, services, space, rates);
  if (auto begun = parts.begin(); !begun) return begun.error();
  TuneWorld world = world_of(session, services, parts.plan());
  parts.put_seeds(world);
  const auto expected = [&](const LoopNest& nest) {
    return expected_ns(services.compiler, parts.model(), nest, session.task.key.threads);
  };
  if (is_emulated) world.expected_ns = expected;
  announce(parts.plan(), session.options, world.elapsed_s());
  TuneLoop loop(session.task, parts.sketches(), parts.strategy(), session.options, std::move(world));
  parts.stop_where([&loop] { return loop.is_time_over(); });
  if (session.served && !session.options.refresh)
    if (auto resumed = loop.resume(*session.served); !resumed) return resumed.error();
  if (!session.served && session.expected)
    if (auto tried = loop.try_first(*session.expected); !tried) return tried.error();
  if (auto ran = loop.run(); !ran)
    return with_found(ran.error(), loop.winners().empty() ? "" : loop.winners().front().trace);

  constexpr std::chrono::milliseconds kForProof{800};
  Result<AfterBase> after = stopped("the search");
  if (!is_due(services.call))
    after = is_emulated ? by_expected_times(session, loop, expected) : after_races(session, services, space, loop);
  const bool ends_now = !after && is_stopped(after.error());
  if (ends_now) after = without_races(session, loop);
  if (!after) return after.error();
  // The races may have used up what was left.
  const bool is_over = ends_now || (services.call && services.call->ends_within(kForProof));
  if (is_over && services.call) services.call->give_last(kForProof);
  auto finalist = first_proven(session, services.isl, after->winners, loop.failed());
  if (!finalist) return finalist.error();
  auto report = reported(session, services, *after, std::move(finalist).value(), is_over);
  if (!report) return report;
  report->warnings = after->warnings;
  if (report->record.certificate.verdict == Verdict::not_checked)
    report->warnings.push_back("record #" + std::to_string(report->record.id) +
                               " is not proven yet, for the time was over: it will be before it is served");
  report->interrupted = loop.interrupted();
  report->measured = loop.measured();
  report->failed = loop.failed();
  report->sketches = static_cast<int>(parts.sketches().size());
  report->seeds = static_cast<int>(space.library_templates);
  report->scored = parts.strategy().scored();
  report->flops = parts.plan().flops;
  report->effort = loop.effort();
  report->reason = loop.reason();
  return report;
}

Result<TuneReport> schedule_session(const SessionTask& session, const SessionServices& services,
                                    const ScheduleByHand& schedule) {
  const int threads = session.task.key.threads;
  auto kernel = services.compiler.for_runner(on_threads(schedule.nest, threads), CompileService::Spills::allow);
  if (!kernel) return kernel.error();
  const bool is_emulated = services.runner.is_emulated();
  RunRequest request;
  request.candidate = *kernel;
  if (is_emulated) request = comparing_only(*kernel);
  request.deadline = kBenchDeadline;
  auto outcome = services.runner.run(request);
  if (!outcome) return outcome.error();
  if (outcome->status != RunStatus::ok) return did_not_run("the schedule", *outcome);
  if (is_emulated) {
    const auto ns =
        expected_ns(services.compiler, *analytic_model(services.compiler.machine(threads)), schedule.nest, threads);
    if (!ns) return ns.error();
    outcome->timing = expected_timing(*ns, 0);
  }
  Winner winner;
  winner.nest = schedule.nest;
  winner.trace = schedule.trace;
  winner.measurement.nest_hash = hash(schedule.nest);
  winner.measurement.status = RunStatus::ok;
  winner.measurement.timing = outcome->timing;
  winner.measurement.strategy = "by hand";
  winner.measurement.toolchain = toolchain();
  winner.measurement.unix_time = static_cast<int64_t>(std::time(nullptr));
  auto base = is_emulated ? expected_base(session, services) : timed_base(session, services, *kernel, *outcome);
  if (!base) return base.error();
  if (!is_emulated) {
    auto pairs = against_served(session, services, schedule.nest);
    if (!pairs) return pairs.error();
    winner.to_served = pairs->ratio;
  }
  auto finalist = first_proven(session, services.isl, {winner}, 0);
  if (!finalist) return finalist.error();
  const AfterBase after{{}, base->ns, base->timing, winner.measurement.nest_hash};
  auto report = reported(session, services, after, std::move(finalist).value());
  if (!report) return report;
  if (services.compiler.is_too_many(kernel->spills, schedule.nest))
    report->warnings.push_back(spill_text(kernel->spills) + ": the register tile does not fit");
  for (auto& warning : slow_warnings("the schedule", outcome->timing, base->timing))
    report->warnings.push_back(std::move(warning));
  if (session.served && report->record.measurement.timing.median_ns > session.served->measurement.timing.median_ns)
    report->served = session.served->id;
  report->measured = 1;
  report->reason = stop_reason::kSchedule;
  return report;
}

}  // namespace polyweft
