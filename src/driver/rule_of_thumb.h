// How far outputs may lie apart where no running error bound can be had: at full size where its kernel would take too
// long, and in `run --verify`.
#pragma once

#include "driver/task.h"
#include "polyweft/runner.h"

namespace polyweft {

/// Fills RunnerTask::bit_exact and RunnerTask::relative_bound from the longest sum of the program and its element
/// types.
void set_rule_of_thumb(const Task& task, RunnerTask& out);

}  // namespace polyweft
