// Several programs in turns, within one budget.
#include <algorithm>

#include "driver/shared_budget.h"
#include "driver/stop_reason.h"
#include "driver/tuner_impl.h"

namespace polyweft {
namespace {

/// Watches one search for the budget, and hands its events on.
struct TurnOptions {
  TuneOptions options;
  double before_s = 0, bound_ns = 0;  ///< of the search's start

  TurnOptions(const SharedProgram& shared, size_t program, double until_s, SharedBudget& turns)
      : options(shared.options) {
    options.trace.clear();
    options.budget = std::chrono::milliseconds(std::max<int64_t>(static_cast<int64_t>(until_s * 1e3), 1));
    options.progress = [this, program, &turns, &shared](const TuneProgress& event) {
      if (event.plan) {
        before_s = event.plan->before.wall_s;
        bound_ns = event.plan->bound_ns;
      }
      if (event.event == TuneEvent::trial && event.best_ns > 0)
        turns.saw(program, {before_s + event.elapsed_s, event.best_ns});
      if (shared.options.progress) shared.options.progress(event);
    };
  }
  TurnOptions(const TurnOptions&) = delete;
  TurnOptions& operator=(const TurnOptions&) = delete;
};

/// Where a record answered before the turn's end, more time would not start the search again.
bool ended_by_itself(const TuneReport& report, double until_s) {
  return report.hit ? report.effort.wall_s < until_s : report.reason != stop_reason::kBudget;
}

}  // namespace

std::vector<Result<TuneReport>> Tuner::Impl::tune(const std::vector<SharedProgram>& programs,
                                                  std::chrono::milliseconds budget) {
  const Error none = fail("PW0709", "no database was given: programs that share a budget are searched in turns",
                          {"give --database PATH, or TunerOptions::database"});
  std::vector<Result<TuneReport>> reports(programs.size(), none);
  if (!stored.is_given()) return reports;
  std::vector<double> calls;
  for (const SharedProgram& each : programs) calls.push_back(each.calls);
  SharedBudget turns(std::move(calls), std::chrono::duration<double>(budget).count());
  std::vector<std::optional<PlannedSearch>> planned(programs.size());
  while (const auto turn = turns.next()) {
    const SharedProgram& shared = programs[turn->program];
    if (shared.turn) shared.turn(turn->until_s);
    const TurnOptions watched(shared, turn->program, turn->until_s, turns);
    reports[turn->program] = tune(shared.program, watched.options, &planned[turn->program]);
    const Result<TuneReport>& report = reports[turn->program];
    if (!report) {
      turns.ended(turn->program, {}, 0, true);
      continue;
    }
    const double spent_s = report->effort.wall_s;
    turns.ended(turn->program, {spent_s, report->record.measurement.timing.median_ns}, watched.bound_ns,
                ended_by_itself(*report, turn->until_s));
    if (!report->hit) turns.spend(std::max(0.0, report->wall_s - (spent_s - watched.before_s)));
    if (report->interrupted) break;
  }
  return reports;
}

}  // namespace polyweft
