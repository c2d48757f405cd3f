#include "emulator/harness.h"

#include "backend/bits.h"
#include "targets/cpu/loaded_kernel.h"
#include "targets/gpu/emulator/emulator_code.h"
#include "targets/registry.h"

namespace polyweft::emulator_test {
namespace {

using backend_test::difference_from_interpreter;

std::unique_ptr<targets::LoadedKernel> kernel_with(const LoopNest& nest, const Target& target,
                                                   targets::EmulatorFault fault) {
  const auto device = targets::device_nest(nest);
  EXPECT_TRUE(device);
  auto object = targets::emulated_object(*device, target, {"kernel"}, fault);
  EXPECT_TRUE(object) << (object ? "" : object.error().message);
  auto code = targets::load_code(*object);
  EXPECT_TRUE(code) << (code ? "" : code.error().message);
  auto kernel = targets::loaded_kernel(nest, "kernel", std::move(code).value());
  EXPECT_TRUE(kernel) << (kernel ? "" : kernel.error().message);
  return std::move(kernel).value();
}

}  // namespace

Target emulated(const std::string& machine, const std::string& order) {
  std::string features = "\"" + machine + "\"";
  if (!order.empty()) features = order < machine ? "\"" + order + "\", " + features : features + ", \"" + order + "\"";
  return parse_target("architecture = \"emulated-" + architecture_of(machine) + "\"\nfeatures = [" + features + "]\n",
                      "emulated.toml")
      .value();
}

std::string architecture_of(const std::string& machine) {
  return machine.rfind("gfx", 0) == 0 ? "amdgcn" : "nvptx64";
}

void Emulator::SetUp() {
  backend_ = targets::backend_of("emulated-nvptx64");
  ASSERT_NE(backend_, nullptr);
  const Status runs = backend_->runs_here(find_target("emulated:sm_90a").value());
  if (!runs) GTEST_SKIP() << runs.error().message;
}

std::unique_ptr<targets::LoadedKernel> Emulator::loaded(const LoopNest& nest, const Target& target) const {
  const targets::Backend& backend = *targets::backend_of(target.architecture);
  const auto made = backend.build(nest, target, {"kernel", targets::Caller::anyone, targets::Loader::process});
  EXPECT_TRUE(made) << (made ? "" : made.error().message) << print(nest);
  if (!made) return nullptr;
  auto kernel = backend.load(*made, nest, target);
  EXPECT_TRUE(kernel) << (kernel ? "" : kernel.error().message) << print(nest);
  return kernel ? std::move(*kernel) : nullptr;
}

std::string Emulator::text(const LoopNest& nest, const Target& target) const {
  auto made = targets::backend_of(target.architecture)->emit(nest, target, Emit::llvm, {"kernel"});
  return made ? std::string(made->begin(), made->end()) : made.error().message;
}

void Emulator::expect_bits(const LoopNest& nest, const std::string& machine,
                           const std::vector<std::vector<TensorData>>& inputs) {
  for (const char* order : kOrders) {
    SCOPED_TRACE(machine + " " + order);
    const Target target = emulated(machine, order);
    const auto kernel = loaded(nest, target);
    ASSERT_NE(kernel, nullptr);
    for (const auto& of : inputs) {
      kernel->forget_packed();
      ASSERT_EQ(difference_from_interpreter(nest, *kernel, of), "") << print(nest) << text(nest, target);
    }
  }
}

std::vector<TensorData> integer_inputs_of(const LoopNest& nest) {
  std::vector<TensorData> out;
  for (BufferId id : nest.arguments) {
    const Buffer& buffer = nest.buffers[id];
    if (buffer.is_output) continue;
    TensorData values = make_tensor(buffer.type, buffer.extents);
    for (int64_t i = 0; i < values.elements(); ++i) {
      int64_t value = i * 2654435761 % 509 - 254;
      if (buffer.values) value = buffer.values->lo + (value + 254) % (buffer.values->hi - buffer.values->lo);
      values.set(i, {buffer.type, static_cast<double>(value), value});
    }
    out.push_back(std::move(values));
  }
  return out;
}

void drop_each_call(const std::string& name, const LoopNest& nest, Mutants& mutants, const std::string& machine) {
  const auto calls = targets::waiting_calls(targets::device_nest(nest).value(), emulated(machine, ""));
  ASSERT_TRUE(calls) << calls.error().message;
  for (int call = 0; call < *calls; ++call) {
    bool is_found = false;
    for (const char* order : kOrders) {
      const auto kernel = kernel_with(nest, emulated(machine, order), {call});
      if (difference_from_interpreter(nest, *kernel, integer_inputs_of(nest)).empty()) continue;
      is_found = true;
      ++mutants.by_order[*order ? order : "forward"];
    }
    ++mutants.made;
    mutants.found += is_found;
    if (!is_found) mutants.equivalent.push_back(name + ": call " + std::to_string(call));
  }
}

}  // namespace polyweft::emulator_test
