// LLVM 22's models of AMD's cores count a gather of 16 lanes as one load (5 cycles, three a cycle). The cores take such
// an instruction apart into some operations a lane, and dispatch nothing else meanwhile: Zen 5 was measured at 15 to 20
// cycles for 8 to 16 lanes of a gather, 9 to 17 of a scatter. Loops that the compiler's vectorizers had filled with
// them were 1.3 to 7 times as slow as expected.
#include "targets/cpu/gather_cycles.h"

#include "support/abilities.h"

namespace polyweft::targets {
double gather_cycles(const std::vector<llvm::MCInst>& code, const MachineDescription& machine, const Target& target) {
  const double gather = target.machine.units.gather_lane_cycles.value,
               scatter = target.machine.units.scatter_lane_cycles.value;
  if ((gather == 0 && scatter == 0) || !is_on("model.gather_cycles")) return 0;
  double out = 0;
  for (const llvm::MCInst& inst : code) {
    const bool is_scatter = machine.instructions.get(inst.getOpcode()).mayStore();
    if (const int lanes = machine.set.gathered_lanes(machine.instructions.getName(inst.getOpcode()).str()))
      out += lanes * (is_scatter ? scatter : gather);
  }
  return out;
}

}  // namespace polyweft::targets
