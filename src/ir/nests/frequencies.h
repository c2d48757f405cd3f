// How often the loops of a nest run and its conditions hold, from samples of its iterations.
#pragma once

#include <map>

#include "polyweft/loop_nest.h"

namespace polyweft::ir {

struct LoopFrequency {
  double met = 1;      ///< times a call
  double entered = 1;  ///< share of the times that the loop is met at which at least one iteration runs
  double trips = 1;    ///< mean iterations of those times
};
struct Frequencies {
  std::map<VarId, LoopFrequency> loops;
  std::map<const void*, double>
      holds;  ///< If node or guarded ExprNode -> share of the times that its condition is tested
};
/// Of the nest's root and its packs. The nest must outlive the answer and stay where it is: nodes are found by their
/// address. Cost: some 100 visits of each node. Symbolic nests: at their default sizes.
Frequencies frequencies_of(const LoopNest& nest);

}  // namespace polyweft::ir
