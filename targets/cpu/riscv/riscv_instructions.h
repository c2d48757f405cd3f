#pragma once

#include "targets/cpu/instruction_set.h"

namespace polyweft::targets {

const InstructionSet& riscv_instructions();
/// The same with a unit beside the CPU, whose commands are instructions of type R.
const InstructionSet& riscv_unit_instructions();
/// Of a vector register, at least.
int riscv_register_bits(const Target& target);

}  // namespace polyweft::targets
