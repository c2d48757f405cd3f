// Values that an iteration of a loop stores and a later one loads: LLVM's MCA knows dependences through registers only.
#pragma once

#include <llvm/MC/MCInst.h>

#include <vector>

#include "targets/cpu/instruction_set.h"
#include "targets/cpu/port_model.h"

namespace polyweft::targets {

/// Cycles an iteration must take because of the longest such chain: from a load through the instructions that use its
/// value to the store of the same cell, over the iterations in between. `code`: the loop's body in the order it runs. 0
/// where no address is seen to meet another.
double memory_chain_cycles(const std::vector<llvm::MCInst>& code, const MachineDescription& machine,
                           const InstructionSet& set);

}  // namespace polyweft::targets
