#include "unit/machines.h"

#include <cstdio>
#include <cstdlib>

#include "backend/bits.h"
#include "ir/nests/instruction.h"
#include "schedules/steps.h"
#include "targets/gpu/launches.h"
#include "targets/kernels.h"
#include "targets/programs/program_kernel.h"
#include "targets/registry.h"

namespace polyweft::unit_test {

std::string why_no_unit() {
  const auto* const backend = targets::backend_of("riscv64-unit");
  const Status runs = backend->runs_here(machine_of(kGemmini));
  if (runs) return "";
  const char* const required = std::getenv("POLYWEFT_REQUIRED");
  EXPECT_EQ(std::string(required ? required : "").find("qemu"), std::string::npos) << runs.error().message;
  std::printf("skipped: unit: %s\n", runs.error().message.c_str());
  return runs.error().message;
}

Target machine_of(const char* description) {
  auto target = find_target(description);
  EXPECT_TRUE(target) << (target ? "" : target.error().message);
  return target ? *target : Target{};
}

LoopNest unit_nest(const Program& program, const std::string& trace) {
  const auto parsed = parse_trace(trace);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  if (!parsed) return {};
  const auto made = schedules::replay(program, NumericsClass::reassoc, *parsed);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  if (!made) return {};
  auto nest = instantiate(*made, values_of(made->trace));
  EXPECT_TRUE(nest) << (nest ? "" : nest.error().message);
  return nest ? *nest : LoopNest{};
}

std::string refusal(const LoopNest& nest, const Target& target) {
  const auto made = targets::backend_of(target.architecture)->build(nest, target, {"kernel_of_test"});
  return made ? std::string() : made.error().code + " " + made.error().message;
}

std::string difference(const LoopNest& nest, const Target& target, uint64_t seed) {
  const auto& backend = *targets::backend_of(target.architecture);
  const auto made = backend.build(nest, target, {"kernel_of_test", targets::Caller::lab, targets::Loader::process});
  if (!made) return "refused: " + made.error().code + " " + made.error().message;
  auto kernel = backend.load(*made, nest, target);
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

double model_cycles(const LoopNest& nest, const Target& target) {
  const auto made = targets::backend_of(target.architecture)
                        ->build(nest, target, {"kernel_of_test", targets::Caller::lab, targets::Loader::process});
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  if (!made) return 0;
  auto kernel = targets::kernel_of_program(
      nest, {reinterpret_cast<const char*>(made->bytes.data()), made->bytes.size()}, "kernel_of_test");
  EXPECT_TRUE(kernel) << (kernel ? "" : kernel.error().message);
  if (!kernel) return 0;
  const auto ns = (*kernel)->time(1);
  EXPECT_TRUE(ns) << (ns ? "" : ns.error().message);
  return ns ? *ns * target.machine.clock_ghz.value : 0;
}

std::string unit_trace(const Target& target, int64_t rows, int64_t columns, int64_t depth, int slots) {
  const ir::Instruction& i = **ir::instruction_named(target.machine.units.instructions.at(0));
  const auto text = [](int64_t number) { return std::to_string(number); };
  const std::string m = text(i.axes[0].extent), n = text(i.axes[1].extent), k = text(i.axes[2].extent);
  const std::string sums = target.machine.unit.accumulator_bytes.value > 0 ? "accumulator" : "scratchpad";
  std::string out = "trace 1\n  tile C [i: " + text(rows) + ", j: " + text(columns) + ", k: " + text(depth) +
                    ", i: " + m + ", j: " + n + ", k: " + k +
                    "]\n  permute C [i.1, j.1, k.1, k.2, i.2, j.2, i, j, k]\n  accumulate C at j.1 " + sums +
                    "\n  promote A in C at k.1 scratchpad layout [d1 / " + k + ", d0, d1 % " + k +
                    "]\n  promote B in C at k.1 scratchpad layout [d1 / " + n + ", d0, d1 % " + n +
                    "]\n  tensorize C i, j, k by " + i.name + "\n";
  if (slots > 1) out += "  pipeline C k.1 by " + text(slots) + "\n";
  return out;
}

}  // namespace polyweft::unit_test
