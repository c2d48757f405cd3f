// What instructions need of a target.
#pragma once

#include "ir/nests/instruction.h"
#include "polyweft/loop_nest.h"
#include "polyweft/target.h"

namespace polyweft::targets {

/// PW0518 where the target lacks the features that the instruction needs.
Status has_instruction(const Target& target, const ir::Instruction& instruction);
/// Of all loops of the nest that name one. PW0416 for a name that no instruction has.
Status has_instructions(const Target& target, const LoopNest& nest);

}  // namespace polyweft::targets
