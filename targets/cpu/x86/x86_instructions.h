#pragma once

#include "targets/cpu/instruction_set.h"

namespace polyweft::targets {

const InstructionSet& x86_instructions();

}  // namespace polyweft::targets
