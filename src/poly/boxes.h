// The box of every tensor of a bound program, by isl.
#pragma once

#include "polyweft/program.h"

namespace polyweft::poly {

/// See Box. Milliseconds, whatever the sizes. PW083x where isl gives up.
Result<std::vector<Box>> boxes(const Program& bound);

}  // namespace polyweft::poly
