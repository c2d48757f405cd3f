// The inside of Tuner, for its sources: tuner.cpp answers, tuner_lab.cpp measures, tuner_show.cpp prints stages and
// facts, tuner_records.cpp proves and takes in records, tuner_shared.cpp searches several programs in turns,
// tuner_batches.cpp has others measure.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/bench_timing.h"
#include "driver/call.h"
#include "driver/compile_service.h"
#include "driver/isl_client.h"
#include "driver/kept_answers.h"
#include "driver/kernel_impl.h"
#include "driver/planner.h"
#include "driver/stored.h"
#include "driver/task.h"
#include "driver/trace_library.h"
#include "driver/trust.h"
#include "driver/tune_session.h"
#include "driver/turn.h"
#include "polyweft/tuner.h"

namespace polyweft {

/// What a search needs before its first trial. A program that has several turns has it made once.
struct PlannedSearch {
  SearchSpaceOfTask space;
  Reference reference;
  std::vector<std::string> warnings;
};

/// Who plans, makes and runs kernels of one target.
struct Workbench {
  Planner& planner;
  const CompileService& compiler;
  Runner& runner;
};

struct Tuner::Impl {
  Impl(Target target, TunerOptions given);

  // tuner_show.cpp
  /// PW0540 where it is not.
  Status is_of_this_target(const TuningRecord& record) const;
  Result<std::string> code_text(const LoopNest& nest, ShowStage stage, const std::string& after) const;

  // tuner_lab.cpp
  Result<LoadableKernel> asked_for(const LoopNest& nest, const std::string& name,
                                   std::vector<std::string>& warnings) const;
  Result<BenchRow> race_rival(const Task& t, const BenchRival& rival, std::chrono::milliseconds budget,
                              BenchReport& report);
  /// Into the report: its time, or a warning where one thread of a device does not end.
  Status time_base(const LoopNest& base, std::chrono::milliseconds budget, BenchReport& report);
  /// `references`: who makes reference and bounds; null: compiler.of_references().
  Result<RunnerTask> runner_task(const Task& t, const LoopNest& reference, bool has_bounds,
                                 const CompileService* references = nullptr);
  std::optional<LoopNest> bound_nest(const Task& t, bool bit_exact);
  Tolerance tolerance(const Task& t, const std::vector<TensorData>& inputs);
  /// Whose runner somebody else's command starts: its machine may be far away.
  bool runs_elsewhere() const { return !options.runner.empty(); }
  RunnerOptions runner_options() const;
  Status start_runner();
  /// Another process of the runner, with memory elsewhere, that has begun this task with the kernel as its reference.
  Result<std::unique_ptr<Runner>> start_other_runner(RunnerTask task, const LoadableKernel& kernel) const;
  /// Keeps what a call gives for the lab.
  Status take_inputs(const Task& t, const TaskOptions& task_options);
  /// The runner is started where it is not yet, and has begun the task, whose reference is `base`.
  Result<RunnerTask> begin_lab(const Task& t, const LoopNest& reference, std::optional<uint64_t> seed = {},
                               bool has_bounds = true);
  /// What the CPU beside a device computes its results by, where the base nest would take longer than `most_ns` there:
  /// its own first choice on one thread, which was compared with the base nest at smaller sizes where the program has
  /// any. None: the base nest. Costs a plan of the CPU.
  std::optional<LoopNest> reference_of_cpu(const Task& t, const TaskOptions& task_options, const LoopNest& base,
                                           double most_ns);
  /// See Reference. Searches on other machines have the base nest.
  Result<Reference> reference_of(const Task& t, const TuneOptions& tune_options, const SearchSpaceOfTask& space);
  /// Does the trace's nest compute what the base nest does, at sizes at which the latter takes no longer than that, by
  /// its operations and `naive_ns`, its time at these sizes? Nothing where there are no such sizes, or the trace does
  /// not go with them.
  std::optional<bool> agrees_when_small(const Workbench& at, const Task& t, const TaskOptions& task_options,
                                        const std::string& trace, double naive_ns, double most_ns);
  Result<KernelTiming> time_again(const Task& t, const LoopNest& nest, double expected_ns);
  Result<Measurement> timed(const Task& t, const LoopNest& nest, const std::optional<TuningRecord>& served);
  Result<TuneReport> in_lab(const Task& t, const TuneOptions& tune_options, const Reference& reference,
                            std::optional<TuningRecord> served, std::chrono::steady_clock::time_point start,
                            const std::function<Result<TuneReport>(const SessionTask&, const SessionServices&)>& work);

