// LLVM 22's models of AMD's cores count a gather of 16 lanes as one load (5 cycles, three a cycle). The cores take such an instruction apart into
// some operations a lane, and dispatch nothing else meanwhile: Zen 5 was measured at 15 to 20 cycles for 8 to 16 lanes of a gather, 9 to 17 of a
// scatter. Loops that the compiler's vectorizers had filled with them were 1.3 to 7 times as slow as expected.
#include "targets/cpu/gather_cycles.h"

#include <algorithm>

#include "support/abilities.h"
#include "targets/cpu/gather_lanes.h"

namespace polyweft::targets {
namespace {

bool is_scatter(const std::string& name) {
  return name.find("SCATTER") != std::string::npos;
}

int bits_of(char letter) {
  return letter == 'Q' ? 64 : 32;
}

}  // namespace

// V[P]GATHER or V[P]SCATTER, D or Q for the index, PS PD D Q for the element, then Y, Z128, Z256 or Z for the wider of both vectors.
int gathered_lanes(const std::string& name) {
  const size_t at = std::min(name.find("GATHER"), name.find("SCATTER"));
  if (at == std::string::npos || name.rfind("V", 0) != 0) return 0;
  const size_t index = at + (is_scatter(name) ? 7 : 6);
  if (index + 1 >= name.size() || name.compare(index, 2, "PF") == 0) return 0;
  const bool is_float = name[index + 1] == 'P';
  if (is_float && index + 2 >= name.size()) return 0;
  const int element = is_float ? (name[index + 2] == 'D' ? 64 : 32) : bits_of(name[index + 1]);
  const std::string rest = name.substr(index + (is_float ? 3 : 2));
  const bool is_half = rest.rfind("Z256", 0) == 0 || rest.rfind("Y", 0) == 0;
  const int width = rest.rfind("Z128", 0) == 0 ? 128 : is_half ? 256 : rest.rfind("Z", 0) == 0 ? 512 : 128;
  return width / std::max(element, bits_of(name[index]));
}

double gather_cycles(const std::vector<llvm::MCInst>& code, const MachineDescription& machine, const Target& target) {
  if ((target.gather_lane_cycles == 0 && target.scatter_lane_cycles == 0) || !is_on("model.gather_cycles")) return 0;
  double out = 0;
  for (const llvm::MCInst& inst : code) {
    const std::string name = machine.instructions.getName(inst.getOpcode()).str();
    if (const int lanes = gathered_lanes(name)) out += lanes * (is_scatter(name) ? target.scatter_lane_cycles : target.gather_lane_cycles);
  }
  return out;
}

}  // namespace polyweft::targets
