#pragma once

#include "targets/cpu/instruction_set.h"

namespace polyweft::targets {

const InstructionSet& hexagon_instructions();

}  // namespace polyweft::targets
