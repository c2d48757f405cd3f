#include "targets/gpu/nvptx/nvptx_backend.h"

#include "targets/gpu/cuda/cuda.h"
#include "targets/gpu/device_artifact.h"
#include "targets/gpu/device_header.h"
#include "targets/gpu/levels_text.h"
#include "targets/gpu/nvptx/nvptx_code.h"
#include "targets/gpu/nvptx/nvptx_machines.h"
#include "targets/registry.h"
#include "targets/workers/device_process.h"
#include "targets/workers/runner_client.h"

namespace polyweft::targets {
namespace {

constexpr const char* kDeviceKind = "cuda";
constexpr const char* kFirstGpu[] = {"cuda", "cuda:0"};

/// What the GPU says of itself, where it says it.
void set_figures(Machine& machine, const DeviceFigures& gpu) {
  constexpr auto kDescribed = FigureOrigin::described;
  for (MachineLevel& level : machine.levels)
    if (level.name == "block") level.count = {gpu.compute_units, kDescribed};
  machine.grid.block_threads = {gpu.most_threads, kDescribed};
  machine.grid.block_shared_bytes = {gpu.local_bytes, kDescribed};
  if (gpu.second_cache_bytes > 0) machine.memories[1].bytes = {gpu.second_cache_bytes, kDescribed};
  if (gpu.clock_mhz > 0) machine.clock_ghz = {static_cast<double>(gpu.clock_mhz) / 1e3, kDescribed};
  if (gpu.clock_mhz > 0 && gpu.memory_mb_s > 0 && gpu.compute_units > 0)
    machine.memories.back().bytes_per_cycle = {
        static_cast<double>(gpu.memory_mb_s) / static_cast<double>(gpu.clock_mhz * gpu.compute_units), kDescribed};
}

class NvptxBackend final : public Backend {
 public:
  std::string architecture() const override { return "nvptx64"; }
  std::vector<std::string> target_names() const override {
    std::vector<std::string> out;
    for (const NvptxMachine& machine : nvptx_machines()) out.push_back(machine.name);
    return out;
  }
  Target named(const std::string& name) const override {
    Target target;
    target.name = name;
    target.architecture = architecture();
    target.features = {name};
    derive(target);
    return target;
  }
  std::vector<std::string> attached_names() const override { return {std::begin(kFirstGpu), std::end(kFirstGpu)}; }
  Result<Target> attached(const std::string& name) const override {
    if (!cuda_figures()) return cuda_figures().error();
    const NvptxMachine* const machine = nvptx_machine_for(cuda_figures()->machine);
    if (!machine)
      return fail("PW0517", "target " + name + ": its GPU is of " + cuda_figures()->machine +
                                ", which takes no PTX for any of " + nvptx_names());
    Target out = named(machine->name);
    set_figures(out.machine, *cuda_figures());
    return out;
  }
  std::string derive(Target& target) const override {
    if (target.features.size() != 1 || !nvptx_machine(target))
      return "code for this architecture needs one feature, of " + nvptx_names();
    describe_nvptx(target);
    target.is_host = runs_here(target).ok();
    return {};
  }

  Status runs_here(const Target& target) const override {
    const std::string note = "--target emulated:" + target.features.front() + " runs the same kernels on this CPU";
    if (!cuda_figures()) {
      Error why = cuda_figures().error();
      why.notes.push_back(note);
      return why;
    }
    if (takes_ptx_for(cuda_figures()->machine, target.features.front())) return Ok{};
    return fail(
        "PW0517",
        "kernels for target " + target.name + " do not run on this machine: its GPU is of " + cuda_figures()->machine,
        {note});
  }

  Result<Artifact> build(const LoopNest& nest, const Target& target, const BuildOptions& options) const override {
    auto device = fitting_nest(nest, target);
    if (!device) return device.error();
    auto text = ptx_text(*device, target, options.symbol);
    if (!text) return text.error();
    if (options.loader == Loader::process)
      return device_artifact(*device, kPtxKernels, Bytes(text->begin(), text->end()), options.symbol);
    const std::string kernels = device_kernels(print(nest), options.symbol, *text);  // launched by the nest
    return device_artifact(*device, kDeviceKernels, {kernels.begin(), kernels.end()}, options.symbol);
  }

  Result<Bytes> emit(const LoopNest& nest, const Target& target, Emit what,
                     const BuildOptions& options) const override {
    if (what == Emit::assembly) what = Emit::artifact;
    if (what == Emit::artifact) {  // without the nest
      auto made = build(nest, target, {options.symbol, options.caller, Loader::process});
      if (!made) return made.error();
      return std::move(made->bytes);
    }
    if (what != Emit::llvm && what != Emit::header) return Backend::emit(nest, target, what, options);
    auto device = fitting_nest(nest, target);
    if (!device) return device.error();
    if (what == Emit::header) return device_header(*device, options.symbol, "PTX for " + target.features.front());
    auto text = nvptx_llvm_text(*device, target, options.symbol);
    if (!text) return text.error();
    return Bytes(text->begin(), text->end());
  }

  Result<std::unique_ptr<LoadedKernel>> load(const Artifact& artifact, const LoopNest& nest,
                                             const Target& target) const override {
    if (Status runs = runs_here(target); !runs) return runs.error();
    if (Status fits = is_of_kind(artifact, kPtxKernels); !fits) return fits.error();
    return kernel_on_device(nest, artifact.bytes, symbol_of_kernels(artifact));
  }

  Result<Target> reference_target(const Target&) const override { return find_target("host"); }
  std::string device_here(const Target& target) const override {
    return runs_here(target) ? cuda_figures()->text() : "";
  }
  RunnerDevice runner_device(const Target& target) const override {
    return {kDeviceKind, target.features.front(), true};
  }
  Result<std::unique_ptr<Runner>> start_runner(const RunnerOptions& options) const override {
    RunnerOptions with_device = options;
    with_device.device = kDeviceKind;
    auto runner = WorkerRunner::start(with_device);
    if (!runner) return runner.error();
    return std::unique_ptr<Runner>(std::move(*runner));
  }

  Result<std::string> levels(const LoopNest& nest, const Target& target) const override {
    auto device = fitting_nest(nest, target);
    return device ? Result<std::string>(levels_text(*device)) : device.error();
  }

 private:
  static Result<DeviceNest> fitting_nest(const LoopNest& nest, const Target& target) {
    auto device = device_nest(nest, kDeclaredSharedBytes);
    if (!device) return device;
    if (Status fits = fits_nvptx(*device, target); !fits) return fits.error();
    return device;
  }
};

}  // namespace

std::unique_ptr<Backend> nvptx_backend() {
  return std::make_unique<NvptxBackend>();
}

}  // namespace polyweft::targets
