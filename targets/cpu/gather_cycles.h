// What gathers and scatters cost beyond LLVM's model of a CPU.
#pragma once

#include <llvm/MC/MCInst.h>

#include <vector>

#include "polyweft/target.h"
#include "targets/cpu/port_model.h"

namespace polyweft::targets {

/// Cycles that the gathers and scatters in `code` take, by the target's figure for a lane; 0 where it has none and
/// LLVM's model is to be believed.
double gather_cycles(const std::vector<llvm::MCInst>& code, const MachineDescription& machine, const Target& target);

}  // namespace polyweft::targets
