// What an iteration of a loop costs, by LLVM's MCA library.
#pragma once

#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrAnalysis.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include <memory>
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
/// Cycles of an iteration of code that runs again and again.
struct IssueCycles {
  double cycles = 0;      ///< from one iteration's last instruction to the next one's
  double port_bound = 0;  ///< of the busiest port
  double front_end = 0;   ///< of micro-operations over the issue width
};
/// Simulates one piece of code after the other on the same machine, which must outlive it. An instruction costs some
/// microseconds.
class Simulator {
 public:
  explicit Simulator(const MachineDescription& machine);
  ~Simulator();
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;
  IssueCycles issue_cycles(const std::vector<llvm::MCInst>& code, unsigned iterations);

  struct State;

 private:
  std::unique_ptr<State> state_;
};
/// Fills in cycles, ports, front end and bound of `loop`, whose instructions these are.
void simulate(const std::vector<llvm::MCInst>& code, const MachineDescription& machine, LoopCost& loop,
              unsigned iterations = 200);

}  // namespace polyweft::targets
