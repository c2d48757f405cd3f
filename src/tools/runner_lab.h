// The supervisor's work: keeps the task's data, runs the reference once for each set of inputs, judges and times
// candidates. It never executes a kernel itself and believes a candidate's process nothing that it cannot check:
// outputs are compared here, in memory whose right answers the candidate's process cannot see.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "polyweft/runner.h"
#include "runner_inputs.h"
#include "runner_process.h"
#include "runner_regions.h"
#include "support/stats.h"

namespace polyweft::runner {

/// Inputs and right answers for one InputSet.
struct SetData {
  std::vector<PrivateBytes> inputs, outputs,
      bounds;  ///< in the order of the arguments; bounds (f64) empty without a bound kernel
  double reference_ns = 0;
  std::optional<SetNote> note = std::nullopt;  ///< none: all elements are judged, on the usual numbers
};

/// One task: its arguments' memory and what is known about it.
struct TaskData {
  RunnerTask task;
  std::string encoded;                      ///< as received: the same id with other contents is another task
  std::vector<ArgumentSpec> bound_outputs;  ///< the outputs as f64
  std::vector<Region> regions;              ///< arguments, then bound_outputs
  std::array<std::optional<SetData>, 3> sets;
  std::optional<LoadableKernel> incumbent;
  std::map<std::string, size_t> runs_of;  ///< by a candidate's id
  uint64_t bytes = 0;

  size_t inputs() const;
  bool has_given_data() const;
  std::vector<BoundArgument> arguments() const;
  std::vector<BoundArgument> arguments_of_bound() const;
};

class Lab {
 public:
  explicit Lab(ProcessSetting setting) : setting_(setting) {}

  /// Makes the task current; its reference runs on integer-valued data unless that was done before. The reference's
  /// time in ns.
  Result<double> begin(const RunnerTask& task, std::string encoded);
  Status set_incumbent(LoadableKernel kernel);
  Result<RunOutcome> run(const RunRequest& request);

 private:
  TaskData* known(const RunnerTask& task, const std::string& encoded);
  void make_room(uint64_t bytes);
  Result<const SetData*> prepared(InputSet set);
  Result<SetData> reference_on(InputSet set, Draw draw);
  Result<SetData> judgeable_data(InputSet set);

  ProcessSetting setting_;
  std::vector<std::unique_ptr<TaskData>> tasks_;  ///< the current one last
};

/// Copies a set's inputs into the arguments' memory, poisons the outputs.
void lay_out(TaskData& task, const SetData& data, Placement placement);

}  // namespace polyweft::runner
