#include "targets/gpu/amdgpu/amdgpu_backend.h"

#include "targets/gpu/amdgpu/amdgpu_code.h"
#include "targets/gpu/amdgpu/amdgpu_machines.h"
#include "targets/gpu/device_artifact.h"
#include "targets/gpu/device_header.h"
#include "targets/gpu/levels_text.h"

namespace polyweft::targets {
namespace {

class AmdgpuBackend final : public Backend {
 public:
  std::string architecture() const override { return "amdgcn"; }
  std::vector<std::string> target_names() const override {
    std::vector<std::string> out;
    for (const AmdgpuMachine& machine : amdgpu_machines()) out.push_back(machine.name);
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
  std::string derive(Target& target) const override {
    if (target.features.size() != 1 || !amdgpu_machine(target))
      return "code for this architecture needs one feature, of " + amdgpu_names();
    describe_amdgpu(target);
    target.is_host = false;
    return {};
  }

  Status runs_here(const Target& target) const override {
    return fail("PW0517",
                "kernels for target " + target.name +
                    " do not run on this machine: nothing here launches kernels on AMD's GPUs, code objects are for "
                    "programs of their own",
                {"--target emulated:" + target.features.front() + " runs the same kernels on this CPU"});
  }

  Result<Artifact> build(const LoopNest& nest, const Target& target, const BuildOptions& options) const override {
    auto device = fitting_nest(nest, target);
    if (!device) return device.error();
    auto object = amdgpu_code_object(*device, target, options.symbol);
    if (!object) return object.error();
    return device_artifact(*device, kAmdgpuKernels, std::move(object).value(), options.symbol);
  }

  Result<Bytes> emit(const LoopNest& nest, const Target& target, Emit what,
                     const BuildOptions& options) const override {
    if (what != Emit::llvm && what != Emit::header && what != Emit::assembly && what != Emit::object)
      return Backend::emit(nest, target, what, options);
    auto device = fitting_nest(nest, target);
    if (!device) return device.error();
    if (what == Emit::header)
      return device_header(*device, options.symbol, "a code object for " + target.features.front());
    if (what == Emit::object) return amdgpu_object(*device, target, options.symbol);
    auto text = what == Emit::assembly ? amdgpu_assembly(*device, target, options.symbol)
                                       : amdgpu_llvm_text(*device, target, options.symbol);
    if (!text) return text.error();
    return Bytes(text->begin(), text->end());
  }

  Result<std::string> levels(const LoopNest& nest, const Target& target) const override {
    auto device = fitting_nest(nest, target);
    return device ? Result<std::string>(levels_text(*device)) : device.error();
  }

 private:
  static Result<DeviceNest> fitting_nest(const LoopNest& nest, const Target& target) {
    auto device = device_nest(nest);
    if (!device) return device;
    if (Status fits = fits_amdgpu(*device, target); !fits) return fits.error();
    return device;
  }
};

}  // namespace

std::unique_ptr<Backend> amdgpu_backend() {
  return std::make_unique<AmdgpuBackend>();
}

}  // namespace polyweft::targets
