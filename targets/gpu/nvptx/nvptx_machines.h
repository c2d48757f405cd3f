// NVIDIA's machines by LLVM's names of their instructions.
#pragma once

#include <span>
#include <string>

#include "polyweft/target.h"
#include "targets/common/instruction_hooks.h"
#include "targets/gpu/device_artifact.h"

namespace polyweft::targets {

struct NvptxMachine {
  const char* name;       ///< "sm_90a"
  const char* ptx;        ///< the least version of PTX that has it, as LLVM's feature
  bool has_nan_extremes;  ///< max and min that give a NaN where either is one
};
/// From the oldest on.
std::span<const NvptxMachine> nvptx_machines();
/// Of the target's feature; null where it has none of them.
const NvptxMachine* nvptx_machine(const Target& target);
std::string nvptx_names();
/// What PTX lets a launch have: static shared memory alone.
GridLimits nvptx_limits();
/// What LLVM's back end and ours make of such a machine's instructions.
InstructionCapabilities nvptx_capabilities(const NvptxMachine& machine);
/// Sets what code generation and rules ask of such a machine.
void describe_nvptx(Target& target);

}  // namespace polyweft::targets
