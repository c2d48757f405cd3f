// RISC-V of 64 bits with the vector extension. A target says the least length of vector registers (zvl128b, zvl256b):
// its vectors are as long, and its kernels also run where registers are longer. They run in a process of that
// architecture; elsewhere a runner of it runs them, behind ssh or an emulator (docs/runner.md).
#include "targets/cpu/riscv/riscv_backend.h"

#include <algorithm>

#include "ir/nests/instruction.h"
#include "support/cpu_features.h"
#include "support/cpu_levels.h"
#include "targets/cpu/cpu_backend.h"
#include "targets/cpu/this_machine.h"

namespace polyweft::targets {
namespace {

constexpr int kVectorRegisters = 32;

/// Bits of a vector register, at least.
int register_bits(const Target& target) {
  for (const int bits : {512, 256})
    if (target.has("zvl" + std::to_string(bits) + "b")) return bits;
  return 128;
}

class RiscvBackend final : public CpuBackend {
 public:
  std::string architecture() const override { return "riscv64"; }
  std::vector<std::string> target_names() const override {
    std::vector<std::string> out;
    for (const CpuLevel& level : cpu_levels(architecture())) out.push_back(level.name);
    return out;
  }

  Target named(const std::string& name) const override {
    Target target;
    target.name = name;
    target.architecture = architecture();
    target.features = features_of_level(architecture(), name).value_or(std::vector<std::string>{});
    derive(target);
    return target;
  }

  std::optional<Target> host() const override {
    if (native_architecture() != architecture()) return std::nullopt;
    Target target;
    target.name = "host";
    target.architecture = architecture();
    target.features = cpu_features();
    if (!derive(target).empty()) return std::nullopt;
    describe_caches(target.machine);
    target.machine.set_cores(cores_of_this_machine(), FigureOrigin::described);
    return target;
  }

  std::string derive(Target& target) const override {
    const auto& known = known_cpu_features(architecture());
    for (const auto& feature : target.features)
      if (!std::binary_search(known.begin(), known.end(), feature))
        return "'" + feature + "' is not a feature this version knows";
    for (const std::string& needed : cpu_levels(architecture()).front().features)
      if (!target.has(needed)) return "code for this architecture needs '" + needed + "'";
    target.machine.units.vector_bits = register_bits(target);
    target.machine.units.vector_registers = kVectorRegisters;
    target.machine.units.instructions = ir::instructions_of(target);
    target.can.fused_products = true;
    target.is_host = native_architecture() == architecture() && missing_cpu_features(target.features).empty();
    return {};
  }

  Status runs_here(const Target& target) const override {
    return native_architecture() == architecture() ? CpuBackend::runs_here(target) : Backend::runs_here(target);
  }
};

}  // namespace

std::unique_ptr<Backend> riscv_backend() {
  return std::make_unique<RiscvBackend>();
}

}  // namespace polyweft::targets
