#include "targets/gpu/nvptx/nvptx_machines.h"

#include <array>

#include "targets/gpu/described_device.h"

namespace polyweft::targets {
namespace {

// PTX ISA 8.7, "Release Notes": the version that introduced each target (of sm_75 its products of warps). CUDA C++
// Programming Guide 13.0, "Technical Specifications per Compute Capability" and "Throughput of Native Arithmetic
// Instructions". What follows is of a card of the kind: T4, A100 80 GB, RTX 3090, RTX 4090, H100 SXM
// (docs/gpu_measurements.md), B200, RTX 5090.
constexpr auto kMachines = std::to_array<NvptxMachine>({
    {"sm_75", "ptx65", false, false, 1024, 64, 64, 2, 40, 1.59, 4, 320},
    {"sm_80", "ptx70", true, true, 2048, 164, 163, 2, 108, 1.41, 40, 2039},
    {"sm_86", "ptx71", true, true, 1536, 100, 99, 4, 82, 1.7, 6, 936},
    {"sm_89", "ptx78", true, true, 1536, 100, 99, 4, 128, 2.52, 72, 1008},
    {"sm_90a", "ptx80", true, true, 2048, 228, 227, 4, 132, 1.755, 50, 3350},
    {"sm_100a", "ptx86", true, true, 2048, 228, 227, 4, 148, 1.85, 126, 8000},
    {"sm_120a", "ptx87", true, true, 1536, 100, 99, 4, 170, 2.41, 96, 1792},
});

/// That callers give any memory of a launch: the widest access of a thread.
constexpr int64_t kMemoryAlignment = 16;
constexpr GridSize kMostBlocks = {2147483647, 65535, 65535};

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

const NvptxMachine* nvptx_machine_for(const std::string& gpu) {
  const NvptxMachine* out = nullptr;
  for (const NvptxMachine& machine : kMachines)
    if (takes_ptx_for(gpu, machine.name)) out = &machine;
  return out;
}

Status fits_nvptx(const DeviceNest& nest, const Target& target) {
  if (Status keeps = keeps_limits(nest, target); !keeps) return keeps;
  for (const DeviceKernel& kernel : nest.kernels)
    for (size_t d = 0; d < kMostBlocks.size(); ++d)
      if (kernel.blocks[d] > kMostBlocks[d])
        return fail("PW0525",
                    std::to_string(kernel.blocks[d]) + " blocks along " + "xyz"[d] + ": PTX has at most " +
                        std::to_string(kMostBlocks[d]),
                    {"bind a smaller loop to this axis, or another one"});
  return Ok{};
}

InstructionCapabilities nvptx_capabilities(const NvptxMachine& machine) {
  InstructionCapabilities can;
  can.maximum = machine.has_nan_extremes;
  can.argument_alignment = kMemoryAlignment;
  set_register_shares(can, 16);
  return can;
}

void describe_nvptx(Target& target) {
  describe_blocks(target);
  Machine& machine = target.machine;
  const NvptxMachine* const of = nvptx_machine(target);
  if (!of) return;
  describe_card(machine, {.units = of->units,
                          .clock_ghz = of->clock_ghz,
                          .second_cache_bytes = int64_t{of->second_cache_mib} << 20,
                          .memory_gb_s = static_cast<double>(of->memory_gb_s),
                          .multiply_adds = static_cast<double>(of->multiply_adds)});
  // As measured on an H200: the second cache feeds products 3.5 times as fast as memory does.
  constexpr double kOfMemory = 3.5;
  constexpr int64_t kBesideShared = 28 << 10;  // one memory is the first cache and what blocks share
  machine.memories[0].bytes = {(int64_t{of->unit_shared_kib} << 10) + kBesideShared};
  machine.memories[1].bytes_per_cycle = {kOfMemory * machine.memories.back().bytes_per_cycle.value};
  machine.memories[1].scattered_line_cycles = {300};
  machine.memories.back().scattered_line_cycles = {540};
  constexpr auto kDescribed = FigureOrigin::described;
  GridFigures& grid = machine.grid;
  grid.lockstep_threads = {32, kDescribed};
  grid.block_threads = {1024, kDescribed};
  grid.block_shared_bytes = {int64_t{of->block_shared_kib} << 10, kDescribed};
  grid.unit_shared_bytes = {int64_t{of->unit_shared_kib} << 10, kDescribed};
  grid.thread_registers = {255, kDescribed};
  grid.unit_registers = {64 << 10, kDescribed};
  grid.unit_threads = {of->unit_threads, kDescribed};
  grid.coalesced_bytes = {128, kDescribed};
  grid.access_bytes = {kMemoryAlignment, kDescribed};
  grid.copy_stages = {of->copies_async ? 4 : 1};
  grid.shared_banks = {32, kDescribed};
  grid.shared_bytes_per_cycle = {128, kDescribed};
  grid.barrier_cycles = {30};
  grid.launch_ns = {3'500};
}

}  // namespace polyweft::targets
