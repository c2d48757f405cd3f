#include "driver/tune_session.h"

#include <ctime>

#include "driver/spaces.h"
#include "driver/tune_loop.h"
#include "driver/tune_start.h"

namespace polyweft {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The untuned base nest is a candidate like any other: a schedule slower than it is never returned. Where the lab's one run of it was far slower
// than the best there is nothing to race: naive loops may take seconds a call.
Result<double> race_base(const SessionTask& session, Runner& runner, const TuneLoop& loop, std::vector<Winner>& winners) {
  constexpr double kFarSlower = 3;
  if (!winners.empty() && loop.reference_ns() > kFarSlower * loop.best_ns()) return loop.reference_ns();
  RunRequest request;
  request.candidate = session.lab.reference;
  request.pair_with_incumbent = !winners.empty();
  auto outcome = runner.run(request);
  if (!outcome) return outcome.error();
  if (outcome->status != RunStatus::ok) return outcome->reference_ns;
  if (winners.empty() || (outcome->timing.ratio > 0 && outcome->timing.ratio_hi < 1)) {
    Winner winner;
    winner.nest = session.base;
    winner.trace = "trace 1\n";
    winner.measurement.nest_hash = hash(session.base);
    winner.measurement.status = outcome->status;
    winner.measurement.timing = outcome->timing;
    winner.measurement.strategy = "base";
    winner.measurement.toolchain = toolchain();
    winner.measurement.unix_time = static_cast<int64_t>(std::time(nullptr));
    winners.insert(winners.begin(), std::move(winner));
  }
  return outcome->timing.median_ns;
}

// The fastest that the checker proves. A refuted winner is a bug of ours and never kept; where nothing can be proven (a quota of isl), the
// fastest that was right when measured is kept with that verdict, and best() does not serve it.
Result<TuningRecord> store_winner(const Task& t, const SessionServices& services, const std::vector<Winner>& winners) {
  const Winner* chosen = nullptr;
  Certificate certificate;
  for (const auto& winner : winners) {
    auto verdict = services.isl.prove(t, print(winner.nest));
    if (verdict && verdict->verdict == Verdict::refuted) continue;
    const bool is_proven = verdict && verdict->verdict == Verdict::proven;
    if (is_proven || !chosen) {
      chosen = &winner;
      certificate = verdict ? *verdict : Certificate{};
    }
    if (is_proven) break;
  }
  if (!chosen) return fail("PW0650", "no candidate ran correctly on this machine, not even the base nest", {"run: polyweft run FILE --verify"});
  TuningRecord record;
  record.key = t.key;
  record.canonical_text = t.canonical_text;
  record.program_text = t.source_text;
  record.program_name = t.source.name;
  record.trace_text = chosen->trace;
  record.nest_text = print(chosen->nest);
  record.certificate = certificate;
  record.measurement = chosen->measurement;
  if (!services.database) return record;
  auto id = services.database->insert(record);
  if (!id) return id.error();
  record.id = *id;
  return record;
}

}  // namespace

Result<TuneReport> tune_session(const SessionTask& session, const SessionServices& services) {
  const TuneStart plan = tune_start(session.task, session.base, session.templates, services.workshop, services.database);
  const double f32_peak = plan.peak_gflops / peak_factor(session.task.program, services.workshop.target());
  const auto model = analytic_model(services.workshop.calibrated_model(session.task.key.threads, f32_peak, plan.memory_gb_s));
  auto strategy = evolve(search_spaces(session.templates, *model), {.seed = session.options.seed});
  TuneWorld world;
  world.build = [&](const LoopNest& nest) { return services.workshop.for_runner(nest); };
  world.runner = &services.runner;
  world.database = services.database;
  world.elapsed_s = [start = session.start] { return seconds_since(start); };
  world.unix_time = [] { return static_cast<int64_t>(std::time(nullptr)); };
  announce(plan, session.options, world.elapsed_s());
  world.bound_ns = plan.bound_ns;
  TuneLoop loop(session.task, session.templates, *strategy, session.options, world);
  if (auto ran = loop.run(); !ran) return ran.error();

  std::vector<Winner> winners = loop.winners();
  WorkspaceLimit limit = loop.limit();
  const bool is_base_allowed = limit.admits(session.base);
  if (!is_base_allowed && winners.empty()) return limit.refusal(session.task.source.name);
  auto reference_ns = is_base_allowed ? race_base(session, services.runner, loop, winners) : loop.reference_ns();
  if (!reference_ns) return reference_ns.error();
  auto record = store_winner(session.task, services, winners);
  if (!record) return record.error();
  TuneReport report;
  report.record = std::move(record).value();
  report.interrupted = loop.interrupted();
  report.measured = loop.measured();
  report.failed = loop.failed();
  report.sketches = static_cast<int>(session.templates.size());
  report.scored = strategy->scored();
  report.flops = plan.flops;
  report.peak_gflops = plan.peak_gflops;
  report.reference_ns = *reference_ns;
  report.reason = loop.reason();
  report.wall_s = seconds_since(session.start);
  return report;
}

}  // namespace polyweft
