#include "targets/gpu/nvptx/nvptx_machines.h"

#include <array>

namespace polyweft::targets {
namespace {

// PTX ISA 8.7, "Release Notes": the version that introduced each target.
constexpr auto kMachines = std::to_array<NvptxMachine>({
    {"sm_75", "ptx63", false},
    {"sm_80", "ptx70", true},
    {"sm_86", "ptx71", true},
    {"sm_89", "ptx78", true},
    {"sm_90a", "ptx80", true},
    {"sm_100a", "ptx86", true},
    {"sm_120a", "ptx87", true},
});

}  // namespace

std::span<const NvptxMachine> nvptx_machines() {
  return kMachines;
}

const NvptxMachine* nvptx_machine(const Target& target) {
  for (const NvptxMachine& machine : kMachines)
    if (target.has(machine.name)) return &machine;
  return nullptr;
}

std::string nvptx_names() {
  std::string out;
  for (const NvptxMachine& machine : kMachines) out += (out.empty() ? "" : ", ") + std::string(machine.name);
  return out;
}

GridLimits nvptx_limits() {
  return {{2147483647, 65535, 65535}, 1024, 48 << 10};
}

InstructionCapabilities nvptx_capabilities(const NvptxMachine& machine) {
  InstructionCapabilities can;
  can.maximum = machine.has_nan_extremes;
  set_register_shares(can, 16);
  return can;
}

void describe_nvptx(Target& target) {
  target.machine.units.vector_bits = 128;
  target.machine.units.vector_registers = 16;
  target.machine.levels = {{"device"}, {"block"}, {"thread"}};
  target.can.fused_products = true;
}

}  // namespace polyweft::targets
