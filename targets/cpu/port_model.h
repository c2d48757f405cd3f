// What an iteration of a loop costs, by LLVM's MCA library.
#pragma once

#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrAnalysis.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include <vector>

#include "polyweft/target.h"
#include "targets/cpu/instruction_set.h"

namespace polyweft::targets {

struct MachineDescription {
  const llvm::MCRegisterInfo& registers;
  const llvm::MCSubtargetInfo& subtarget;
  const llvm::MCInstrInfo& instructions;
  const llvm::MCInstrAnalysis* analysis;
  const InstructionSet& set;
};
/// A multiply-add or a dot product, of floats or integers.
bool is_multiply_add(const llvm::MCInst& inst, const MachineDescription& machine);
/// Writes a vector register and is no plain load.
bool is_vector_arithmetic(const llvm::MCInst& inst, const MachineDescription& machine);
/// Fills in cycles, ports, front end and bound of `loop`, whose instructions these are.
void simulate(const std::vector<llvm::MCInst>& code, const MachineDescription& machine, LoopCost& loop,
              unsigned iterations = 200);

}  // namespace polyweft::targets
