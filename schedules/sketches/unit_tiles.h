// Products by a unit beside the CPU, where the machine has one whose instruction is the statement's sum.
//
//   for i, j, k    ->    for i.1, j.1                          a block of sums in the unit's memory
//                          for k.1 (copies one iteration ahead)
//                            copy A, B to the scratchpad       rows as long as an operand of the instruction
//                            for k.2, i.2, j.2: one instruction
#pragma once

#include "schedules/sketches/builder.h"

namespace polyweft::schedules {

/// slots: of each copy that is made ahead; 1: none is. keeps_columns: what moves with the columns stays in the
/// scratchpad, whole, for all rows and all that it does not depend on (the weights of a convolution), and rows are
/// copied ahead along those loops.
struct UnitForm {
  int64_t slots = 2;
  bool keeps_columns = false;
};
/// The stage in blocks of the unit's tiles; nothing where no instruction of the machine's unit is its sum, or the form
/// does not fit.
std::optional<Plan> plan_unit_tiles(const PlanContext& c, const UnitForm& form);

}  // namespace polyweft::schedules
