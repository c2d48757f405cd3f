// Tiles around an accumulator that conditions on data indices alone cross: the conditions are the same in all
// iterations inside, and are tested once.
#pragma once

#include <cstddef>
#include <vector>

#include "ir/instantiate/body.h"
#include "ir/instantiate/loop_variables.h"

namespace polyweft::ir {

/// Tiles in which all conditions hold, where the tests do; others; and those of one value of the least corner of the
/// only condition, where its test is at[k]: one copy of the block each. No tests: there is nothing to tell apart.
/// Either `classes` is empty or `crossed` stands for no tile.
struct TileClasses {
  std::vector<Guard> tests;
  Body inside, crossed;
  std::vector<Guard> at;
  std::vector<Body> classes;
};
TileClasses tile_classes_of(const Body& body, const LoopVariables& variables);

}  // namespace polyweft::ir
