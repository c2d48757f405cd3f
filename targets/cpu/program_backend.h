// What backends share whose kernels take plain pointers and run in a program of their own, a static executable that a
// command runs, such as an emulator's (targets/programs).
#pragma once

#include <span>

#include "targets/cpu/build.h"
#include "targets/cpu/cpu_backend.h"

namespace polyweft::targets {

class ProgramBackend : public CpuBackend {
 public:
  /// PW0517 where the command is not there.
  Status runs_here(const Target& target) const override;
  Result<Artifact> build(const LoopNest& nest, const Target& target, const BuildOptions& options) const override;
  Result<Bytes> emit(const LoopNest& nest, const Target& target, Emit what, const BuildOptions& options) const override;
  Result<LoopNest> behind_passes(const LoopNest& nest, const Target& target, const std::string& last) const override;
  Result<std::unique_ptr<LoadedKernel>> load(const Artifact& artifact, const LoopNest& nest,
                                             const Target& target) const override;
  Result<Target> reference_target(const Target&) const override { return find_target("host"); }
  Result<std::unique_ptr<Runner>> start_runner(const RunnerOptions& options) const override;
  // Nothing is known of the cost of code.
  Result<Assembly> marked_assembly(const LoopNest& nest, const Target& target,
                                   const std::string& symbol) const override;
  Result<ExpectedCode> expected_code(const LoopNest&, const Target&, int) const override { return ExpectedCode{}; }
  /// Who links programs for such machines has a runtime of their own.
  std::string to_link(const LoopNest&, Emit, Caller) const override { return {}; }
  std::optional<PeakKernel> peak_kernel(const LoopNest&, const Target&, int, int64_t) const override {
    return std::nullopt;
  }
  double measured_peak_gflops(const Target&, int) const override { return 0; }
  double measured_memory_gb_s(const Target&, int) const override { return 0; }
  Result<Machine> probe(const Target& target) const override { return Backend::probe(target); }

 protected:
  static constexpr const char* kDevice = "program";  ///< RunnerDevice::kind, and the kind of artifacts for this process

  /// What runs an executable whose name comes behind it; the first word is a program of Debian's qemu-user.
  virtual std::string command(const Target& target) const = 0;
  /// PW05xx where no program can have the nest's kernel.
  virtual Status fits(const LoopNest& nest, const Target& target) const = 0;
  /// The start of programs; empty where this was built without a compiler for the architecture.
  virtual std::span<const unsigned char> runtime_object() const = 0;
  /// What a program has in it of the target's figures; empty: nothing.
  virtual Result<Bytes> table_object(const Target&) const { return Bytes(); }
  /// Of kernels in programs.
  virtual Caller caller() const { return Caller::plain_c; }
  /// Of the addresses of arguments; 1: as their elements have it.
  virtual int64_t argument_alignment() const { return 1; }
  /// The nest as code is made of it.
  virtual LoopNest prepared(const LoopNest& nest) const { return nest; }

 private:
  Status has_program(const LoopNest& nest, const Target& target) const;
  Result<CompiledObject> kernel_object(const LoopNest& nest, const Target& target, const std::string& symbol) const;
  Result<Bytes> executable_of(const CompiledObject& object, const Target& target) const;
};

}  // namespace polyweft::targets
