// AArch64 with NEON, or with scalable vectors (SVE, SVE2) of a length that the target says: their masks are predicates,
// their code is for that length alone. Kernels run in a process of that architecture; elsewhere a runner of it runs
// them, behind ssh or an emulator (docs/runner.md).
#include "targets/cpu/aarch64/aarch64_backend.h"

#include <algorithm>

#include "ir/nests/instruction.h"
#include "support/cpu_levels.h"
#include "targets/cpu/cpu_backend.h"

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
    std::vector<std::string> out = CpuBackend::target_names();
    for (const Scalable& kind : kScalable)
      for (const char* bits : {"128", "256", "512"}) out.push_back(architecture() + "-" + kind.name + "-" + bits);
    return out;
  }

  std::string derive(Target& target) const override {
    if (std::string wrong = wrong_feature(target); !wrong.empty()) return wrong;
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
    target.is_host = is_this_cpu(target);
    return {};
  }

 protected:
  std::vector<std::string> features_of(const std::string& name) const override {
    for (const Scalable& kind : kScalable) {
      const std::string start = architecture() + "-" + kind.name + "-";
      if (!name.starts_with(start)) continue;
      std::vector<std::string> out = CpuBackend::features_of(kind.level);
      out.insert(out.end(), kind.features.begin(), kind.features.end());
      out.push_back("vl" + name.substr(start.size()));
      std::sort(out.begin(), out.end());
      return out;
    }
    return CpuBackend::features_of(name);
  }
};

}  // namespace

std::unique_ptr<Backend> aarch64_backend() {
  return std::make_unique<AArch64Backend>();
}

}  // namespace polyweft::targets
