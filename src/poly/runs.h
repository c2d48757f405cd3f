// Private: a long list of points as few nested loops.
//
// Repeats of one to eight neighbours whose coordinates advance by constant steps become a loop; loops whose starts and
// counts advance by constant steps become a loop again, and so on. What does not repeat stays as it is, so every list
// has an answer, long where it has no pattern.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace polyweft::poly {

/// A point (no children), or a loop over its children. Coordinates and counts at iteration k are start + k * step, step
/// by step outwards.
struct Run {
  uint32_t statement = 0;  ///< of a point
  std::vector<int64_t>
      numbers;  ///< of a point its coordinates; of a loop its count, then its children's numbers in iteration 0
  std::vector<Run> children;
  std::vector<std::vector<int64_t>> steps;  ///< one a child: by how much its numbers grow in each iteration
  uint32_t shape = 0;                       ///< equal for runs that differ in their numbers only
};
size_t points_in(const std::vector<Run>& runs);  ///< points in the text, each counted once
/// `points` in their order, with as few points in the text as greedy folding finds.
std::vector<Run> folded(std::vector<Run> points);
/// The list again, for tests.
std::vector<Run> unfolded(const std::vector<Run>& runs);

}  // namespace polyweft::poly
