// What backends for CPUs share: objects by LLVM's code generator, the ABI of halide_buffer_t, code loaded into this
// process, the sandboxed runner.
#pragma once

#include "targets/backend.h"

namespace polyweft::targets {

class CpuBackend : public Backend {
 public:
  Status runs_here(const Target& target) const override;
  Status may_be_named(const std::string& symbol) const override;
  Result<Artifact> build(const LoopNest& nest, const Target& target, const BuildOptions& options) const override;
  Result<Bytes> emit(const LoopNest& nest, const Target& target, Emit what, const BuildOptions& options) const override;
  Result<LoopNest> behind_passes(const LoopNest& nest, const Target& target, const std::string& last) const override;
  Result<std::unique_ptr<LoadedKernel>> load(const Artifact& artifact, const LoopNest& nest,
                                             const Target& target) const override;
  Result<std::unique_ptr<Runner>> start_runner(const RunnerOptions& options) const override;
  Result<Assembly> marked_assembly(const LoopNest& nest, const Target& target,
                                   const std::string& symbol) const override;
  Result<ExpectedCode> expected_code(const LoopNest& nest, const Target& target, int threads) const override;
  std::optional<PeakKernel> peak_kernel(const LoopNest& nest, const Target& target, int threads,
                                        int64_t instructions) const override;
  double measured_peak_gflops(const Target& target, int threads) const override;
  double measured_memory_gb_s(const Target& target, int threads) const override;
  Result<Machine> probe(const Target& target) const override;
};

}  // namespace polyweft::targets
