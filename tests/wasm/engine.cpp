// WebAssembly in Wasmtime takes the place of an emulator: kernels are called as `polyweft run` calls them.
#include "wasm/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "emulated/emulated.h"
#include "ir/oracles/interpreter.h"
#include "targets/kernels.h"
#include "targets/registry.h"

namespace polyweft {

std::string wasm_test::why_no_engine() {
  const auto* const backend = targets::backend_of("wasm32");
  const Status runs = backend->runs_here(backend->named("wasm"));
  if (runs) return "";
  const char* const required = std::getenv("POLYWEFT_REQUIRED");
  EXPECT_FALSE(required && std::string(required).find("wasm") != std::string::npos) << runs.error().message;
  std::printf("skipped: wasm: %s\n", runs.error().message.c_str());
  return runs.error().message;
}

namespace emulated_test {

std::string missing_emulator() {
  return wasm_test::why_no_engine();
}

std::vector<EmulatedLevel> emulated_levels() {
  return {{"simd128", "wasm", EmulatedLevel::Programs::all, 60}};
}

std::string emulated_difference(const LoopNest& nest, const Target& target, uint64_t seed, Values) {
  const targets::Backend& backend = *targets::backend_for(target).value();
  const auto artifact =
      backend.build(nest, target, {"kernel_of_test", targets::Caller::plain_c, targets::Loader::process});
  if (!artifact) return "refused: " + artifact.error().code + " " + artifact.error().message;
  const auto kernel = backend.load(*artifact, nest, target);
  if (!kernel) return kernel.error().code + " " + kernel.error().message;
  std::vector<TensorData> inputs, outputs;
  for (size_t a = 0; a < nest.arguments.size(); ++a) {
    const BufferId id = nest.arguments[a];
    const auto pack = std::find_if(nest.packs.begin(), nest.packs.end(), [&](const Pack& p) { return p.packed == id; });
    const Buffer& buffer = nest.buffers[pack == nest.packs.end() ? id : pack->source];
    std::vector<TensorData>& to = buffer.is_output ? outputs : inputs;
    to.push_back(make_tensor(buffer.type, buffer.extents));
    targets_test::fill_promised(to.back(), buffer, seed + a);
  }
  const auto wanted = ir::interpret(nest, inputs);
  if (!wanted) return wanted.error().message;
  std::vector<TensorData*> arguments;
  for (TensorData& data : inputs) arguments.push_back(&data);
  for (TensorData& data : outputs) arguments.push_back(&data);
  const auto code = (*kernel)->call(arguments);
  if (!code) return code.error().code + " " + code.error().message;
  if (*code != 0) return "the kernel returned " + std::to_string(*code);
  for (size_t k = 0; k < wanted->tensors.size(); ++k) {
    TensorData seen = outputs[k];
    for (int64_t e = 0; e < seen.elements(); ++e)
      if (!wanted->written[k][static_cast<size_t>(e)]) seen.set(e, wanted->tensors[k].at(e));
    if (const std::string what = targets_test::difference(seen, wanted->tensors[k]); !what.empty())
      return "output " + std::to_string(k) + ": " + what;
  }
  return "";
}

}  // namespace emulated_test
}  // namespace polyweft
