// normalize() for a class of numerics.
#pragma once

#include "polyweft/program.h"

namespace polyweft {

/// normalize(program) does what every class allows; here also what this one does: sums of n equal floats are n * x in
/// class reassoc.
Program normalize(const Program& program, NumericsClass cls);

}  // namespace polyweft
