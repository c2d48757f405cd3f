// AArch64 with NEON, or with scalable vectors (SVE, SVE2) of a length that the target says: their masks are predicates,
// their code is for that length alone. Kernels run in a process of that architecture; elsewhere a runner of it runs
// them, behind ssh or an emulator (docs/runner.md).
#include "targets/cpu/aarch64/aarch64_backend.h"

#include <algorithm>

#include "ir/nests/instruction.h"
#include "support/cpu_features.h"
#include "support/cpu_levels.h"
#include "targets/cpu/cpu_backend.h"
#include "targets/cpu/this_machine.h"

namespace polyweft::targets {
namespace {

constexpr int kNeonBits = 128, kNeonRegisters = 32;

/// Targets with scalable vectors: NAME-BITS beside the features of a level.
struct Scalable {
  const char *name, *level;
  std::vector<std::string> features;
};
const Scalable kScalable[] = {{"sve", "aarch64-v8.2", {"sve"}}, {"sve2", "aarch64-v8.6", {"sve", "sve2"}}};

class AArch64Backend final : public CpuBackend {
 public:
  std::string architecture() const override { return "aarch64"; }
  std::vector<std::string> target_names() const override {
    std::vector<std::string> out;
    for (const CpuLevel& level : cpu_levels(architecture())) out.push_back(level.name);
    for (const Scalable& kind : kScalable)
      for (const char* bits : {"128", "256", "512"}) out.push_back(architecture() + "-" + kind.name + "-" + bits);
    return out;
  }

  Target named(const std::string& name) const override {
    Target target;
    target.name = name;
    target.architecture = architecture();
    target.features = features_of(name);
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
    if (!target.has("neon")) return "code for this architecture needs 'neon'";
    std::vector<int> lengths;
    for (const auto& feature : target.features)
      if (const int bits = vector_bits_of_feature(feature); bits > 0) lengths.push_back(bits);
    if (target.has("sve") ? lengths.size() != 1 : !lengths.empty() || target.has("sve2"))
      return "code for scalable vectors needs 'sve' and their length: one of vl128, vl256, vl512";
    target.machine.units.vector_bits = lengths.empty() ? kNeonBits : lengths.front();
    target.machine.units.vector_registers = kNeonRegisters;
    target.machine.units.instructions = ir::instructions_of(target);
    target.can.fused_products = true;
    target.can.half_arithmetic = target.has("fullfp16");
    target.is_host = native_architecture() == architecture() && missing_cpu_features(target.features).empty();
    return {};
  }

  static std::vector<std::string> features_of(const std::string& name) {
    const std::string of = "aarch64";
    for (const Scalable& kind : kScalable) {
      const std::string start = of + "-" + kind.name + "-";
      if (!name.starts_with(start)) continue;
      std::vector<std::string> out = features_of_level(of, kind.level).value();
      out.insert(out.end(), kind.features.begin(), kind.features.end());
      out.push_back("vl" + name.substr(start.size()));
      std::sort(out.begin(), out.end());
      return out;
    }
    return features_of_level(of, name).value_or(std::vector<std::string>{});
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
