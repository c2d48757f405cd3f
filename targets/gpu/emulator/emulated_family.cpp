#include "targets/gpu/emulator/emulated_family.h"

#include <algorithm>

#include "targets/gpu/amdgpu/amdgpu_code.h"
#include "targets/gpu/amdgpu/amdgpu_machines.h"
#include "targets/gpu/cuda/cuda.h"
#include "targets/gpu/nvptx/nvptx_code.h"
#include "targets/gpu/nvptx/nvptx_machines.h"

namespace polyweft::targets {
namespace {

class EmulatedNvptx final : public EmulatedFamily {
 public:
  std::string architecture() const override { return "emulated-nvptx64"; }
  std::vector<std::string> machines() const override {
    std::vector<std::string> out;
    for (const NvptxMachine& machine : nvptx_machines()) out.push_back(machine.name);
    return out;
  }
  void describe(Target& target) const override { describe_nvptx(target); }
  Result<DeviceNest> fitting_nest(const LoopNest& nest, const Target& target) const override {
    auto device = device_nest(nest, kDeclaredSharedBytes);
    if (!device) return device;
    if (Status fits = fits_nvptx(*device, target); !fits) return fits.error();
    return device;
  }
  const DeviceDialect& dialect(const Target& target) const override { return nvptx_dialect(*nvptx_machine(target)); }
  InstructionCapabilities capabilities(const Target& target) const override {
    return nvptx_capabilities(*nvptx_machine(target));
  }
  int lanes(const Target&) const override { return 32; }
};

class EmulatedAmdgcn final : public EmulatedFamily {
 public:
  std::string architecture() const override { return "emulated-amdgcn"; }
  std::vector<std::string> machines() const override {
    std::vector<std::string> out;
    for (const AmdgpuMachine& machine : amdgpu_machines()) out.push_back(machine.name);
    return out;
  }
  void describe(Target& target) const override { describe_amdgpu(target); }
  Result<DeviceNest> fitting_nest(const LoopNest& nest, const Target& target) const override {
    auto device = device_nest(nest);
    if (!device) return device;
    if (Status fits = fits_amdgpu(*device, target); !fits) return fits.error();
    return device;
  }
  const DeviceDialect& dialect(const Target&) const override { return amdgpu_dialect(); }
  InstructionCapabilities capabilities(const Target&) const override { return amdgpu_capabilities(); }
  int lanes(const Target& target) const override { return amdgpu_machine(target)->lanes; }
};

}  // namespace

bool EmulatedFamily::has(const Target& target) const {
  const std::vector<std::string> all = machines();
  return std::any_of(all.begin(), all.end(), [&](const std::string& machine) { return target.has(machine); });
}

std::string EmulatedFamily::names() const {
  std::string out;
  for (const std::string& machine : machines()) out += (out.empty() ? "" : ", ") + machine;
  return out;
}

const EmulatedFamily& emulated_nvptx() {
  static const EmulatedNvptx family;
  return family;
}
const EmulatedFamily& emulated_amdgcn() {
  static const EmulatedAmdgcn family;
  return family;
}

const EmulatedFamily* family_of(const Target& target) {
  for (const EmulatedFamily* family : {&emulated_nvptx(), &emulated_amdgcn()})
    if (target.architecture == family->architecture() && family->has(target)) return family;
  return nullptr;
}

}  // namespace polyweft::targets
