// Rows with recomputed digests: any column of a database of searched records is changed in SQLite, the digests are made
// to fit, and everything that serves records is asked. Never a wrong value, never a crash, never an internal error;
// what was changed is proven again or refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "polyweft/tuner.h"

namespace polyweft::test {

class RowAttack {
 public:
  /// Searches a few small programs into a database of its own below `folder`.
  explicit RowAttack(std::filesystem::path folder);

  /// The columns that are attacked, "table.column".
  static const std::vector<std::string>& columns();
  /// Changes one column by this seed and asks all verbs; what went wrong, empty: nothing.
  std::string run(const std::string& column, uint64_t seed);
  /// What happened so far: "refused", "proven again", "attested", "not found", "search", and "nest: PWnnnn" of nests
  /// that were refused.
  const std::map<std::string, int>& outcomes() const { return outcomes_; }

 private:
  struct Subject {
    Program program;
    std::vector<TensorData> inputs, expected;
    int64_t record = 0;
  };
  std::string ask(const Subject& subject, const std::string& database);
  std::string ask_record(Tuner& tuner, const Subject& subject);
  std::string found_by_verify(Tuner& tuner, const Subject& subject);
  TunerOptions options(const std::string& database);
  bool is_right(const Subject& subject, Result<Kernel> kernel, std::string& wrong);

  std::filesystem::path folder_;
  std::vector<Subject> subjects_;
  std::vector<std::string> notices_;
  std::map<std::string, int> outcomes_;
};

}  // namespace polyweft::test
