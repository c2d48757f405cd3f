// One space's file: its structures, candidates with their measured times, and who came from whom.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "polyweft/nest_template.h"
#include "polyweft/runner.h"
#include "polyweft/search.h"

namespace polyweft::bench {

/// Steps with all decisions open.
struct Structure {
  int64_t id = 0;  ///< 0: not stored yet
  uint32_t family = 0;
  std::string trace;
  std::shared_ptr<const NestTemplate> t;  ///< null until somebody asks
};
/// A candidate.
struct Member {
  int64_t id = 0, structure = 0;  ///< their numbers in the file
  std::vector<int64_t> decisions;
  double predicted_ns = 0;
  std::string nest_hash;
  RunStatus status = RunStatus::not_run;
  double ratio = 0, spread = 0;
  std::optional<int> first_choice;
};
/// What a space is recorded of, and the machine's rates then: predictions of one space must be comparable.
struct SpaceHeader {
  std::string name, program, sizes, target, machine;
  uint64_t seed = 1;
  double peak_gflops = 0, memory_gb_s = 0;
  std::string sentinel;  ///< hash of its nest; empty before one has run
  double sentinel_ns = 0;
};

class SpaceStore {
 public:
  explicit SpaceStore(const std::string& path);

  std::optional<SpaceHeader> header() const;
  /// With today's date.
  void set_header(const SpaceHeader& header);
  void set_sentinel(const std::string& nest_hash, double ns);

  /// Those of rules are first ones, with the numbers 1, 2, ..
  bool has_structures() const;
  void add(const Structure& s, bool is_first, const std::vector<Choice>& choices);
  /// By number.
  std::vector<Structure> structures() const;

  void add(const Member& m);
  void set_time(const Member& m);
  std::vector<Member> members() const;
  void add_edge(int64_t parent, int64_t child, const char* kind);

 private:
  SQLite::Database db_;
};

/// What replays read, as small as SQLite has it.
Status export_space(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace polyweft::bench
