// What backends for CPUs share: objects by LLVM's code generator, the ABI of halide_buffer_t, code loaded into this
// process, the sandboxed runner.
#pragma once

#include "targets/backend.h"

namespace polyweft::targets {

struct CompiledObject;
struct HeaderNotes;

/// The header of a product.
Bytes header_of(const LoopNest& nest, const BuildOptions& options, const HeaderNotes& notes);
/// Object, archive or shared object of what was compiled.
Result<Bytes> product_of(const CompiledObject& object, Emit what, const std::vector<std::string>& exported);

class CpuBackend : public Backend {
 public:
  /// The levels of the architecture.
  std::vector<std::string> target_names() const override;
  Target named(const std::string& name) const override;
  /// With what Linux says of its caches and cores.
  std::optional<Target> host() const override;
  Status runs_here(const Target& target) const override;
  Status may_be_named(const std::string& symbol) const override;
  Result<Artifact> build(const LoopNest& nest, const Target& target, const BuildOptions& options) const override;
  Result<Bytes> emit(const LoopNest& nest, const Target& target, Emit what, const BuildOptions& options) const override;
  std::string to_link(const LoopNest& nest, Emit what, Caller caller) const override;
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

 protected:
  /// Of a target with a name.
  virtual std::vector<std::string> features_of(const std::string& name) const;
  /// Texts as derive() gives them: of a feature that no CPU of the architecture has; or also of one of its lowest level
  /// that the target has not.
  std::string unknown_feature(const Target& target) const;
  std::string wrong_feature(const Target& target) const;
  /// Does this process run on a CPU of the architecture that has all features of the target?
  bool is_this_cpu(const Target& target) const;
};

}  // namespace polyweft::targets
