#include "targets/gpu/spirv/spirv_backend.h"

#include <algorithm>

#include "targets/gpu/described_device.h"
#include "targets/gpu/device_artifact.h"
#include "targets/gpu/device_header.h"
#include "targets/gpu/kernels.h"
#include "targets/gpu/levels_text.h"
#include "targets/gpu/spirv/spirv_code.h"
#include "targets/workers/device_process.h"
#include "targets/workers/runner_client.h"

namespace polyweft::targets {
namespace {

/// What a device of this process says of itself.
void set_limits(Machine& machine, const DeviceFigures& device) {
  for (MachineLevel& level : machine.levels)
    if (level.name == "block") level.count = {device.compute_units, FigureOrigin::described};
  machine.grid.block_threads = {device.most_threads, FigureOrigin::described};
  machine.grid.block_shared_bytes = {device.local_bytes, FigureOrigin::described};
  machine.grid.unit_shared_bytes = {std::max(device.local_bytes, machine.grid.unit_shared_bytes.value),
                                    FigureOrigin::assumed};
}

class SpirvBackend final : public Backend {
 public:
  std::string architecture() const override { return "spirv64"; }
  std::vector<std::string> target_names() const override { return {"opencl"}; }
  Target named(const std::string& name) const override {
    Target target = Backend::named(name);
    derive(target);
    if (device_figures()) set_limits(target.machine, *device_figures());
    return target;
  }
  std::string derive(Target& target) const override {
    if (!target.features.empty())
      return "'" + target.features.front() + "' is not a feature of OpenCL devices that this version knows";
    describe_blocks(target);
    // What serves CPUs, too: threads of a unit take turns, and have a core's vector registers.
    constexpr int64_t kRegisters = 32;
    target.machine.grid.thread_registers = {kRegisters};
    target.machine.grid.unit_threads = {target.machine.grid.lockstep_threads.value};
    target.is_host = device_figures().ok();
    return {};
  }

  Status runs_here(const Target&) const override {
    if (!device_figures()) return device_figures().error();
    return Ok{};
  }

  Result<Artifact> build(const LoopNest& nest, const Target& target, const BuildOptions& options) const override {
    auto device = device_nest(nest);
    if (!device) return device.error();
    if (Status fits = keeps_limits(*device, target); !fits) return fits.error();
    const auto text = spirv_llvm_text(*device, options.symbol);
    if (!text) return text.error();
    auto spirv = spirv_by_helper(*text);
    if (!spirv) return spirv.error();
    if (options.loader == Loader::process)
      return device_artifact(*device, kSpirvKernels, std::move(spirv).value(), options.symbol);
    const std::string kernels = device_kernels(  // the runner launches them by the nest
        print(nest), options.symbol, {reinterpret_cast<const char*>(spirv->data()), spirv->size()});
    return device_artifact(*device, kDeviceKernels, {kernels.begin(), kernels.end()}, options.symbol);
  }

  Result<Bytes> emit(const LoopNest& nest, const Target& target, Emit what,
                     const BuildOptions& options) const override {
    if (what == Emit::artifact) {  // without the nest
      auto made = build(nest, target, {options.symbol, options.caller, Loader::process});
      if (!made) return made.error();
      return std::move(made->bytes);
    }
    if (what != Emit::llvm && what != Emit::header) return Backend::emit(nest, target, what, options);
    auto device = device_nest(nest);
    if (!device) return device.error();
    if (what == Emit::header) return device_header(*device, options.symbol, "SPIR-V 1.4 for OpenCL");
    auto text = spirv_llvm_text(*device, options.symbol);
    if (!text) return text.error();
    return Bytes(text->begin(), text->end());
  }

  Result<std::string> levels(const LoopNest& nest, const Target&) const override {
    auto device = device_nest(nest);
    return device ? Result<std::string>(levels_text(*device)) : device.error();
  }

  Result<std::unique_ptr<LoadedKernel>> load(const Artifact& artifact, const LoopNest& nest,
                                             const Target& target) const override {
    if (Status runs = runs_here(target); !runs) return runs.error();
    if (Status fits = is_of_kind(artifact, kSpirvKernels); !fits) return fits.error();
    return kernel_on_device(nest, artifact.bytes, symbol_of_kernels(artifact));
  }

  Result<Target> reference_target(const Target&) const override { return find_target("host"); }
  std::string device_here(const Target&) const override { return device_figures() ? device_figures()->text() : ""; }
  RunnerDevice runner_device(const Target&) const override { return {"opencl", "", true}; }
  Result<std::unique_ptr<Runner>> start_runner(const RunnerOptions& options) const override {
    RunnerOptions with_device = options;
    with_device.device = "opencl";
    auto runner = WorkerRunner::start(with_device);
    if (!runner) return runner.error();
    return std::unique_ptr<Runner>(std::move(*runner));
  }
};

}  // namespace

std::unique_ptr<Backend> spirv_backend() {
  return std::make_unique<SpirvBackend>();
}

}  // namespace polyweft::targets
