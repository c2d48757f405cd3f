// One search from the lab's first kernel to the stored record: loop, race with the base nest, proof, record.
#pragma once

#include <chrono>
#include <vector>

#include "driver/isl_client.h"
#include "driver/task.h"
#include "driver/workshop.h"
#include "polyweft/database.h"
#include "polyweft/nest_template.h"
#include "polyweft/tuner.h"

namespace polyweft {

/// What is searched. `lab` has begun in the runner.
struct SessionTask {
  const Task& task;
  const LoopNest& base;
  const RunnerTask& lab;
  const std::vector<NestTemplate>& templates;
  const TuneOptions& options;
  std::chrono::steady_clock::time_point start;
};
/// Who does the work.
struct SessionServices {
  const Workshop& workshop;
  IslClient& isl;
  Runner& runner;
  Database* database = nullptr;  ///< may be null: nothing is kept
};

/// Ends by budget, trials, space or cancellation. PW0650 where not even the base nest ran correctly.
Result<TuneReport> tune_session(const SessionTask& session, const SessionServices& services);

}  // namespace polyweft
