#include "support/cpu_levels.h"

#include <algorithm>
#include <array>

namespace polyweft {
namespace {

struct CpuFamily {
  std::string architecture;
  std::vector<CpuLevel> levels;
  std::vector<std::string> known;  ///< features
};

/// Each level adds its features to those of the level before; `beyond` are in no level.
CpuFamily family(const std::string& architecture, std::vector<CpuLevel> levels, std::vector<std::string> beyond) {
  CpuFamily out{architecture, std::move(levels), {}};
  for (CpuLevel& level : out.levels) {
    level.features.insert(level.features.end(), out.known.begin(), out.known.end());
    std::sort(level.features.begin(), level.features.end());
    out.known = level.features;
  }
  out.known.insert(out.known.end(), beyond.begin(), beyond.end());
  std::sort(out.known.begin(), out.known.end());
  return out;
}

const std::array<CpuFamily, 4>& families() {
  static const std::array<CpuFamily, 4> all = {
      family("aarch64",
             {{"aarch64", {"neon"}}, {"aarch64-v8.2", {"dotprod", "fullfp16"}}, {"aarch64-v8.6", {"bf16", "i8mm"}}},
             {"sve", "sve2", "vl128", "vl256", "vl512"}),
      family("riscv64",
             {{"riscv64-v128", {"a", "c", "d", "f", "m", "unaligned-scalar-mem", "v", "zvl128b"}},
              {"riscv64-v256", {"zvl256b"}}},
             {"zvl512b"}),
      family("wasm32", {{"wasm", {"bulk-memory", "nontrapping-fptoint", "sign-ext", "simd128"}}}, {}),
      family("x86-64",
             {{"x86-64", {"sse", "sse2"}},
              {"x86-64-v2", {"popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"}},
              {"x86-64-v3", {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}},
              {"x86-64-v4", {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}}},
             {"amx-bf16", "amx-int8", "amx-tile", "avx512bf16", "avx512fp16", "avx512vbmi", "avx512vbmi2", "avx512vnni",
              "avxvnni"})};
  return all;
}

const CpuFamily& family_of(const std::string& architecture) {
  static const CpuFamily unknown;
  for (const CpuFamily& each : families())
    if (each.architecture == architecture) return each;
  return unknown;
}

}  // namespace

const std::vector<CpuLevel>& cpu_levels(const std::string& architecture) {
  return family_of(architecture).levels;
}

const std::vector<std::string>& known_cpu_features(const std::string& architecture) {
  return family_of(architecture).known;
}

int vector_bits_of_feature(const std::string& feature) {
  for (const int bits : {128, 256, 512})
    if (feature == "vl" + std::to_string(bits)) return bits;
  return 0;
}

std::optional<std::vector<std::string>> features_of_level(const std::string& architecture, const std::string& level) {
  for (const CpuLevel& each : cpu_levels(architecture))
    if (each.name == level) return each.features;
  return std::nullopt;
}

}  // namespace polyweft
