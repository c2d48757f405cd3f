// Candidates of a search that somebody else measures: the next ones after what is known, built and not run.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "driver/search_parts.h"
#include "driver/tune_session.h"
#include "targets/batches/batch_file.h"

namespace polyweft {

class ProposeLoop {
 public:
  /// All must outlive it.
  ProposeLoop(const SessionTask& session, const SessionServices& services, const SearchSpaceOfTask& space,
              SearchParts& parts);
  /// Up to `count` that no row of the database has, behind the served record and the first choice; then the base nest,
  /// where it is a kernel like the others. Candidates of which no code is made are there too, and not counted.
  Result<std::vector<targets::BatchCandidate>> run(int count);
  /// The strategy had nothing left.
  bool is_exhausted() const { return is_exhausted_; }

 private:
  Status learn();
  void tell_known();
  void take_served();
  void take(const Candidate& candidate, targets::BatchRole role);
  void take_batch(const std::vector<Candidate>& batch);
  void add(const LoopNest& nest, targets::BatchCandidate candidate);
  double expected(const LoopNest& nest, double predicted_ns) const;

  const SessionTask& session_;
  const SessionServices& services_;
  const SearchSpaceOfTask& space_;
  SearchParts& parts_;
  WorkspaceLimit limit_;
  std::vector<std::pair<std::string, Measurement>> rows_;  ///< of the database
  std::map<std::string, const Measurement*> known_;        ///< by nest hash
  bool is_measured_ = false;                               ///< some row has a time
  std::set<std::string> taken_;                            ///< nest hashes
  double first_predicted_ns_ = 0;
  int wanted_ = 0, made_ = 0;
  bool is_exhausted_ = false;
  std::vector<targets::BatchCandidate> out_;
};

}  // namespace polyweft
