// What a search knows before its first trial.
#pragma once

#include <vector>

#include "driver/task.h"
#include "polyweft/database.h"
#include "polyweft/nest_template.h"
#include "polyweft/tuner.h"

namespace polyweft {

/// `database` may be null. `peak_gflops` as measured, 0 where it cannot be.
TuneStart tune_start(const Task& task, const LoopNest& base, const std::vector<NestTemplate>& templates, double peak_gflops, Database* database);
/// Reports the start to the caller's progress function, if there is one.
void announce(const TuneStart& plan, const TuneOptions& options, double elapsed_s);

}  // namespace polyweft
