// A backend makes kernels for machines of one architecture. Everybody above asks these questions and names no
// architecture; registry.h lists the backends.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "polyweft/loop_nest.h"
#include "polyweft/runner.h"
#include "polyweft/target.h"

namespace polyweft::targets {

using Bytes = std::vector<unsigned char>;

/// Kernels for the lab are called by our runner only: they answer no bounds queries and do not say what is wrong with
/// arguments, which is a tenth of the time that a candidate's code takes. Callers from plain C pass addresses of
/// elements, which are not checked for more than being there; `counted` kernels, too, whose code counts its
/// instructions for a model of the machine (targets/cpu/counted_code.h). `plain_c_alone`: as plain_c, by a program that
/// need not have a runtime of ours: memory comes from the C library.
enum class Caller : uint8_t { anyone, lab, plain_c, counted, plain_c_alone };
inline bool is_plain_c(Caller caller) {
  return caller == Caller::plain_c || caller == Caller::plain_c_alone;
}
/// Who loads an artifact: the backend's runner, or Backend::load in this process. Where one form serves both, backends
/// do not look.
enum class Loader : uint8_t { runner, process };
struct BuildOptions {
  std::string symbol;  ///< of the kernel, free by may_be_named(); packs are symbol_pack_TENSOR
  Caller caller = Caller::anyone;
  Loader loader = Loader::runner;
};

/// Memory that a call allocates on the device or the host, beside its arguments.
struct Workspace {
  std::string name;
  int64_t bytes = 0;
};
/// A function of the artifact that a call of the kernel starts, in this order. On a grid: blocks and threads of a block
/// along x, y and z, and the bytes of a block's shared memory: of these `dynamic_shared_bytes` are asked for by the
/// launch, all of them or none.
struct Launch {
  std::string symbol;
  std::array<int64_t, 3> blocks = {1, 1, 1}, threads = {1, 1, 1};
  int64_t shared_bytes = 0, dynamic_shared_bytes = 0;
};
struct LaunchPlan {
  std::vector<Launch> launches;
  std::vector<Workspace> workspaces;
};
/// What is known of the code without running it.
struct CodeFacts {
  int spills = 0;  ///< vector registers stored to memory inside an innermost loop, the worst one
};
/// What a nest becomes for a target, in the form that the backend's runner takes or that load() takes.
struct Artifact {
  std::string kind;  ///< what `bytes` are: "elf-shared", "elf-object"
  Bytes bytes;
  std::string id;                    ///< 32 hex digits: the same for the same code
  std::vector<std::string> kernels;  ///< exported symbols, the entry first
  LaunchPlan plan;
  std::vector<std::string> features;  ///< of the target: what the machine that runs it must have
  CodeFacts facts;
};

/// A kernel of a nest, loaded in this process. Calls must not overlap.
class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;
  /// ABI order, row-major bytes of each argument; const inputs are given unpacked. Gives the kernel's return value.
  Result<int> call(const std::vector<TensorData*>& arguments);
  /// The same on bare memory of the right sizes.
  virtual Result<int> call_raw(const std::vector<void*>& arguments) = 0;
  /// Packs const inputs again at the next call.
  virtual void forget_packed() = 0;
  /// Of a symbolic nest, whose own calls are refused: the same code at these sizes, which the nest admits. PW0523 where
  /// the backend has none.
  virtual Result<std::unique_ptr<LoadedKernel>> at(const std::vector<int64_t>& sizes) const;
};

/// A kernel that does nothing but one instruction in registers, on all threads, as fast as it goes.
struct PeakKernel {
  Artifact artifact;
  std::string unit;       ///< "f32 multiply-adds"
  double operations = 0;  ///< of a call
};
/// What code is expected to do, by its text.
struct ExpectedCode {
  double cycles = 0;        ///< of a call's instructions, if all loads hit the first cache
  int spills = 0;           ///< as CodeFacts::spills
  bool has_gathers = true;  ///< loads of several lanes by several addresses, or may have
};

/// A nest, and the target that one part of a product is for.
struct LevelCode {
  LoopNest nest;
  Target target;
};

/// What a runner of a backend's artifacts must have beside a CPU.
struct RunnerDevice {
  std::string kind;       ///< RunnerOptions::device; empty: nothing
  std::string machine;    ///< what modules are made for, as the device names itself; empty: any such device takes them
  bool are_many = false;  ///< devices of this kind differ: records are kept apart by device
};

/// All functions may be called by several threads at once. What a backend has not got it says by PW0523, which these
/// functions give where they are not overridden.
class Backend {
 public:
  virtual ~Backend() = default;

