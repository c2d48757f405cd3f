// Private to the checker: proof 5, concurrent iterations.
#pragma once

#include "poly/check/flow.h"

namespace polyweft::poly::check {

struct Use {
  size_t statement = 0;
  const Access* access = nullptr;
  bool writes = false;
};
/// Throws Refuted (PW0405) where two iterations of a parallel loop, or two lanes of a vector loop out of lock step, meet in one
/// cell and one of them writes it.
void prove_no_races(Context& context, const LoopNest& nest, const Statements& statements, const Flow& flow, const std::vector<Use>& uses);

}  // namespace polyweft::poly::check
