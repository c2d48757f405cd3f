// polyweft-runner --batch: measures the candidates of a file (targets/batches/batch_file.h) and writes what it finds
// beside it. Ended at any time it goes on where it was.
#pragma once

#include <string>

#include "runner_lab.h"
#include "targets/batches/batch_race.h"

namespace polyweft::runner {

/// Work and the file of its results, opened and held before the sandbox closes the file system.
class BatchJob {
 public:
  /// PW0614 and PW0615 for files that are none, damaged, or held by another process; PW0611 for work of another build.
  static Result<BatchJob> open(const std::string& path);
  BatchJob(BatchJob&& other) noexcept;
  BatchJob& operator=(BatchJob&&) = delete;
  ~BatchJob();

  const targets::Batch& batch() const { return batch_; }
  /// Lines are JSON: docs/schemas/polyweft.measure-1.json.
  void print_json() { is_json_ = true; }
  /// Prints a line a candidate. PW0517 where this CPU or `machine`, the device's, is not what the kernels are for;
  /// errors of the lab, which leave the rest unmeasured.
  Status run(Lab& lab, const std::string& device, const std::string& machine, bool is_emulated);

 private:
  BatchJob(targets::Batch batch, std::string path) : batch_(std::move(batch)), path_(std::move(path)) {}
  Status begin(const std::string& device, bool is_emulated);
  Status append(const std::string& bytes);
  Result<targets::BatchRow> measured(Lab& lab, const targets::BatchStep& step, bool is_emulated);
  void print(const targets::BatchRow& row, const targets::BatchRace& race) const;
  void print_as_json(const targets::BatchRow& row, const targets::BatchRace& race) const;
  void print_end(const targets::BatchRace& race, const std::string& device, bool is_emulated) const;

  targets::Batch batch_;
  std::string path_, name_;
  int results_ = -1;
  bool is_json_ = false;
  targets::BatchResults found_;
  uint32_t incumbent_ = targets::BatchRow::kAlone;  ///< in the lab
};

}  // namespace polyweft::runner
