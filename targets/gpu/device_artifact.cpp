#include "targets/gpu/device_artifact.h"

#include "support/hash.h"

namespace polyweft::targets {
Artifact device_artifact(const DeviceNest& nest, const std::string& kind, Bytes bytes, const std::string& symbol) {
  Artifact out;
  out.kind = kind;
  out.bytes = std::move(bytes);
  out.id = hex(blake2b_128(std::string_view(reinterpret_cast<const char*>(out.bytes.data()), out.bytes.size())));
  for (size_t k = 0; k < nest.kernels.size(); ++k) {
    const DeviceKernel& kernel = nest.kernels[k];
    out.kernels.push_back(kernel_symbol(symbol, k));
    out.plan.launches.push_back(
        {out.kernels.back(), kernel.blocks, kernel.threads, kernel.shared_bytes, kernel.dynamic_shared_bytes});
  }
  for (BufferId id = 0; id < nest.buffers.size(); ++id)
    if (const DeviceBuffer& at = nest.buffers[id]; at.place == DevicePlace::workspace)
      out.plan.workspaces.push_back({nest.nest.buffers[id].name, at.bytes * at.instances});
  return out;
}

std::string symbol_of_kernels(const Artifact& artifact) {
  const std::string first = artifact.kernels.empty() ? "" : artifact.kernels.front();
  return first.substr(0, first.rfind("_k"));
}

}  // namespace polyweft::targets
