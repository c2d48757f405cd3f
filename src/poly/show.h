// What `polyweft show --stage scop|dependences|schedule` prints: isl's notation, for people; never a key.
#pragma once

#include <string>
#include <vector>

#include "polyweft/program.h"

namespace polyweft::poly {

/// Instances, reads and writes of every equation of a normalized program, symbolic sizes.
Result<std::string> show_scop(const Program& normalized);
/// One line of show_dependences().
struct ShownDependence {
  std::string kind;  ///< "flow": the sink reads what the source defines; "order": folds of one statement, in the order
                     ///< that the text has
  std::string source, sink;  ///< statements; of an order the same
  std::string
      relation;  ///< of a flow: from instances of the source to instances of the sink, isl's notation, symbolic sizes
  std::string reducer;               ///< of an order
  std::vector<std::string> indices;  ///< of an order: it is lexicographic in these
};
Result<std::vector<ShownDependence>> dependences(const Program& normalized);
/// Value-based flow between equations, and the order of reductions.
Result<std::string> show_dependences(const Program& normalized);
/// The base order of a bound, normalized program: its parts, the times of the elements of recurrences, windows of
/// folded tensors.
Result<std::string> show_schedule(const Program& normalized_bound);

}  // namespace polyweft::poly
