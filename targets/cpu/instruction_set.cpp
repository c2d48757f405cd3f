#include "targets/cpu/instruction_set.h"

#include <llvm/MCA/CustomBehaviour.h>

#include <array>

#include "targets/backend.h"
#include "targets/cpu/aarch64/aarch64_instructions.h"
#include "targets/cpu/hexagon/hexagon_instructions.h"
#include "targets/cpu/riscv/riscv_instructions.h"
#include "targets/cpu/wasm/wasm_instructions.h"
#include "targets/cpu/x86/x86_instructions.h"

namespace polyweft::targets {
namespace {

std::array<const InstructionSet*, 6> all_sets() {
  return {&aarch64_instructions(),    &hexagon_instructions(), &riscv_instructions(),
          &riscv_unit_instructions(), &wasm_instructions(),    &x86_instructions()};
}

}  // namespace

std::unique_ptr<llvm::mca::InstrumentManager> InstructionSet::instruments(const llvm::MCSubtargetInfo&,
                                                                          const llvm::MCInstrInfo&) const {
  return nullptr;
}

Result<const InstructionSet*> instruction_set_of(const Target& target) {
  for (const InstructionSet* set : all_sets())
    if (set->architecture() == target.architecture) return set;
  std::string known;
  for (const InstructionSet* set : all_sets()) known += (known.empty() ? "" : ", ") + set->architecture();
  return no_backend_for(target, known);
}

const InstructionSet* instruction_set_of(llvm::Triple::ArchType arch) {
  for (const InstructionSet* set : all_sets())
    if (set->triple().getArch() == arch) return set;
  return nullptr;
}

}  // namespace polyweft::targets
