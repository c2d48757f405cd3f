// Equations that no output needs.
#pragma once

#include "polyweft/program.h"

namespace polyweft::ir {

/// The program without local tensors from which no output is computed, and without their equations: nobody could see
/// their values. Inputs and outputs stay, in their order. A tensor is kept whole where one of its elements may be
/// needed.
Program without_unneeded(const Program& program);

}  // namespace polyweft::ir
