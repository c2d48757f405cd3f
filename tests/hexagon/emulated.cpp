#include "hexagon/emulated.h"

#include <cstdio>
#include <cstdlib>

#include "backend/bits.h"
#include "targets/gpu/launches.h"
#include "targets/kernels.h"
#include "targets/registry.h"

namespace polyweft::hexagon_test {

std::string why_no_emulator() {
  const auto* const backend = targets::backend_of("hexagon");
  const Status runs = backend->runs_here(backend->named("hexagon"));
  if (runs) return "";
  const char* const required = std::getenv("POLYWEFT_REQUIRED");
  const std::string names = required ? required : "";
  EXPECT_TRUE(names.find("qemu") == std::string::npos && names.find("hexagon") == std::string::npos)
      << runs.error().message;
  std::printf("skipped: hexagon: %s\n", runs.error().message.c_str());
  return runs.error().message;
}

const targets::Backend* Hexagon::targets_backend() {
  return targets::backend_of("hexagon");
}

std::unique_ptr<targets::LoadedKernel> Hexagon::loaded(const LoopNest& nest) const {
  const auto made = backend_.build(nest, target_, {"kernel_of_test", targets::Caller::lab, targets::Loader::process});
  EXPECT_TRUE(made) << (made ? "" : made.error().message) << print(nest);
  if (!made) return nullptr;
  auto kernel = backend_.load(*made, nest, target_);
  EXPECT_TRUE(kernel) << (kernel ? "" : kernel.error().message) << print(nest);
  return kernel ? std::move(*kernel) : nullptr;
}

std::string Hexagon::difference(const LoopNest& nest, uint64_t seed) const {
  const auto made = backend_.build(nest, target_, {"kernel_of_test", targets::Caller::lab, targets::Loader::process});
  if (!made) return "refused: " + made.error().code + " " + made.error().message;
  auto kernel = backend_.load(*made, nest, target_);
  if (!kernel) return "not loaded: " + kernel.error().code + " " + kernel.error().message;
  std::vector<TensorData> inputs;
  for (BufferId id : nest.arguments) {
    const Buffer& buffer = nest.buffers[targets::given_for(nest, id)];
    if (buffer.is_output) continue;
    inputs.push_back(make_tensor(buffer.type, buffer.extents));
    targets_test::fill_promised(inputs.back(), buffer, seed + inputs.size());
  }
  return backend_test::difference_from_interpreter(nest, **kernel, inputs);
}

}  // namespace polyweft::hexagon_test
