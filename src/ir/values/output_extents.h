// The shape of an output is part of the ABI, so that there is one source for it, whatever the schedule (LANGUAGE.md
// section 2, Outputs).
//
// Of each equation of the output a slot counts with the upper bound of its range where that is a number, else with 1 +
// its largest value over the equation's domain: of `P[i: 5, j: 0..i+1] where j % 2 == 1` the extents are 5 and 4, for j
// = 3 is the last value. Intervals alone say 5: they do not see what a remainder, or a condition over several indices,
// leaves out. The largest value is found by branch and bound: a box of index values is narrowed by the linear
// conditions, dropped where a condition is false all over it or where it cannot hold a better value, taken whole where
// all conditions hold, and halved elsewhere, better half first.
#pragma once

#include <optional>
#include <vector>

#include "polyweft/program.h"

namespace polyweft::ir {

/// The greatest value of `e`, which is over the equation's slots, on the domain of a bound equation; nothing where the
/// domain is empty. PW0838 after `most_boxes` boxes.
Result<std::optional<int64_t>> greatest_value(const Program& bound, const Equation& equation, const Affine& e,
                                              int64_t most_boxes = 50'000);

/// Extents of an output of a bound program. PW0838 where a largest value is not found.
Result<std::vector<int64_t>> output_extents(const Program& bound, TensorId output);

/// Of all outputs, in their order.
Result<std::vector<std::vector<int64_t>>> output_extents(const Program& bound);

}  // namespace polyweft::ir
