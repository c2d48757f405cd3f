#include "targets/gpu/device_artifact.h"

#include "support/hash.h"

namespace polyweft::targets {
namespace {

Status within_limit(const std::string& what, int64_t wanted, int64_t most, const std::string& target) {
  if (most == 0 || wanted <= most) return Ok{};
  return fail("PW0525",
              what + " " + std::to_string(wanted) + ", target " + target + " has at most " + std::to_string(most),
              {"smaller tiles or other axes make the launch fit"});
}

}  // namespace

Artifact device_artifact(const DeviceNest& nest, const std::string& kind, Bytes bytes, const std::string& symbol) {
  Artifact out;
  out.kind = kind;
  out.bytes = std::move(bytes);
  out.id = hex(blake2b_128(std::string_view(reinterpret_cast<const char*>(out.bytes.data()), out.bytes.size())));
  for (size_t k = 0; k < nest.kernels.size(); ++k) {
    const DeviceKernel& kernel = nest.kernels[k];
    out.kernels.push_back(kernel_symbol(symbol, k));
    out.plan.launches.push_back({out.kernels.back(), kernel.blocks, kernel.threads, kernel.shared_bytes});
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

Status fits_grid(const DeviceNest& nest, const GridLimits& limits, const std::string& target) {
  constexpr const char* kAxes[] = {"x", "y", "z"};
  for (size_t k = 0; k < nest.kernels.size(); ++k) {
    const DeviceKernel& kernel = nest.kernels[k];
    const std::string name = "kernel " + std::to_string(k) + ": ";
    for (size_t d = 0; d < 3; ++d)
      if (Status fits =
              within_limit(name + "blocks along " + kAxes[d] + ":", kernel.blocks[d], limits.blocks[d], target);
          !fits)
        return fits;
    if (Status fits = within_limit(name + "threads of a block:", kernel.thread_count(), limits.threads, target); !fits)
      return fits;
    if (Status fits =
            within_limit(name + "bytes of a block's shared memory:", kernel.shared_bytes, limits.shared_bytes, target);
        !fits)
      return fits;
  }
  return Ok{};
}

}  // namespace polyweft::targets
