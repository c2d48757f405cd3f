#include "targets/gpu/spirv/spirv_backend.h"

#include <algorithm>

#include "support/hash.h"
#include "targets/cpu/runner_client.h"
#include "targets/gpu/device_process.h"
#include "targets/gpu/kernels.h"
#include "targets/gpu/spirv/spirv_code.h"

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
    target.machine.units.vector_bits = 128;
    target.machine.units.vector_registers = 16;
    target.machine.levels = {{"device"}, {"block"}, {"thread"}};
    target.can.fused_products = true;
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
    if (Status fits = keeps_limits(*device, target.machine); !fits) return fits.error();
    const auto text = spirv_llvm_text(*device, options.symbol);
    if (!text) return text.error();
    auto spirv = spirv_by_helper(*text);
    if (!spirv) return spirv.error();
    Artifact out;
    out.kind = kSpirvKernels;
    out.bytes = std::move(spirv).value();
    if (options.loader == Loader::runner) {  // which launches them by the nest
      const std::string kernels = device_kernels(print(nest), options.symbol,
                                                 {reinterpret_cast<const char*>(out.bytes.data()), out.bytes.size()});
      out.kind = kDeviceKernels;
      out.bytes.assign(kernels.begin(), kernels.end());
    }
    out.id = hex(blake2b_128(std::string_view(reinterpret_cast<const char*>(out.bytes.data()), out.bytes.size())));
    for (size_t k = 0; k < device->kernels.size(); ++k) out.kernels.push_back(kernel_symbol(options.symbol, k));
    for (const std::string& kernel : out.kernels) out.plan.launches.push_back({kernel});
    for (BufferId id = 0; id < device->buffers.size(); ++id)
      if (const DeviceBuffer& at = device->buffers[id]; at.place == DevicePlace::workspace)
        out.plan.workspaces.push_back({device->nest.buffers[id].name, at.bytes * at.instances});
    return out;
  }

  Result<Bytes> emit(const LoopNest& nest, const Target& target, Emit what,
                     const BuildOptions& options) const override {
    if (what == Emit::artifact) {  // without the nest
      auto made = build(nest, target, {options.symbol, options.caller, Loader::process});
      if (!made) return made.error();
      return std::move(made->bytes);
    }
    if (what != Emit::llvm) return Backend::emit(nest, target, what, options);
    auto device = device_nest(nest);
    if (!device) return device.error();
    auto text = spirv_llvm_text(*device, options.symbol);
    if (!text) return text.error();
    return Bytes(text->begin(), text->end());
  }

  Result<std::unique_ptr<LoadedKernel>> load(const Artifact& artifact, const LoopNest& nest,
                                             const Target& target) const override {
    if (Status runs = runs_here(target); !runs) return runs.error();
    if (Status fits = is_of_kind(artifact, kSpirvKernels); !fits) return fits.error();
    const std::string first = artifact.kernels.empty() ? "" : artifact.kernels.front();
    return kernel_on_device(nest, artifact.bytes, first.substr(0, first.rfind("_k")));
  }

  Result<Target> reference_target(const Target&) const override { return find_target("host"); }
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
