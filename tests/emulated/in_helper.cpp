// Kernels that a helper runs, as `polyweft run` calls them: an engine, or a program in an emulator.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "backend/bits.h"
#include "emulated/emulated.h"
#include "targets/gpu/launches.h"
#include "targets/kernels.h"
#include "targets/registry.h"

namespace polyweft::emulated_test {

std::string why_not_here(const Target& target, const std::vector<std::string>& names) {
  const Status runs = targets::backend_for(target).value()->runs_here(target);
  if (runs) return "";
  const char* const required = std::getenv("POLYWEFT_REQUIRED");
  for (const std::string& name : names)
    EXPECT_FALSE(required && std::string(required).find(name) != std::string::npos) << runs.error().message;
  std::printf("skipped: %s: %s\n", names.front().c_str(), runs.error().message.c_str());
  return runs.error().message;
}

std::string emulated_difference(const LoopNest& nest, const Target& target, uint64_t seed, Values) {
  const targets::Backend& backend = *targets::backend_for(target).value();
  const auto made = backend.build(nest, target, {"kernel_of_test", targets::Caller::plain_c, targets::Loader::process});
  if (!made) return "refused: " + made.error().code + " " + made.error().message;
  const auto kernel = backend.load(*made, nest, target);
  if (!kernel) return "not loaded: " + kernel.error().code + " " + kernel.error().message;
  std::vector<TensorData> inputs;
  for (const BufferId id : nest.arguments) {
    const Buffer& buffer = nest.buffers[targets::given_for(nest, id)];
    if (buffer.is_output) continue;
    inputs.push_back(make_tensor(buffer.type, buffer.extents));
    targets_test::fill_promised(inputs.back(), buffer, seed + inputs.size());
  }
  return backend_test::difference_from_interpreter(nest, **kernel, inputs);
}

}  // namespace polyweft::emulated_test
