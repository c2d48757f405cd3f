// Features of CPUs and levels of them, by architecture: the same on every host, so that a target of one architecture
// can be described on another.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace polyweft {

struct CpuLevel {
  std::string name;
  std::vector<std::string> features;  ///< LLVM's names, sorted; all of the level before among them
};
/// Of x86-64 the levels of the System V ABI, of AArch64 what servers have had at first, since 2018 and since 2022, of
/// RISC-V vector registers of at least 128 and 256 bits, of WebAssembly one with vectors, lowest first; none for an
/// architecture that this version does not know.
const std::vector<CpuLevel>& cpu_levels(const std::string& architecture);
/// Features by LLVM's names, sorted, that code generation may use; anything else a CPU has does not change a kernel.
const std::vector<std::string>& known_cpu_features(const std::string& architecture);
/// Of a feature that says how long scalable vectors are and no more ("vl256"), which LLVM does not know: bits. 0 for
/// any other.
int vector_bits_of_feature(const std::string& feature);
/// None for a name that is not a level of the architecture.
std::optional<std::vector<std::string>> features_of_level(const std::string& architecture, const std::string& level);

}  // namespace polyweft
