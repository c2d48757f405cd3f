// Left-hand sides of equations.
#pragma once

#include <algorithm>
#include <cstdint>

#include "polyweft/program.h"

namespace polyweft::ir {

/// A slot's index, or the affine position that stands there instead.
inline Affine position_of(const Slot& slot) {
  return slot.var == kNoVar ? slot.position : Affine::variable(slot.var);
}

/// How many indices the left-hand side binds: the first ones of the equation, before those of a reduction.
inline uint32_t bound_indices(const Equation& equation) {
  return static_cast<uint32_t>(
      std::count_if(equation.slots.begin(), equation.slots.end(), [](const Slot& slot) { return slot.var != kNoVar; }));
}

}  // namespace polyweft::ir
