// What is said of data on which the reference has infinities or NaNs.
#pragma once

#include <map>
#include <string>

#include "driver/task.h"
#include "polyweft/runner.h"

namespace polyweft {

/// What the runner's data of a task are made from.
struct DataOfTask {
  const Task& task;
  const std::map<std::string, TensorData>& given;  ///< by name of the input; others are seeded
  uint64_t seed = 1;
};
/// One line: what is not finite, by which equation (of small programs), what was drawn instead, and what helps.
std::string note_text(const DataOfTask& data, const SetNote& note);

}  // namespace polyweft