  // tuner_records.cpp
  Result<LoopNest> nest_of(const TuningRecord& record, const Task& task);
  Result<LoopNest> nest_of(const TuningRecord& record);

  // tuner_rehearsal.cpp
  /// The options of the same search at fewer steps of time, where `call_ns` is too much of the budget and a parameter
  /// says how many there are.
  std::optional<TuneOptions> rehearsal_of(const Task& t, const TuneOptions& tune_options, double call_ns) const;
  /// The trace that such a search ends with; empty where there is none. It is stored under its own sizes.
  Result<std::string> rehearsed(const Task& t, const TuneOptions& tune_options, double call_ns,
                                std::chrono::steady_clock::time_point start);

  // tuner_shared.cpp
  std::vector<Result<TuneReport>> tune(const std::vector<SharedProgram>& programs, std::chrono::milliseconds budget);

  // tuner_batches.cpp
  Result<ProposeReport> propose(const Program& program, const TuneOptions& tune_options, const ProposeOptions& options);
  Result<ObserveReport> observe(const std::string& path, const TuneOptions& tune_options);
  /// Pairs of the nest with what is served for the task, where this machine runs kernels. None: the same, or it cannot.
  Result<std::optional<Timing>> beside_served_here(const Task& t, const LoopNest& nest,
                                                   const TuneOptions& tune_options);

  // tuner.cpp
  Result<Database*> writable_database();
  /// `planned`, where there is one, is made by the first search and taken by the next ones.
  Result<TuneReport> tune(const Program& program, const TuneOptions& tune_options,
                          std::optional<PlannedSearch>* planned = nullptr);
  Result<TuneReport> answer(const Task& t, const TuneOptions& tune_options, std::chrono::steady_clock::time_point start,
                            std::optional<PlannedSearch>* planned);
  Result<TuneReport> timed_tune(const Program& program, const TuneOptions& tune_options,
                                std::optional<PlannedSearch>* planned, std::chrono::steady_clock::time_point start);
  /// What answer() does where nothing answers at once.
  Result<TuneReport> measured(const Task& t, const TuneOptions& tune_options, std::optional<Served> record,
                              std::chrono::steady_clock::time_point start, std::optional<PlannedSearch>* planned);
  Result<std::optional<Served>> served(const Task& t, const TuneOptions& tune_options);
  static TuneReport hit(TuningRecord record, const SearchEffort& spent);
  Result<TuneReport> unmeasured(const Task& t, const TuneOptions& tune_options);
  Result<TuneReport> search(const Task& t, const TuneOptions& tune_options, std::optional<TuningRecord> served,
                            std::chrono::steady_clock::time_point start, std::optional<PlannedSearch>* planned);
  Result<PlannedSearch> plan_search(const Task& t, const TuneOptions& tune_options,
                                    std::chrono::steady_clock::time_point start);
  Result<std::vector<LibraryTrace>> records_of_other_sizes(const Task& t);
  /// Templates and seeds of the library, of the options' folder and of the nearest record; gives the warnings.
  Result<std::vector<std::string>> add_library(const Task& t, const TuneOptions& tune_options,
                                               SearchSpaceOfTask& space);
  Result<Plan> base_plan(const Task& t, const TaskOptions& task_options);
  Result<Plan> plan(const Task& t, const TaskOptions& task_options) {
    return task_options.symbolic ? planner.symbolic_plan(t, task_options) : planner.plan(t, task_options);
  }

  TunerOptions options;
  OneAtATime calls;  ///< whoever is inside has all that follows for itself, but for the times of `call`
  Call call;         ///< the one that is being answered
  KeptAnswers kept;
  CompileService compiler;
  IslClient isl;
  Stored stored;
  Trust trust;
  Planner planner;
  std::unique_ptr<Runner> runner;
  std::map<std::string, TensorData> given;  ///< TaskOptions::inputs of the call in progress
  std::optional<Task> in_the_lab;           ///< what the runner's notes are about
};

/// Compiles the nest and loads it into this process.
Result<Kernel> load_kernel(const CompileService& compiler, const LoopNest& nest, const Program& program,
                           const std::string& origin);

}  // namespace polyweft
