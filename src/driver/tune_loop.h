// The search of one task: ask, build, compare, measure, tell, store; until the budget, the trials or the space end.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/bench_timing.h"
#include "driver/call.h"
#include "driver/derivation.h"
#include "driver/kernels_ahead.h"
#include "driver/ratio_chain.h"
#include "driver/task.h"
#include "driver/workspace_limit.h"
#include "polyweft/database.h"
#include "polyweft/nest_template.h"
#include "polyweft/search.h"
#include "polyweft/tuner.h"

namespace polyweft {

/// What the loop needs of the world, so that tests can give it a false one.
struct TuneWorld {
  /// Builds a candidate for the runner; PW05xx where code generation refuses it (spills, block too large).
  std::function<Result<LoadableKernel>(const LoopNest&)> build;
  BuildThreads builders = {};  ///< `build` may be called by so many threads at once
  Runner* runner = nullptr;
  Database* database = nullptr;  ///< may be null
  std::function<double()> elapsed_s;
  std::function<int64_t()> unix_time;
  std::vector<Candidate> seeds = {};  ///< measured first: what may be served untuned, and the floor
  TuneStart plan;                     ///< rates, roofline, and what earlier searches spent
  bool calls_are_long = false;        ///< so that results are compared on random data alone
  /// What a call of a nest is expected to take, where the runner is an emulator; empty: the runner's clock counts.
  std::function<Result<double>(const LoopNest&)> expected_ns;
  /// The candidate whose trace this is, of the search's templates; may be empty: then nothing goes on from a search
  /// that ended without a record.
  std::function<std::optional<Candidate>(const std::string& trace)> candidate_of;
  /// A kernel's time and the peak in turns; may be empty. Changes the runner's incumbent.
  std::function<Result<KernelTiming>(const LoopNest&, const LoadableKernel&)> time_with_peak;
  /// Proves a nest and keeps the answer; may be empty.
  std::function<void(const LoopNest&)> prove_ahead;
  Call* call = nullptr;       ///< whose end ends the search; null: none
  double reserve_s = 0;       ///< of the budget, for what follows the last trial
  double more_reserve_s = 0;  ///< where a call takes kWorthAProcessNs: races in other processes
};
/// Of a call, beside which a process that is started for it is little.
constexpr double kWorthAProcessNs = 1e6;

struct Winner {
  LoopNest nest;
  Measurement measurement;
  std::string trace;
  int64_t record = 0;    ///< the database has it already; 0: found by this search
  double to_served = 0;  ///< its time over that of the record that is served, by pairs; 0: not raced against it
  std::vector<double> least_ns = {};  ///< of a call, in each process that it was raced in after the search's
};

class TuneLoop {
 public:
  TuneLoop(const Task& task, const SketchSet& sketches, Strategy& strategy, const TuneOptions& options,
           TuneWorld world);

  /// Before run(): the search goes on from a stored record, which is the first to beat. It is compared and timed again,
  /// since times of another hour do not count here; a record that no longer builds or is no longer right is left out.
  /// What else was measured for the task is not measured again.
  Status resume(const TuningRecord& record);
  /// Before run(): a record whose time says nothing here (it was expected, not measured) is the first candidate.
  Status try_first(const TuningRecord& record);
  /// Measures until something ends it. Winners are in winners(), fastest first, by their ratios to the sentinel.
  Status run();
  const std::vector<Winner>& winners() const { return winners_; }
  /// One run of the reference, as the lab timed it when it made the expected outputs; 0 before the first trial.
  double reference_ns() const { return reference_ns_; }
  double best_ns() const { return best_ns_; }
  /// The time of a nest over another's, by pairs of this search, or at most that where the other one was stopped at
  /// its deadline; 0: not known.
  double ratio_between(const std::string& nest_hash, const std::string& other) const;
  int measured() const { return measured_; }
  int failed() const { return failed_; }
  const std::string& reason() const { return reason_; }
  bool interrupted() const { return interrupted_; }
  const WorkspaceLimit& limit() const { return limit_; }
  /// All searches of the task together.
  SearchEffort effort() const;
  /// Whoever works for the next batch gives up.
  bool is_time_over() const;

 private:
  struct Trial {
    Observation observation;
    Measurement measurement;
    std::string trace;
    bool takes_too_much = false;  ///< memory: of this search, not of the nest, so nothing is stored
  };
  bool is_asked_to_stop() const;
  bool is_budget_spent() const;
  bool should_end();
  Status load_history();
  Status run_batch(const std::vector<Candidate>& batch);
  void build_ahead(const std::vector<Candidate>& batch, size_t from);
  const Measurement* known(const std::string& nest_hash) const;
  double peak_beside(const LoopNest& nest, const LoadableKernel& kernel, double ns);
  Result<Trial> try_candidate(const Candidate& candidate);
  Result<RunOutcome> run(const LoopNest& nest, RunRequest request);
  Result<std::optional<Winner>> timed(LoopNest nest);
  Result<std::optional<Winner>> timed(const TuningRecord& record);
  Status go_on_from_history();
  std::string best_of_before() const;
  Result<Trial> measure(const Candidate& candidate, const LoopNest& nest, Trial trial);
  Result<bool> wins_again(const LoopNest& nest, const LoadableKernel& kernel, Trial& trial);
  Status keep_winner(LoopNest nest, Trial& trial, const LoadableKernel& kernel);
  RunRequest paired_request(const LoadableKernel& kernel) const;
  double ratio_of(const Measurement& measurement) const;
  void prove_ahead();
  bool is_store_due() const;
  Status store_kept();
  void report(TuneEvent event, const Trial& trial, double peak_gflops = 0);

  const Task& task_;
  const SketchSet& sketches_;
  Strategy& strategy_;
  const TuneOptions& options_;
  TuneWorld world_;
  KernelsAhead kernels_;
  WorkspaceLimit limit_;
  std::map<std::string, Measurement> history_;  // by nest hash: never measured twice, failures never run again
  std::map<std::string, std::string> traces_;   // by nest hash, of the history
  RatioChain chain_;
  std::map<std::string, double> bounds_;  // by nest hash: least ratios to the sentinel of what was too slow
  std::string incumbent_;                 ///< nest hash of the best so far, beside which candidates are timed
  bool is_resumed_ = false;
  bool is_exact_ = false;  ///< times are counts: those of other hours are those of now
  std::vector<Winner> winners_;
  int measured_ = 0, failed_ = 0, trials_ = 0;
  int won_at_ = 0;      // trials until the last one that was faster
  int tried_ = 0;       // trials, and candidates that took too much memory
  double best_ns_ = 0;  ///< of the incumbent when it was taken: for deadlines and reports, compared with no other time
  double reference_ns_ = 0;
  std::vector<Trial> kept_;  // measured, not stored yet
  double stored_at_s_ = 0, store_cost_s_ = 0;
  double ended_s_ = 0;    ///< of the last trial; 0 while there are more
  SearchEffort stored_;   ///< of this search, what the database has
  double proving_s_ = 0;  ///< spent ahead of the end
  std::string proven_;    ///< nest hash of what was proven ahead
  std::string reason_;
  bool interrupted_ = false;
};

}  // namespace polyweft
