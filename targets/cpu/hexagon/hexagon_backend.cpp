// Hexagon with HVX. Addresses have 32 bits and there is no C library: kernels take plain pointers, and run in a program
// of their own, a static executable that an emulator runs (docs/accelerators.md).
#include "targets/cpu/hexagon/hexagon_backend.h"

#include <llvm/Support/Program.h>

#include <algorithm>

#include "ir/nests/instruction.h"
#include "support/hash.h"
#include "support/helper_path.h"
#include "targets/cpu/build.h"
#include "targets/cpu/cpu_backend.h"
#include "targets/cpu/hexagon/hexagon_hooks.h"
#include "targets/cpu/hexagon/lanes.h"
#include "targets/cpu/hexagon/runtime_bytes.h"
#include "targets/cpu/runner_client.h"
#include "targets/gpu/device_client.h"
#include "targets/gpu/device_process.h"
#include "targets/programs/program_kernel.h"

namespace polyweft::targets {
namespace {

constexpr int kHvxBits = 1024, kHvxRegisters = 32;
constexpr const char* kEmulator = "qemu-hexagon";
constexpr const char* kCommand = "qemu-hexagon -cpu v67";
constexpr const char* kProgram = "program";  ///< the kind of artifacts for this process

class HexagonBackend final : public CpuBackend {
 public:
  std::string architecture() const override { return "hexagon"; }
  std::vector<std::string> target_names() const override { return {"hexagon"}; }
  std::string derive(Target& target) const override {
    for (const auto& feature : target.features)
      if (feature != "hvx-length128b" && feature != "hvxv67")
        return "'" + feature + "' is not a feature this version knows";
    if (!target.has("hvx-length128b") || !target.has("hvxv67"))
      return "code for this architecture needs 'hvxv67' and 'hvx-length128b'";
    target.machine.units.vector_bits = kHvxBits;
    target.machine.units.vector_registers = kHvxRegisters;
    target.machine.units.has_compiler_vectors = false;
    target.machine.units.instructions = ir::instructions_of(target);
    target.is_host = runs_here(target).ok();
    return {};
  }

  bool is_emulated() const override { return true; }
  Status runs_here(const Target& target) const override {
    if (llvm::sys::findProgramByName(kEmulator)) return Ok{};
    return fail("PW0517", "a kernel for " + target.name + " does not run on this machine: there is no " + kEmulator,
                {"install Debian's qemu-user, or use build"});
  }

  Result<Artifact> build(const LoopNest& nest, const Target& target, const BuildOptions& options) const override {
    auto object = kernel_object(nest, target, options.symbol);
    if (!object) return object.error();
    auto executable = executable_of(*object);
    if (!executable) return executable.error();
    Bytes program = program_with_command(kCommand, *executable);
    Artifact out;
    out.kind = kProgram;
    if (options.loader == Loader::runner) {
      const std::string kernels =
          device_kernels(print(nest), options.symbol, {reinterpret_cast<const char*>(program.data()), program.size()});
      out.kind = kDeviceKernels;
      program.assign(kernels.begin(), kernels.end());
    }
    out.id = hex(blake2b_128({reinterpret_cast<const char*>(program.data()), program.size()}));
    out.bytes = std::move(program);
    out.kernels = exported_symbols(nest, options.symbol);
    out.plan.launches = {{out.kernels.front()}};
    out.features = std::move(object->features);
    out.facts.spills = object->spills;
    return out;
  }

  Result<Bytes> emit(const LoopNest& nest, const Target& target, Emit what,
                     const BuildOptions& options) const override {
    BuildOptions plain = options;
    plain.caller = Caller::plain_c;
    if (what == Emit::shared || what == Emit::static_library)
      return lacks("products of this form", {"--emit object writes a kernel, --emit artifact a program that runs it"});
    if (Status fits = fits_addresses(nest); !fits) return fits.error();
    if (what == Emit::header) return as_text(plain_c_header(nest, options.symbol, kArgumentAlignment));
    if (what != Emit::artifact) return CpuBackend::emit(with_lanes_of_the_machine(nest), target, what, plain);
    auto object = kernel_object(nest, target, options.symbol);
    if (!object) return object.error();
    return executable_of(*object);
  }