  /// Target::architecture of its machines. Sorted, unique.
  virtual std::string architecture() const = 0;
  /// Targets that have a name, each made by `named` (without features, where that is not overridden).
  virtual std::vector<std::string> target_names() const { return {}; }
  virtual Target named(const std::string& name) const;
  /// Names of machines that this one has beside the CPU, each found by `attached`: "cuda". No backend's target has one.
  virtual std::vector<std::string> attached_names() const { return {}; }
  /// With the figures that the machine says of itself. PW0517 where there is none.
  virtual Result<Target> attached(const std::string& name) const;
  /// The machine that this process runs on, where it is one of this architecture.
  virtual std::optional<Target> host() const { return std::nullopt; }
  /// Of target_names() the one whose kernels most machines of the architecture run that measure; empty: none is.
  virtual std::string usual_target() const { return {}; }
  /// Sets what follows from a description's architecture and features: units, capabilities, is_host. A text of what is
  /// wrong with the features, empty: nothing.
  virtual std::string derive(Target& target) const = 0;

  /// PW0517 where this machine cannot run kernels for the target.
  virtual Status runs_here(const Target& target) const;
  /// This machine plays its machines: results of its runner count, times do not.
  virtual bool is_emulated() const { return false; }
  /// PW0513 where no product's symbol can have this name.
  virtual Status may_be_named(const std::string& symbol) const;
  /// Refuses with PW05xx what it cannot lower.
  virtual Result<Artifact> build(const LoopNest& nest, const Target& target, const BuildOptions& options) const = 0;
  /// A product for files; Emit::artifact is what build() makes for the runner.
  virtual Result<Bytes> emit(const LoopNest& nest, const Target& target, Emit what, const BuildOptions& options) const;
  /// One product with code for all these targets, the least first: at its first call it takes the last one that its
  /// machine can run. The nests have the same arguments.
  virtual Result<Bytes> emit_levels(const std::vector<LevelCode>& levels, Emit what, const BuildOptions& options) const;
  /// What a program adds that links this product, in words: "the C library alone"; empty: nothing is said.
  virtual std::string to_link(const LoopNest& nest, Emit what, Caller caller) const;
  /// The nest that instructions are chosen for: behind all passes of src/ir/passes/passes.h, or those up to the one
  /// named `last`.
  virtual Result<LoopNest> behind_passes(const LoopNest& nest, const Target& target, const std::string& last) const;
  /// For people: what of the nest runs where, with the sizes of grids and memories.
  virtual Result<std::string> levels(const LoopNest& nest, const Target& target) const;
  /// Loads what build() made of the nest for Loader::process. The kernel gives the codes of src/ir/kernel_codes.h, and
  /// scans the values that a caller has promised. PW0517 where runs_here() says so, PW0516 for bytes of another kind.
  virtual Result<std::unique_ptr<LoadedKernel>> load(const Artifact& artifact, const LoopNest& nest,
                                                     const Target& target) const;
  /// What a task's reference and its bounds are built for: the runner runs them beside this backend's artifacts. A
  /// device's is the CPU of the machine that has it.
  virtual Result<Target> reference_target(const Target& target) const { return target; }
  virtual RunnerDevice runner_device(const Target&) const { return {}; }
  /// The device of this machine that kernels for the target run on, with its driver; empty: none, or one of which there
  /// is one kind. Records are kept apart by it.
  virtual std::string device_here(const Target&) const { return {}; }
  /// A process that runs this backend's artifacts and times them; `options.command` is that of the runner for CPUs.
  virtual Result<std::unique_ptr<Runner>> start_runner(const RunnerOptions& options) const;

  /// Innermost loops of the machine code, marked and costed.
  virtual Result<Assembly> marked_assembly(const LoopNest& nest, const Target& target, const std::string& symbol) const;
  /// Costs what building costs, and about as much again.
  virtual Result<ExpectedCode> expected_code(const LoopNest& nest, const Target& target, int threads) const;
  /// At least `instructions` of the unit that bounds the nest on each of `threads` threads; none where no such unit is
  /// known.
  virtual std::optional<PeakKernel> peak_kernel(const LoopNest& nest, const Target& target, int threads,
                                                int64_t instructions) const;
  /// GFLOP/s of multiply-adds of f32 on `threads` threads of this machine, and GB/s past the caches, measured now; 0:
  /// not known.
  virtual double measured_peak_gflops(const Target& target, int threads) const;
  virtual double measured_memory_gb_s(const Target& target, int threads) const;
  /// The target's machine with what was measured of it on this one, now: some 2 s.
  virtual Result<Machine> probe(const Target& target) const;

 protected:
  /// PW0523: "the backend for ARCHITECTURE has no WHAT".
  Error lacks(const std::string& what, std::vector<std::string> notes = {}) const;
  /// PW0516 where the artifact's bytes are of another kind.
  static Status is_of_kind(const Artifact& artifact, const std::string& kind);
};

/// PW0522. `known`: architectures that are built for, with commas between them.
Error no_backend_for(const Target& target, const std::string& known);

}  // namespace polyweft::targets
