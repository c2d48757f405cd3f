// What the driver asks of code generation, in its own words: kernels for the runner, kernels in this process, products
// for files.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/call.h"
#include "driver/code_thread.h"
#include "polyweft/loop_nest.h"
#include "polyweft/runner.h"
#include "polyweft/target.h"
#include "polyweft/tuner.h"
#include "targets/backend.h"

namespace polyweft {

using targets::LoadedKernel;

class CompileService {
 public:
  /// Whatever a target without a backend is asked, it says PW0522.
  /// `call`: whose end stops code generation (PW0839), and whose stages it is; it must outlive the service.
  explicit CompileService(Target target, Call* call = nullptr);
  /// The same for other threads than the call's: nothing stops it.
  CompileService for_other_threads() const;
  /// PW0517 where this CPU lacks a feature of the target: whatever runs or measures asks first.
  Status kernels_run_here() const;
  /// They run in an emulator of the target's machine, whose times do not count.
  bool is_emulated() const { return backend_ && (*backend_)->is_emulated(); }
  /// What becomes of a nest whose blocks of registers do not fit: `refuse` where better ones are to be had, `allow`
  /// where somebody asks for this one.
  enum class Spills : uint8_t { refuse, allow };
  /// PW0502 where the unrolled code is too long, PW0506 where it spills too much. LoadableKernel::spills has the
  /// number.
  Result<LoadableKernel> for_runner(const LoopNest& nest, Spills spills = Spills::refuse) const;
  /// That of a task's reference and error bounds, which are not timed: a device's is the CPU beside it.
  const CompileService& of_references() const { return reference_ ? *reference_ : *this; }
  Result<LoadableKernel> for_reference(const LoopNest& nest) const {
    return of_references().for_runner(nest, Spills::allow);
  }
  /// Is that a kernel like any other, which candidates can be timed beside?
  bool has_reference_of_its_kind() const { return !reference_; }
  /// Does such a number of spills make a nest no candidate?
  bool is_too_many(int spills, const LoopNest& nest) const;
  Result<std::shared_ptr<LoadedKernel>> load(const LoopNest& nest) const;
  /// Spills of the code that load() and the product of an object take, which is kept for them: the last ones are.
  /// PW0502, PW0506 as for_runner.
  Result<int> spills_of_answer(const LoopNest& nest) const;
  /// A process that runs kernels for this target.
  Result<std::unique_ptr<Runner>> start_runner(const RunnerOptions& options) const;
  targets::RunnerDevice runner_device() const {
    return backend_ ? (*backend_)->runner_device(target_) : targets::RunnerDevice{};
  }
  std::string device_here() const { return backend_ ? (*backend_)->device_here(target_) : ""; }
  Result<Assembly> marked_assembly(const LoopNest& nest) const;
  /// Cycles of a call's instructions by LLVM's tables, all loads from the first cache. PW0506 where it spills too much.
  /// Costs a third more than compiling the nest.
  Result<targets::ExpectedCode> expected_code(const LoopNest& nest, int threads) const;
  Result<double> expected_cycles(const LoopNest& nest, int threads) const;
  /// PW0513 where a product's symbol cannot have this name.
  Status may_be_named(const std::string& symbol) const;
  /// `name` empty: the nest's, where a symbol can have that.
  Result<std::vector<unsigned char>> product(const LoopNest& nest, Emit emit, const std::string& name,
                                             Abi abi = Abi::halide) const;
  /// One product with code for several targets, of one architecture, the least first.
  Result<std::vector<unsigned char>> product(const std::vector<targets::LevelCode>& levels, Emit emit,
                                             const std::string& name, Abi abi) const;
  /// What a program adds that links it, in words.
  std::string to_link(const LoopNest& nest, Emit emit, Abi abi) const;
  /// The nest behind code generation's passes, or behind the one named `last`.
  Result<LoopNest> behind_passes(const LoopNest& nest, const std::string& last) const;
  /// As the target has it: nothing is measured.
  Machine machine(int threads) const { return on_cores(target_.machine, threads); }
  /// What of the nest runs where, for people.
  Result<std::string> levels(const LoopNest& nest) const;
  /// A kernel that runs `instructions` of the unit that bounds the nest on each of `threads` threads, in registers;
  /// none where no such unit is known.
  struct PeakKernel {
    LoadableKernel kernel;
    std::string unit;
    double operations = 0;  ///< of a call
  };
  std::optional<PeakKernel> peak_kernel(const LoopNest& nest, int threads, int64_t instructions) const;
  /// FMA peak of `threads` threads of this machine, measured now in bursts of 50 us; 0 where the target is not this
  /// machine.
  double measured_peak_gflops(int threads) const;
  /// GB/s past the caches, measured now; 0 where the target is not this machine.
  double measured_memory_gb_s(int threads) const;
  const Target& target() const { return target_; }
  Call* call() const { return call_; }

 private:
  /// The backend's answer about a nest, on the code thread where the call may end before it.
  template <class T>
  Result<T> asked(const char* stage, const LoopNest& nest,
                  std::function<Result<T>(const targets::Backend&, const LoopNest&, const Target&)> question) const;

  /// For whoever calls the kernel from this process.
  Result<std::shared_ptr<const targets::Artifact>> answer(const LoopNest& nest) const;

  Target target_;
  Call* call_ = nullptr;
  std::shared_ptr<StageTimes> times_;                                                         ///< may be null
  std::shared_ptr<std::map<std::string, std::shared_ptr<const targets::Artifact>>> answers_;  ///< by the nest's text
  std::shared_ptr<CodeThread> thread_;
  Result<const targets::Backend*> backend_;
  std::shared_ptr<const CompileService> reference_;  ///< of another target
};

/// `machine` with the clock and memory rate that its cores were just measured to have together (0: not known). For
/// searches; a first choice without measurements must not depend on noise.
Machine calibrated(Machine machine, double peak_gflops, double memory_gb_s);

}  // namespace polyweft
