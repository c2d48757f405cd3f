// Random programs at the edges of domains: conditions that decide whether a whole reduction is empty, extents of zero,
// outputs that leave elements out.
#pragma once

#include <string>

#include "support/rng.h"

namespace polyweft::random_test {

struct EdgeProgram {
  std::string text;
  bool outer_guard = false;      ///< a reduction has a condition over the indices around it alone
  bool mixed_guard = false;      ///< and conditions over both kinds of indices
  bool zero_extent = false;      ///< a parameter is 0
  bool partial_modulo = false;   ///< a partial output's domain has a remainder
  bool dependent_range = false;  ///< a range depends on indices before it
  bool recurrence = false;
};

/// Passes all checks for every size that its assumptions admit, by construction.
EdgeProgram random_edge_program(Rng& rng);

}  // namespace polyweft::random_test
