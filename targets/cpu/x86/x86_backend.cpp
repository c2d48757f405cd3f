// x86-64: the host by its feature flags, the levels of the System V ABI, and what follows from features.
#include "targets/cpu/x86/x86_backend.h"

#include <llvm/ADT/StringRef.h>
#include <llvm/TargetParser/Host.h>

#include "ir/nests/instruction.h"
#include "targets/cpu/cpu_backend.h"
#include "targets/cpu/this_machine.h"
#include "targets/cpu/x86/x86_levels.h"

namespace polyweft::targets {
namespace {

/// Of what is known of a family of cores (vendors' optimization guides, measured streams); Machine's own figures for
/// the others. Measured on Zen 5: independent loads of 1024 pages take no longer than those of 32, of 8192 to 32768
/// pages 1.7 to 6.6 cycles more; streams from the third cache or memory hide behind 8 to 32 cycles of arithmetic a
/// line; lines 4160 bytes apart take 8 to 12 cycles each from the second cache, 10 to 16 from the third. A third cache
/// of its own for each cluster of cores. Gathers of 8 x 64 bits 15 cycles, 16 x 32 bits 20, 4 x 64 7.4, 8 x 32 13;
/// scatters 9, 17, 5.
void assume_memory(Machine& machine) {
  if (!llvm::sys::getHostCPUName().starts_with("znver")) return;
  const double line_cycles[] = {8, 10, 16},
               bytes_per_cycle[] = {machine.units.vector_bits == 512 ? 60.0 : 30.0, 24, 10};
  for (size_t level = 1; level < machine.memories.size(); ++level) {
    machine.memories[level].scattered_line_cycles = {line_cycles[level - 1]};
    machine.memories[level].bytes_per_cycle = {bytes_per_cycle[level - 1]};
  }
  machine.tlbs = {{{64}, {0.5}}, {{3072}, {8}}};
  machine.page_start_cycles = {0};
  machine.units.gather_lane_cycles = {1.6};
  machine.units.scatter_lane_cycles = {1.1};
}

class X86Backend final : public CpuBackend {
 public:
  std::string architecture() const override { return "x86-64"; }
  Target named(const std::string& name) const override {
    Target target = CpuBackend::named(name);
    target.machine.set_cores(cores_of_this_machine(), FigureOrigin::described);
    return target;
  }

  Result<Bytes> emit_levels(const std::vector<LevelCode>& levels, Emit what,
                            const BuildOptions& options) const override {
    return x86_levels(levels, what, options, named("x86-64"));
  }

  std::string usual_target() const override { return "x86-64-v3"; }
  std::optional<Target> host() const override {
    std::optional<Target> target = CpuBackend::host();
    if (target) assume_memory(target->machine);
    return target;
  }

  std::string derive(Target& target) const override {
    if (std::string unknown = unknown_feature(target); !unknown.empty()) return unknown;
    const bool is_wide = target.has("avx512f");
    target.machine.units.vector_bits = is_wide ? 512 : target.has("avx") ? 256 : 128;
    target.machine.units.vector_registers = is_wide ? 32 : 16;
    target.can.fused_products = target.has("fma") || is_wide;
    target.can.half_arithmetic = target.has("avx512fp16") && target.has("avx512vl");
    target.machine.units.has_compiler_gathers = is_wide;
    target.machine.units.has_memory_operands = true;
    target.machine.units.instructions = ir::instructions_of(target);
    target.is_host = is_this_cpu(target);
    return {};
  }
};

}  // namespace

std::unique_ptr<Backend> x86_backend() {
  return std::make_unique<X86Backend>();
}

}  // namespace polyweft::targets
