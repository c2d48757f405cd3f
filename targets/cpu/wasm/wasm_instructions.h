#pragma once

#include "targets/cpu/instruction_set.h"

namespace polyweft::targets {

const InstructionSet& wasm_instructions();

}  // namespace polyweft::targets
