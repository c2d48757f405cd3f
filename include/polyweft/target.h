// Target: what a kernel is built for, described by feature flags and units, never by a chip's name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "polyweft/result.h"

#pragma GCC visibility push(default)
namespace polyweft {

struct Target {
  std::string name;  ///< "host", "x86-64-v3", or a description's; not part of the fingerprint
  std::string architecture = "x86-64";
  std::vector<std::string> features;  ///< LLVM's names, sorted: "avx2", "avx512f", "fma" ...
  int vector_bits = 128;
  int vector_registers = 16;
  std::vector<int64_t> cache_bytes = {32 << 10, 1 << 20, 8 << 20};  ///< data caches, L1 first; advertised, not calibrated
  int cores = 1;
  bool is_host = false;  ///< kernels run here
  bool has(const std::string& feature) const;
};
/// Architecture, features and units: what decides whether a kernel may run and which is best. Never a name, a cache or a clock.
PW_EXPORT std::string fingerprint(const Target& target);
/// "host" (CPUID, XCR0), "x86-64", "x86-64-v3", "x86-64-v4", or the path of a description (TOML). PW0510 for an unknown name, PW0511 for a
/// malformed description.
PW_EXPORT Result<Target> find_target(const std::string& name);
/// Names that find_target knows without a file.
PW_EXPORT std::vector<std::string> target_names();
/// A description that find_target reads back.
PW_EXPORT std::string describe(const Target& target);

}  // namespace polyweft
#pragma GCC visibility pop
