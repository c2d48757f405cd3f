// One search from the lab's first kernel to the stored record: loop, final races, proof, record. A schedule by hand
// takes the same way with one candidate.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/compile_service.h"
#include "driver/isl_client.h"
#include "driver/task.h"
#include "driver/trust.h"
#include "polyweft/database.h"
#include "polyweft/nest_template.h"
#include "polyweft/search.h"
#include "polyweft/tuner.h"
#include "schedules/steps.h"

namespace polyweft {

/// What candidates are compared with: the base nest, or where that would take a good part of the budget the first
/// proven schedule, which was compared with the base nest at smaller sizes where the program has any.
struct Reference {
  LoopNest nest;
  std::string trace = "trace 1\n";
  bool is_base = true;
  /// Of a device: what the CPU beside it computes instead of the base nest, which would take long there.
  std::optional<LoopNest> of_cpu = std::nullopt;
};
/// What is searched. `lab` has begun in the runner.
struct SessionTask {
  const Task& task;
  const Reference& reference;
  const RunnerTask& lab;
  const TuneOptions& options;
  std::optional<TuningRecord> served;    ///< what best() gives now
  std::optional<TuningRecord> expected;  ///< where there is none: what a search in an emulator has found
  std::chrono::steady_clock::time_point start;
};
/// Another process of the runner, with memory elsewhere, where this kernel is its own reference.
using ElsewhereRunner = std::function<Result<std::unique_ptr<Runner>>(const LoadableKernel&)>;
/// Who does the work.
struct SessionServices {
  const CompileService& compiler;
  IslClient& isl;
  Runner& runner;
  Trust& trust;
  Database* database = nullptr;         ///< may be null: nothing is kept
  bool runs_elsewhere = false;          ///< the runner's machine is not known to be this one
  Call* call = nullptr;                 ///< whose end ends the session; null: none
  ElsewhereRunner elsewhere = nullptr;  ///< null: there is none
};
/// A schedule that somebody wrote, proven.
struct ScheduleByHand {
  LoopNest nest;
  std::string trace;
};

/// Do the limits count as reached by what was spent already? Then a record is the answer.
bool is_answered(const SearchEffort& spent, const TuneOptions& options);

/// What is tried: rules' templates, and of them in which order what would be served without measuring.
struct SearchSpaceOfTask {
  std::vector<NestTemplate> templates;
  std::vector<Candidate>
      choices;  ///< Planner::choices: measured first, and the first of them raced again before the record
  schedules::Isl answers = {};  ///< what mutations ask
  /// The template of a trace, such as one of a record.
  std::function<Result<NestTemplate>(const std::string& trace)> replay = nullptr;
  std::vector<Candidate> seeds = {};  ///< schedules of a library, measured after the best choice of each way to make
                                      ///< code; their templates are the last ones
  size_t library_templates = 0;
  std::string rehearsed = {};  ///< the trace that a search at fewer steps of time ended with, measured before all
                               ///< others; empty: there was none
};

/// Ends by budget, trials, space or cancellation. PW0650 where nothing can be kept, not even the base nest.
Result<TuneReport> tune_session(const SessionTask& session, const SessionServices& services,
                                const SearchSpaceOfTask& space);
/// Measures and stores this one. PW0651 where it does not run correctly.
Result<TuneReport> schedule_session(const SessionTask& session, const SessionServices& services,
                                    const ScheduleByHand& schedule);

}  // namespace polyweft
