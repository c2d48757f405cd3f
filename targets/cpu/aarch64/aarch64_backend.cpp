// AArch64 with NEON. Kernels run in a process of that architecture; elsewhere a runner of it runs them, behind ssh or
// an emulator (docs/runner.md).
#include "targets/cpu/aarch64/aarch64_backend.h"

#include <algorithm>
#include <array>

#include "ir/nests/instruction.h"
#include "support/cpu_features.h"
#include "targets/cpu/cpu_backend.h"
#include "targets/cpu/this_machine.h"

namespace polyweft::targets {
namespace {

constexpr int kNeonBits = 128, kNeonRegisters = 32;

struct ArmLevel {
  const char* name;
  std::vector<std::string> features;
};
/// The first version of the architecture, and what servers have had since 2018 and 2022. Sorted, features too.
const std::array<ArmLevel, 3>& arm_levels() {
  static const std::array<ArmLevel, 3> all = {{{"aarch64", {"neon"}},
                                               {"aarch64-v8.2", {"dotprod", "fullfp16", "neon"}},
                                               {"aarch64-v8.6", {"bf16", "dotprod", "fullfp16", "i8mm", "neon"}}}};
  return all;
}

class AArch64Backend final : public CpuBackend {
 public:
  std::string architecture() const override { return "aarch64"; }
  std::vector<std::string> target_names() const override {
    std::vector<std::string> out;
    for (const ArmLevel& level : arm_levels()) out.emplace_back(level.name);
    return out;
  }

  Target named(const std::string& name) const override {
    Target target;
    target.name = name;
    target.architecture = architecture();
    for (const ArmLevel& level : arm_levels())
      if (name == level.name) target.features = level.features;
    derive(target);
    return target;
  }

  // Features that this version does not know are left out, so that a newer core counts as what it is known to have.
  std::optional<Target> host() const override {
    if (native_architecture() != architecture()) return std::nullopt;
    Target target;
    target.name = "host";
    target.architecture = architecture();
    const auto& known = arm_levels().back().features;
    for (const auto& feature : cpu_features())
      if (std::binary_search(known.begin(), known.end(), feature)) target.features.push_back(feature);
    if (!derive(target).empty()) return std::nullopt;
    target.machine.set_caches(caches_of_this_machine(), FigureOrigin::described);
    target.machine.set_cores(cores_of_this_machine(), FigureOrigin::described);
    return target;
  }

  std::string derive(Target& target) const override {
    const auto& known = arm_levels().back().features;
    for (const auto& feature : target.features)
      if (!std::binary_search(known.begin(), known.end(), feature))
        return "'" + feature + "' is not a feature this version knows";
    if (!target.has("neon")) return "code for this architecture needs 'neon'";
    target.machine.units.vector_bits = kNeonBits;
    target.machine.units.vector_registers = kNeonRegisters;
    target.machine.units.instructions = ir::instructions_of(target);
    target.can.fused_products = true;
    target.can.half_arithmetic = target.has("fullfp16");
    target.is_host = native_architecture() == architecture() && missing_cpu_features(target.features).empty();
    return {};
  }

  Status runs_here(const Target& target) const override {
    return native_architecture() == architecture() ? CpuBackend::runs_here(target) : Backend::runs_here(target);
  }
};

}  // namespace

std::unique_ptr<Backend> aarch64_backend() {
  return std::make_unique<AArch64Backend>();
}

}  // namespace polyweft::targets
