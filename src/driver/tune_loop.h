// The search of one task: ask, build, compare, measure, tell, store; until the budget, the trials or the space end.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

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
  Runner* runner = nullptr;
  Database* database = nullptr;  ///< may be null
  std::function<double()> elapsed_s;
  std::function<int64_t()> unix_time;
  double bound_ns = 0;  ///< roofline of one call; 0: not known
};

struct Winner {
  Candidate candidate;
  LoopNest nest;
  Measurement measurement;
  std::string trace;
};

class TuneLoop {
 public:
  TuneLoop(const Task& task, const std::vector<NestTemplate>& templates, Strategy& strategy, const TuneOptions& options, TuneWorld world);

  /// Measures until something ends it. Winners are in winners(), fastest first.
  Status run();
  const std::vector<Winner>& winners() const { return winners_; }
  /// One run of the reference, as the lab timed it when it made the expected outputs; 0 before the first trial.
  double reference_ns() const { return reference_ns_; }
  double best_ns() const { return best_ns_; }
  int measured() const { return measured_; }
  int failed() const { return failed_; }
  const std::string& reason() const { return reason_; }
  bool interrupted() const { return interrupted_; }
  const WorkspaceLimit& limit() const { return limit_; }

 private:
  struct Trial {
    Observation observation;
    Measurement measurement;
    std::string trace;
    bool takes_too_much = false;  ///< memory: of this search, not of the nest, so nothing is stored
  };
  bool should_end();
  Status load_history();
  Result<Trial> try_candidate(const Candidate& candidate);
  Result<Trial> measure(const Candidate& candidate, const LoopNest& nest, Trial trial);
  Status keep_winner(const Candidate& candidate, LoopNest nest, const Trial& trial, const LoadableKernel& kernel);
  bool is_store_due() const;
  Status store_kept();
  void report(TuneEvent event, const Trial& trial);

  const Task& task_;
  const std::vector<NestTemplate>& templates_;
  Strategy& strategy_;
  const TuneOptions& options_;
  TuneWorld world_;
  WorkspaceLimit limit_;
  std::map<std::string, Measurement> history_;  // by nest hash: never measured twice, failures never run again
  std::vector<Winner> winners_;
  int measured_ = 0, failed_ = 0, trials_ = 0;
  int tried_ = 0;  // trials, and candidates that took too much memory
  double best_ns_ = 0, reference_ns_ = 0;
  double fastest_ns_ = 0;    ///< least time of any incumbent
  std::vector<Trial> kept_;  // measured, not stored yet
  double stored_at_s_ = 0, store_cost_s_ = 0;
  std::string reason_;
  bool interrupted_ = false;
};

}  // namespace polyweft
