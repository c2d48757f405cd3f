// What stands for what in two programs of one structure, by the names that traces have for it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "polyweft/program.h"
#include "polyweft/trace.h"
#include "schedules/seeds/structure.h"

namespace polyweft::schedules {

/// A program as traces see it: bound and normalized, and its structure.
struct Structured {
  Program program;
  Structure structure;
};
/// Nothing where it has no structure.
std::optional<Structured> structured(Program normalized);

/// A statement that a trace names: equations of the two programs, and what follows the equation's name, `.p1`,
/// `.folds.far`.
struct NamedStatement {
  EquationId from = 0, to = 0;
  std::string suffix;
};

/// Both programs must outlive it. Their structures are equal.
class Counterparts {
 public:
  Counterparts(const Structured& from, const Structured& to);

  const Program& from() const { return from_.program; }
  const Program& to() const { return to_.program; }
  /// The longest name of a statement, or of a tensor (its first equation), that `name` begins with.
  std::optional<NamedStatement> statement(const std::string& name) const;
  /// All equations that a name stands for: those of a tensor, or one statement.
  std::vector<EquationId> equations(const std::string& name) const;
  /// A statement of the second program as this name says it; the name itself where it is none of the first one's.
  std::string statement_name(const std::string& name) const;
  std::string tensor_name(const std::string& name) const;
  /// By the indices' names in equation `from`.
  const std::map<std::string, std::string>& index_names(EquationId from) const { return index_names_[from]; }
  /// How many values an index has in the first program, and its counterpart in the second.
  struct Extents {
    int64_t from = 0, to = 0;
  };
  Extents extents(EquationId from, const std::string& index) const;
  /// Which of the second statement's reads stands for read `number` of a tensor, from 1.
  uint32_t read_number(const NamedStatement& statement, const std::string& tensor, uint32_t number) const;
  /// What a parameter of the first program is in the second: by an input's extent, else by its name.
  std::optional<int64_t> parameter(const std::string& name) const;
  /// All names of the second program.
  const std::set<std::string>& taken_names() const { return taken_; }

 private:
  struct Pair {
    std::string from, to;  ///< names of the statements
    EquationId other = 0;
    size_t place = 0;  ///< in the structures
  };
  const Structured& from_;
  const Structured& to_;
  std::vector<Pair> statements_;  ///< by equation of `from`
  std::map<std::string, std::string> tensors_;
  std::vector<std::map<std::string, std::string>> index_names_;
  std::vector<std::map<std::string, Extents>> extents_;
  std::set<std::string> taken_;
};

/// The trace with the second program's names: statements, tensors, loops, dimensions that indices name; parameters in
/// sums become numbers. Decisions and the names that steps make (bands, snapshots) stay unless the second program has
/// them. Nothing where a parameter has no counterpart.
std::optional<Trace> renamed(const Trace& trace, const Counterparts& counterparts);

}  // namespace polyweft::schedules
