// In which order a batch is measured, and who wins: a function of the rows so far, so that it goes on where it was
// stopped, and whoever reads the rows sees the same winner. The same races as in a search (driver/tune_loop.h): each
// candidate beside the best so far, who wins a second time in another layout, and the winner at the end beside what it
// is to replace.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "targets/batches/batch_file.h"

namespace polyweft::targets {

/// What is to be measured next.
struct BatchStep {
  BatchEvent event = BatchEvent::trial;
  uint32_t candidate = 0, beside = BatchRow::kAlone;
  double beside_ns = 0;  ///< of a call of that one; 0: alone
  int started = 0;       ///< times that it was begun and nothing came of it
};

class BatchRace {
 public:
  /// The batch must outlive it.
  BatchRace(const Batch& batch, bool is_emulated);
  /// None: all was measured.
  std::optional<BatchStep> next() const;
  void tell(const BatchRow& row);
  /// The best so far; at the end the winner.
  std::optional<uint32_t> best() const;
  /// What counts of a candidate, with what it ran beside; of one that was not measured nothing.
  const std::optional<BatchRow>& told(uint32_t candidate) const { return told_[candidate]; }
  /// The races of the winner at the end, the last one of each pair.
  const std::vector<BatchRow>& finals() const { return finals_; }
  /// Candidates that were measured.
  uint32_t measured() const { return at_; }

 private:
  void trial(const BatchRow& row);
  void again(const BatchRow& row);
  void race(const BatchRow& row);
  void take(const BatchRow& row);
  void begin_races();
  bool wins(const RunOutcome& outcome) const;
  double ns_of(uint32_t candidate) const;
  int races_needed() const;

  const Batch& batch_;
  const bool is_emulated_;
  uint32_t at_ = 0;  ///< the candidate whose trial is next
  bool meets_again_ = false;
  std::optional<uint32_t> best_;
  double best_ns_ = 0;
  std::vector<std::optional<BatchRow>> told_;
  std::vector<uint32_t> rivals_;  ///< that are left for the winner; known once all trials are over
  int races_ = 0;                 ///< won beside the first of them
  int started_ = 0;
  std::vector<BatchRow> finals_;
};

}  // namespace polyweft::targets
