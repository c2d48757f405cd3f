#include "targets/gpu/amdgpu/amdgpu_machines.h"

#include <array>

#include "targets/gpu/described_device.h"

namespace polyweft::targets {
namespace {

// LLVM's "User Guide for AMDGPU Backend" (waves, registers); AMD's white papers of CDNA 2, CDNA 3 and RDNA 3, its
// matrix instruction calculator (latencies). What follows is of a card of the kind: MI250X (one die), MI300X, RX 7900
// XTX, RX 9070 XT. Nothing was measured.
constexpr auto kAmdgpuMachines = std::to_array<AmdgpuMachine>({
    {"gfx90a", 64, 2048, 128 << 10, 512, 1, 64, 110, 1.7, 8192, 128, 1638},
    {"gfx942", 64, 2048, 128 << 10, 512, 2, 32, 304, 2.1, 4096, 128, 5300},
    {"gfx1100", 32, 1024, 96 << 10, 256, 2, 32, 96, 2.5, 6144, 128, 960},
    {"gfx1201", 32, 1024, 96 << 10, 256, 2, 16, 64, 2.97, 8192, 128, 640},
});

constexpr int64_t kBlockSharedBytes = 64 << 10;
/// Threads of a grid along an axis, as a dispatch packet has them.
constexpr int64_t kMostGridThreads = 0xffffffff;

}  // namespace

std::span<const AmdgpuMachine> amdgpu_machines() {
  return kAmdgpuMachines;
}

const AmdgpuMachine* amdgpu_machine(const Target& target) {
  for (const AmdgpuMachine& machine : kAmdgpuMachines)
    if (target.has(machine.name)) return &machine;
  return nullptr;
}

std::string amdgpu_names() {
  std::string out;
  for (const AmdgpuMachine& machine : kAmdgpuMachines) out += (out.empty() ? "" : ", ") + std::string(machine.name);
  return out;
}

Status fits_amdgpu(const DeviceNest& nest, const Target& target) {
  if (Status keeps = keeps_limits(nest, target); !keeps) return keeps;
  for (const DeviceKernel& kernel : nest.kernels)
    for (size_t d = 0; d < kernel.blocks.size(); ++d)
      if (kernel.blocks[d] > kMostGridThreads / kernel.threads[d])
        return fail("PW0525",
                    std::to_string(kernel.blocks[d]) + " blocks along " + "xyz"[d] + " of " +
                        std::to_string(kernel.threads[d]) + " threads each: a grid has at most " +
                        std::to_string(kMostGridThreads) + " threads along an axis",
                    {"bind a smaller loop to this axis, or another one"});
  return Ok{};
}

InstructionCapabilities amdgpu_capabilities() {
  InstructionCapabilities can;
  can.maximum = false;  // LLVM's back end has none before gfx12 that gives a NaN where either is one
  set_register_shares(can, 16);
  return can;
}

void describe_amdgpu(Target& target) {
  describe_blocks(target);
  Machine& machine = target.machine;
  const AmdgpuMachine* const of = amdgpu_machine(target);
  if (!of) return;
  describe_card(machine, {.units = of->units,
                          .clock_ghz = of->clock_ghz,
                          .second_cache_bytes = int64_t{of->second_cache_kib} << 10,
                          .memory_gb_s = static_cast<double>(of->memory_gb_s),
                          .multiply_adds = static_cast<double>(of->multiply_adds),
                          .multiply_add_latency_cycles = of->lanes == 64 ? 8.0 : 5.0,
                          .tile_latency_cycles = static_cast<double>(of->tile_latency_cycles)});
  GridFigures& grid = machine.grid;
  grid.lockstep_threads = {of->lanes};
  grid.block_threads = {1024};
  grid.block_shared_bytes = {kBlockSharedBytes};
  grid.unit_shared_bytes = {kBlockSharedBytes};
  grid.thread_registers = {of->thread_registers};
  grid.unit_registers = {of->unit_registers};
  grid.unit_threads = {of->unit_threads};
  grid.coalesced_bytes = {of->line_bytes};
  grid.shared_banks = {32};
  grid.shared_bytes_per_cycle = {128};
  grid.barrier_cycles = {40};
  grid.launch_ns = {5'000};
}

}  // namespace polyweft::targets
