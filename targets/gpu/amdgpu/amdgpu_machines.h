// AMD's machines by LLVM's names of their instructions.
#pragma once

#include <span>
#include <string>

#include "polyweft/target.h"
#include "targets/common/instruction_hooks.h"
#include "targets/gpu/launches.h"

namespace polyweft::targets {

/// A unit is a compute unit, a group in lockstep a wave.
struct AmdgpuMachine {
  const char* name;  ///< "gfx942"
  int lanes;         ///< of a wave
  int unit_threads, unit_registers, thread_registers;
  int multiply_adds;           ///< of f32, of waves, a cycle and unit
  double tile_latency_cycles;  ///< of a product of a wave
  int units;                   ///< of a card of the kind that has most; of a card of two dies those of one
  double clock_ghz;            ///< of that card
  int second_cache_kib, line_bytes;
  int memory_gb_s;
};
/// From the oldest on.
std::span<const AmdgpuMachine> amdgpu_machines();
/// Of the target's feature; null where it has none of them.
const AmdgpuMachine* amdgpu_machine(const Target& target);
std::string amdgpu_names();
/// PW0525 where a launch asks for more than the machine has, or than a packet can say; PW0518 as keeps_limits().
Status fits_amdgpu(const DeviceNest& nest, const Target& target);
/// What LLVM's back end and ours make of such a machine's instructions.
InstructionCapabilities amdgpu_capabilities();
/// Sets what code generation and rules ask of such a machine. All figures are assumed.
void describe_amdgpu(Target& target);

}  // namespace polyweft::targets
