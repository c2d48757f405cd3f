// Where a rounding may decide what is counted.
#pragma once

#include <string>

#include "polyweft/program.h"

namespace polyweft::ir {

/// The first comparison of floats that are computed, in the order of the text, as messages name it: "'x <= 4.0' in line
/// 9". Empty where there is none, and where all outputs are floats.
std::string deciding_comparison(const Program& program);

}  // namespace polyweft::ir
