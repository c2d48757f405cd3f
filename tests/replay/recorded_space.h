// Schedules of one program as bench_record_spaces recorded them: what each was predicted to take and took, and which
// was derived from which.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "polyweft/search.h"

namespace polyweft::replay {

struct RecordedCandidate {
  uint32_t structure = 0;
  std::vector<int64_t> decisions;
  double predicted_ns = 0;
  RunStatus status = RunStatus::not_run;
  double ratio = 0;   ///< time over the sentinel's; 0 where there is none
  double spread = 0;  ///< half of the 95 % interval of the ratio, relative
  std::optional<int> first_choice;
};
/// A trace whose decisions are open. The first ones are those of rules: their numbers are families.
struct Structure {
  uint32_t family = 0;
  bool is_first = false;
  std::vector<Choice> choices;
};
enum class EdgeKind : uint8_t { decision, mutated, crossed };
struct Edge {
  uint32_t parent = 0, child = 0;
  EdgeKind kind = EdgeKind::mutated;
};

class RecordedSpace {
 public:
  RecordedSpace(std::string name, std::vector<Structure> structures, std::vector<RecordedCandidate> candidates,
                const std::vector<Edge>& edges);
  const std::string& name() const { return name_; }
  const std::vector<Structure>& structures() const { return structures_; }
  const std::vector<RecordedCandidate>& candidates() const { return candidates_; }
  /// The recorded candidate with these decisions. Where there is none, the nearest one of the structure: least sum of
  /// distances of the decisions, each over the number of its values. Nothing for a structure without candidates.
  std::optional<uint32_t> nearest(uint32_t structure, const std::vector<int64_t>& decisions) const;
  /// Of another structure: the candidates that were derived so from this one, and those that it was derived from; the
  /// opposite of a mutation is one, too. Where there is none, those of the candidates that differ in decisions alone.
  const std::vector<uint32_t>& derived_of(uint32_t candidate, EdgeKind kind) const;
  double best_ratio() const;
  /// Numbers of the candidates that a search measures first, in this order.
  std::vector<uint32_t> first_choices() const;

 private:
  using Neighbours = std::vector<std::vector<uint32_t>>;
  void add_edges(const std::vector<Edge>& edges, EdgeKind kind, Neighbours& out) const;
  uint32_t nearest_unknown(uint32_t structure, const std::vector<int64_t>& decisions) const;

  std::string name_;
  std::vector<Structure> structures_;
  std::vector<RecordedCandidate> candidates_;
  std::vector<std::vector<uint32_t>> members_;  ///< a structure
  Neighbours mutated_, crossed_;                ///< a candidate
  /// Answers so far, by structure and decisions: searches with other seeds ask the same.
  mutable std::unordered_map<std::string, uint32_t> known_;
};

/// A file that `bench_record_spaces export` wrote. Throws SQLite::Exception where it is none.
RecordedSpace recorded_space(const std::string& file);
/// All files of a folder, by name.
std::vector<RecordedSpace> recorded_spaces(const std::string& folder);

}  // namespace polyweft::replay
