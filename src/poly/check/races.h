// Private to the checker: proof 5, concurrent iterations.
#pragma once

#include "poly/check/flow.h"

namespace polyweft::poly::checker {

struct Use {
  size_t statement = 0;
  const Access* access = nullptr;
  bool writes = false;
};
/// Throws Refuted (PW0405) where two iterations of a parallel loop, or two lanes of a vector loop out of lock step,
/// meet in one cell and one of them writes it. `when`: for each use the iterations that reach it; a read under a
/// condition touches nothing elsewhere.
void prove_no_races(Context& context, const LoopNest& nest, const Statements& statements, const Flow& flow,
                    const std::vector<Use>& uses, const std::vector<Set>& when);

}  // namespace polyweft::poly::checker
