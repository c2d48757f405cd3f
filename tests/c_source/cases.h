// Programs at small sizes with their base nests, and what their results must be.
#pragma once

#include <string>
#include <vector>

#include "ir/oracles/evaluator.h"
#include "polyweft/loop_nest.h"

namespace polyweft::c_source_test {

/// A program, its nest in a class, and what is expected of it.
struct Case {
  std::string symbol, what;
  Program program;
  LoopNest nest;
  bool is_exact = false;  ///< strict, and no function of the C library that rounds in its own way
};

class Cases {
 public:
  /// With its base nest; left out where isl gives up.
  void add(const Program& source, const Binding& sizes, NumericsClass cls, const std::string& what);
  size_t size() const { return cases_.size(); }
  const std::vector<Case>& all() const { return cases_; }

 private:
  std::vector<Case> cases_;
};

/// All programs of a folder of the source tree, at sizes of some 4 to 12 that the assumptions admit.
Cases cases_of(const std::string& folder, const std::vector<NumericsClass>& classes);
/// The programs of a file.
std::vector<Program> programs_of(const std::string& file);
/// "" or the first element that differs by more than the class allows.
std::string difference(const Case& one, const std::vector<TensorData>& got, const ir::Evaluation& wanted);

}  // namespace polyweft::c_source_test