  Result<LoopNest> behind_passes(const LoopNest& nest, const Target& target, const std::string& last) const override {
    return CpuBackend::behind_passes(with_lanes_of_the_machine(nest), target, last);
  }

  Result<std::unique_ptr<LoadedKernel>> load(const Artifact& artifact, const LoopNest& nest,
                                             const Target& target) const override {
    if (Status runs = runs_here(target); !runs) return runs.error();
    if (Status fits = is_of_kind(artifact, kProgram); !fits) return fits.error();
    return kernel_on_device(nest, artifact.bytes, artifact.kernels.front());
  }

  Result<Target> reference_target(const Target&) const override { return find_target("host"); }
  RunnerDevice runner_device(const Target&) const override { return {"program", "", false}; }
  Result<std::unique_ptr<Runner>> start_runner(const RunnerOptions& options) const override {
    RunnerOptions told = options;
    if (told.command.empty()) told.command.push_back(helper_program("polyweft-runner"));
    told.command.push_back("--emulated");
    told.device = "program";
    auto runner = WorkerRunner::start(told);
    if (!runner) return runner.error();
    return std::unique_ptr<Runner>(std::move(*runner));
  }

  Result<Assembly> marked_assembly(const LoopNest& nest, const Target& target,
                                   const std::string& symbol) const override {
    return Backend::marked_assembly(nest, target, symbol);
  }
  Result<ExpectedCode> expected_code(const LoopNest&, const Target&, int) const override { return ExpectedCode{}; }
  std::optional<PeakKernel> peak_kernel(const LoopNest&, const Target&, int, int64_t) const override {
    return std::nullopt;
  }
  double measured_peak_gflops(const Target&, int) const override { return 0; }
  double measured_memory_gb_s(const Target&, int) const override { return 0; }
  Result<Machine> probe(const Target& target) const override { return Backend::probe(target); }

 protected:
  std::vector<std::string> features_of(const std::string&) const override { return {"hvx-length128b", "hvxv67"}; }

 private:
  static Bytes as_text(const std::string& text) { return {text.begin(), text.end()}; }

  /// Of the arguments and of heap blocks, as if all were there at the same time.
  static Status fits_addresses(const LoopNest& nest) {
    if (nest.symbolic)
      return fail("PW0523", "kernels for hexagon have no sizes as arguments", {"bind the sizes with -p"});
    constexpr int64_t kMostBytes = int64_t{1} << 31;
    int64_t bytes = 0;
    for (const Buffer& buffer : nest.buffers) {
      if (buffer.within) continue;
      bytes += std::min(allocated_elements(buffer), kMostBytes) * size_bytes(buffer.type);
      if (bytes < kMostBytes) continue;
      return fail("PW0526",
                  "the buffers of " + nest.name + " take 2 GiB and more up to " + buffer.name +
                      ": addresses of hexagon have 32 bits",
                  {"bind smaller sizes with -p"});
    }
    return Ok{};
  }
  static Result<CompiledObject> kernel_object(const LoopNest& nest, const Target& target, const std::string& symbol) {
    if (Status fits = fits_addresses(nest); !fits) return fits.error();
    return compile_object(with_lanes_of_the_machine(nest), target, symbol, Caller::plain_c);
  }
  static Result<Bytes> executable_of(const CompiledObject& object) {
    if (!hexagon_runtime_object().empty()) return static_executable({object.object, hexagon_runtime_object()});
    return fail("PW0514", "this build has no start of programs for hexagon: there was no Clang for it",
                {"install Debian's clang-22 and build again; --emit object needs none"});
  }
};

}  // namespace

std::unique_ptr<Backend> hexagon_backend() {
  return std::make_unique<HexagonBackend>();
}

}  // namespace polyweft::targets
