#include "unit/machines.h"

#include "emulated/emulated.h"
#include "ir/nests/instruction.h"
#include "schedules/steps.h"
#include "targets/programs/program_kernel.h"
#include "targets/registry.h"

namespace polyweft::unit_test {

std::string why_no_unit() {
  return emulated_test::why_not_here(machine_of(kGemmini), {"unit", "qemu"});
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
