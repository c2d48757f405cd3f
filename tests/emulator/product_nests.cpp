#include "emulator/product_nests.h"

#include <gtest/gtest.h>

#include "backend/bits.h"
#include "emulator/harness.h"
#include "schedules/steps.h"
#include "targets/gpu/emulator/emulator_code.h"
#include "targets/gpu/emulator/runtime/grid.h"

namespace polyweft::emulator_test {
namespace {

using backend_test::program_of_text;

std::string product_text(const ProductCase& c, const ProductSizes& sizes) {
  const auto type = [&](size_t operand) { return std::string(name_of(c.instruction->operands[operand].type)); };
  return "program product(M = " + std::to_string(sizes.m) + ", N = " + std::to_string(sizes.n) +
         ", K = " + std::to_string(sizes.k) + ")\nin A: " + type(1) + "[M, K]\nin B: " + type(2) +
         (sizes.is_transposed ? "[N, K]" : "[K, N]") + "\nout C[i: M, j: N] = sum[k: K] " + type(0) + "(A[i, k]) * " +
         type(0) + "(" + (sizes.is_transposed ? "B[j, k]" : "B[k, j]") + ")\n";
}

std::string text_of(const ProductOperands& operands, const ProductCase& c) {
  if (!operands.are_staged) return "";
  std::string out;
  for (const auto& [name, operand] : {std::pair{"A", 1}, {"B", 2}}) {
    const int64_t vectors = operands.bytes / size_bytes(c.instruction->operands[static_cast<size_t>(operand)].type);
    out += std::string("  promote ") + name + " in C at k.1 shared" +
           (vectors > 1 ? " vectors " + std::to_string(vectors) : "") + "\n";
  }
  return out + (operands.slots > 1 ? "  pipeline C k.1 by " + std::to_string(operands.slots) + "\n" : "");
}

Trace product_tiles(const ProductCase& c, const ProductOperands& operands) {
  const auto text = [](int64_t number) { return std::to_string(number); };
  const std::string staged = text_of(operands, c);
  return parse_trace("trace 1\n  tile C [i: " + text(4 * c.m) + ", j: " + text(4 * c.n) + ", k: " + text(2 * c.k) +
                     ", i: " + text(2 * c.m) + ", j: " + text(2 * c.n) + ", i: " + text(c.m) + ", j: " + text(c.n) +
                     ", k: " + text(c.k) +
                     "]\n  permute C [i.1, j.1, i.2, j.2, k.1, k.2, i.3, j.3, i, j, k]\n  bind C i.1 to block_y\n"
                     "  bind C j.1 to block_x\n  bind C i.2 to thread_z\n  bind C j.2 to thread_y\n"
                     "  accumulate C at j.2 tile\n" +
                     staged + "  tensorize C i, j, k by " + c.instruction->name + "\n  unroll C i.3, j.3\n")
      .value();
}

}  // namespace

std::vector<ProductCase> product_cases(const std::vector<std::string>& machines) {
  std::vector<ProductCase> out;
  for (const std::string& machine : machines) {
    const Target target = find_target(machine).value();
    for (const std::string& name : target.machine.units.instructions) {
      const ir::Instruction& i = **ir::instruction_named(name);
      out.push_back({&i, machine, i.axes[0].extent, i.axes[1].extent, i.axes[2].extent});
    }
  }
  return out;
}

Program product_program(const ProductCase& c, const ProductSizes& sizes) {
  return program_of_text(product_text(c, sizes));
}

std::optional<LoopNest> product_nest(const ProductCase& c, const ProductSizes& sizes, const ProductOperands& operands) {
  const auto made = schedules::replay(product_program(c, sizes), NumericsClass::reassoc, product_tiles(c, operands));
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  if (!made) return std::nullopt;
  auto nest = instantiate(*made, {});
  EXPECT_TRUE(nest) << (nest ? "" : nest.error().message);
  return nest ? std::optional(*nest) : std::nullopt;
}

std::optional<TensorData> product_by(const std::string& llvm_text, const LoopNest& nest, const ProductCase& c) {
  const auto module = targets::emulated_module(llvm_text, {"kernel_k0"}, emulated(c.machine, ""));
  EXPECT_TRUE(module) << (module ? "" : module.error().message) << llvm_text;
  if (!module) return std::nullopt;
  const auto code = targets::load_code(module->object);
  EXPECT_TRUE(code) << (code ? "" : code.error().message);
  if (!code) return std::nullopt;
  const auto run = reinterpret_cast<int (*)(const emulator::Launch*)>((*code)->address("polyweft_emulator_run"));
  std::vector<TensorData> inputs = integer_inputs_of(nest);
  TensorData out = make_tensor(nest.buffers[nest.arguments.back()].type, nest.buffers[nest.arguments.back()].extents);
  const uint64_t arguments[] = {reinterpret_cast<uint64_t>(inputs[0].bytes.data()),
                                reinterpret_cast<uint64_t>(inputs[1].bytes.data()),
                                reinterpret_cast<uint64_t>(out.bytes.data())};
  const auto& made = module->kernels.front();
  emulator::Launch launch{};
  launch.kernel = reinterpret_cast<decltype(launch.kernel)>((*code)->address(made.launched));
  launch.arguments = arguments;
  for (int d = 0; d < 3; ++d) launch.blocks[d] = launch.threads[d] = 1;
  launch.threads[0] = c.instruction->lanes();
  launch.lanes = static_cast<int32_t>(c.instruction->lanes());
  launch.shared_bytes = made.shared_bytes, launch.stack_bytes = made.stack_bytes, launch.waits = made.waits;
  return run(&launch) == 0 ? std::optional(out) : std::nullopt;
}

}  // namespace polyweft::emulator_test
