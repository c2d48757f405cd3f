#pragma once

#include "targets/cpu/instruction_set.h"

namespace polyweft::targets {

const InstructionSet& aarch64_instructions();

}  // namespace polyweft::targets
