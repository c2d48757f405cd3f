// Kernels that measure a CPU: chains, multiply-adds, loads and stores, written for LLVM as any kernel, in the target's
// vectors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "polyweft/target.h"
#include "targets/cpu/build.h"

namespace polyweft::targets {

/// `count`: of what the kernel's name says, at least 1, rounded up to whole iterations. What a kernel returns means
/// nothing.
using ProbeKernel = int64_t (*)(void* data, int64_t count);

class ProbeKernels {
 public:
  /// What an iteration does of it: counts are multiples.
  static constexpr int64_t kUnrolled = 16, kChains = 12;
  /// Some 10 us: enough for all threads to come.
  static constexpr int64_t kAdditionsOfTask = 32'000;

  static Result<ProbeKernels> compiled_for(const Target& target);

  /// Additions of integers, each of the one before: one a cycle. `data` is not looked at.
  ProbeKernel additions() const { return at("additions"); }
  /// Multiply-adds of f32 in vectors of so many bits, kChains independent ones, or each of the one before.
  ProbeKernel multiply_adds(int bits) const { return at("multiply_adds_" + std::to_string(bits)); }
  ProbeKernel dependent_multiply_adds(int bits) const { return at("dependent_multiply_adds_" + std::to_string(bits)); }
  /// Loads, or stores, of the target's vectors in kUnrolled vectors at `data`.
  ProbeKernel loads() const { return at("loads"); }
  ProbeKernel stores() const { return at("stores"); }
  /// Loads of the target's vectors one after the other, `count` of them.
  ProbeKernel reads() const { return at("reads"); }
  /// Loads of the address that the one before loaded, from the one at `data`.
  ProbeKernel chase() const { return at("chase"); }
  /// Loads from the `count` addresses at `data`, which do not wait for one another.
  ProbeKernel touches() const { return at("touches"); }
  /// Forks of a task a core that makes kAdditionsOfTask additions, `count` of them one after the other.
  ProbeKernel forks() const { return at("forks"); }
  /// Widths of vectors that the target has, 128 bits first.
  const std::vector<int>& widths() const { return widths_; }

 private:
  ProbeKernels(std::unique_ptr<LoadedCode> code, std::vector<int> widths)
      : code_(std::move(code)), widths_(std::move(widths)) {}
  ProbeKernel at(const std::string& name) const;

  std::unique_ptr<LoadedCode> code_;
  std::vector<int> widths_;
};

}  // namespace polyweft::targets
