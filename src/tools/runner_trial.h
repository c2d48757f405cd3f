// One candidate's trial: compare on every wanted set, then time, then compare once more.
#pragma once

#include <optional>
#include <vector>

#include "polyweft/runner.h"
#include "runner_lab.h"
#include "support/turns.h"

namespace polyweft::runner {

struct ComparedSet {
  InputSet set;
  const SetData* data;
};

class Trial {
 public:
  Trial(const ProcessSetting& setting, TaskData& task, const RunRequest& request, std::vector<ComparedSet> sets)
      : setting_(setting), task_(task), request_(request), sets_(std::move(sets)) {}

  RunOutcome outcome();

 private:
  class Calls;
  using Verdict = std::optional<Failure>;
  std::variant<std::unique_ptr<KernelProcess>, Failure> start();
  Verdict compare_all();
  Verdict compare(const ComparedSet& set, Placement placement);
  bool is_much_slower(size_t set) const;
  Verdict judge_outputs(const ComparedSet& set, Placement placement) const;
  Verdict pack(Slot slot, const ComparedSet& set, Placement placement);
  Verdict time();
  /// Beside a timing: clocks and cold calls of a device.
  void note_device(double clock_mhz);
  Verdict time_alone(const FirstCalls& first);
  Verdict time_against_incumbent(const FirstCalls& first);
  Verdict take(const Command& command);
  TurnsOptions turns() const;
  void keep_timing(const std::vector<double>& samples, double step);

  double launch_limit_ns(const ComparedSet& set) const;
  /// Times of calls are not the wall clock's: that one ends what hangs, and says nothing of speed.
  bool has_times_of_its_own() const;
  double budget_left_ns() const;
  bool paired() const { return request_.pair_with_incumbent && task_.incumbent.has_value(); }
  RunOutcome finished(const Failure& failure);

  const ProcessSetting& setting_;
  TaskData& task_;
  const RunRequest& request_;
  std::vector<ComparedSet> sets_;
  KernelProcess* process_ = nullptr;
  RunOutcome out_;
  double clock_started_ns_ = 0;
  double fastest_call_ns_ = 0;  ///< while outputs are compared
  double expected_ns_ = 0;      ///< of one call of the candidate, once known
  Verdict failed_clock_;        ///< what ended the timing
};

}  // namespace polyweft::runner
