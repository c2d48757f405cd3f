// NVIDIA's machines by LLVM's names of their instructions.
#pragma once

#include <span>
#include <string>

#include "polyweft/target.h"
#include "targets/common/instruction_hooks.h"
#include "targets/gpu/cuda/ptx_machines.h"
#include "targets/gpu/launches.h"

namespace polyweft::targets {

/// A unit is a streaming multiprocessor, a group in lockstep a warp of 32 threads.
struct NvptxMachine {
  const char* name;       ///< "sm_90a": its PTX is for it alone where an "a" stands behind the number
  const char* ptx;        ///< the least version of PTX that has it, as LLVM's feature
  bool has_nan_extremes;  ///< max and min that give a NaN where either is one
  bool copies_async;      ///< from memory into shared memory
  int unit_threads, unit_shared_kib;
  int block_shared_kib;  ///< most that a launch may ask for
  int multiply_adds;     ///< of f32, of groups in lockstep, a cycle and unit
  int units;             ///< of a card of the kind that has most
  double clock_ghz;      ///< of that card
  int second_cache_mib;
  int memory_gb_s;
};
/// From the oldest on.
std::span<const NvptxMachine> nvptx_machines();
/// Of the target's feature; null where it has none of them.
const NvptxMachine* nvptx_machine(const Target& target);
std::string nvptx_names();
/// The newest machine whose PTX the GPU takes; null: none.
const NvptxMachine* nvptx_machine_for(const std::string& gpu);
/// PW0525 where a launch asks for more than the machine has, or than PTX lets it have; PW0518 as keeps_limits().
Status fits_nvptx(const DeviceNest& nest, const Target& target);
/// What LLVM's back end and ours make of such a machine's instructions.
InstructionCapabilities nvptx_capabilities(const NvptxMachine& machine);
/// Sets what code generation and rules ask of such a machine.
void describe_nvptx(Target& target);

}  // namespace polyweft::targets
